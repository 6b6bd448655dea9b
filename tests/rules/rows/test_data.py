"""D1 datasets, D2 arrays, D3 seeds: what is divided, where, and what is left alone."""

from __future__ import annotations

import re
import textwrap

import pytest

from ..dividing import KERAS, TAPE, check, divide, unchanged
from ..pairs import TF, plan_of

# ---------------------------------------------------------------------- left alone


SHARE = "share = slice(hvd.rank(), len({}) // hvd.size() * hvd.size(), hvd.size())\n"


def test_validation_evaluation_and_prediction_stay_whole() -> None:
    check(
        KERAS,
        """
        x, y = np.zeros((900, 1)), np.zeros(900)
        model.fit(x, y, validation_data=(x, y), class_weight={0: 1.0}, callbacks=[])
        model.evaluate(x, y)
        model.predict(x)
        """,
        """
        x, y = np.zeros((900, 1)), np.zeros(900)
        share = slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())
        model.fit(x[share], y[share], validation_data=(x, y), class_weight={0: 1.0}, callbacks=[])
        model.evaluate(x, y)
        model.predict(x)
        """,
    )


def test_nothing_is_divided_when_the_user_says_so() -> None:
    source = KERAS + "model.fit(np.zeros(900), np.zeros(900), steps_per_epoch=500)\n"
    assert divide(source, split_data=False).text == source


def test_what_else_has_a_fit_is_no_training() -> None:
    check(
        KERAS,
        """
        from sklearn.preprocessing import StandardScaler
        scaler = StandardScaler().fit(rows)
        model.fit(x, y, epochs=1)
        """,
        """
        from sklearn.preprocessing import StandardScaler
        scaler = StandardScaler().fit(rows)
        model.fit(shard(x), shard(y), epochs=1)
        """,
    )


def test_something_unseen_is_left_and_said() -> None:
    result = unchanged(KERAS, "import mine\nmodel.fit(mine.load(), epochs=3)\n")
    assert "every rank trains on all of it" in result.notes[0]


def test_rows_of_a_stateful_model_are_left_and_said() -> None:
    source = "layer = tf.keras.layers.LSTM(3, stateful=True, batch_input_shape=(4, 5, 6))\nmodel.fit(x, y, batch_size=4)\n"
    assert "stateful" in unchanged(KERAS, source).notes[0]


def test_a_loop_that_only_evaluates_is_left() -> None:
    unchanged(KERAS, "for x, y in tf.data.Dataset.range(9).batch(3):\n    model(x)\n")


# ---------------------------------------------------------------------- D2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.fit(x=a, y=b)", SHARE.format("a") + "model.fit(x=a[share], y=b[share])"),
        (
            "model.fit(a[:800], b[:800], sample_weight=w)",
            SHARE.format("w") + "model.fit(a[:800][share], b[:800][share], sample_weight=w[share])",
        ),
        ("model.fit([a, b], c, epochs=2)", "model.fit([shard(a), shard(b)], shard(c), epochs=2)"),
        ("model.fit({'a': a, 'b': b}, c)", "model.fit({'a': shard(a), 'b': shard(b)}, shard(c))"),
        (
            "model.fit([[0, 0], [0, 1]], [[0], [1]])",
            "model.fit(share_rows([[0, 0], [0, 1]]), share_rows([[0], [1]]))",
        ),
        ("model.fit(np.array(a), None, epochs=2)", "model.fit(shard(np.array(a)), None, epochs=2)"),
        ("model.fit(a / 255.0, a / 255.0)", "model.fit(shard(a / 255.0), shard(a / 255.0))"),
    ],
)
def test_arrays_are_divided(before: str, after: str) -> None:
    head = KERAS + "a, b, c, w = np.zeros(900), np.zeros(900), np.zeros(900), np.ones(900)\n"
    check(head, before + "\n", after + "\n")


def test_lists_and_dicts_of_arrays_by_name() -> None:
    check(
        KERAS,
        """
        parts = [np.zeros(900), np.ones(900)]
        named = {name: np.array(column) for name, column in table.items()}
        model.fit(parts, np.zeros(900))
        model.fit(named, np.zeros(900))
        """,
        """
        parts = [np.zeros(900), np.ones(900)]
        named = {name: np.array(column) for name, column in table.items()}
        model.fit([shard(part) for part in parts], shard(np.zeros(900)))
        model.fit({key: shard(part) for key, part in named.items()}, shard(np.zeros(900)))
        """,
    )


@pytest.mark.parametrize(
    "made", ["list(np.swapaxes(table, 0, 1))", "tuple(np.stack([x, x]))", "np.split(table, 2, axis=1)"]
)
def test_a_list_of_inputs_that_an_array_is_split_into_is_divided_by_input(made: str) -> None:
    head = KERAS + f"x, table = np.zeros(900), np.zeros((900, 2))\ndef load():\n    return {made}, x\n"
    head += "inputs, y = load()\n"
    check(head, "model.fit(inputs, y)\n", "model.fit([shard(part) for part in inputs], shard(y))\n")


FILLED = """\
table, y = np.zeros((900, 10, 3)), np.zeros(900)
def prepared(rows):
    parts = []
    for i in range(rows.shape[2]):
        parts.append({})
    return parts
x = prepared(table)
"""


@pytest.mark.parametrize("part", ["rows[:, :, i : i + 1]", "np.expand_dims(rows[:, 0, i], 1)"])
def test_a_list_that_a_loop_fills_with_arrays_is_several_inputs(part: str) -> None:
    """Sliced as rows, the list would lose inputs, and the targets all but as many rows as there are inputs."""
    head = KERAS + FILLED.format(part)
    check(head, "model.fit(x, y)\n", "model.fit([shard(part) for part in x], shard(y))\n")


@pytest.mark.parametrize(
    ("part", "made"),
    [
        ("[float(rows[0, 0, i])]", "x"),  # a row that is written out
        ("rows[0, 0, i]", "x"),  # a number
        ("rows[:, :, i : i + 1]", "np.array(prepared(table))"),
        ("rows[:, :, i : i + 1]", "np.concatenate(x)"),
    ],
)
def test_rows_that_a_loop_gathers_are_divided_by_rows(part: str, made: str) -> None:
    head = KERAS + FILLED.format(part) + f"z = {made}\n"
    check(head, "model.fit(z, y)\n", SHARE.format("z") + "model.fit(z[share], y[share])\n")


@pytest.mark.parametrize(
    "made",
    [
        "batches(9)",
        "batches(9) if y is not None else None",
        "None if y is None else batches(9)",
        "both(9)[0]",
    ],
)
def test_what_a_generator_gives_is_never_gone_through_for_its_arrays(made: str) -> None:
    """`[shard(part) for part in batches]` would go on for ever."""
    head = KERAS + (
        "y = np.zeros(900)\n"
        "def batches(n):\n    while True:\n        a, b = np.random.rand(n, 3), np.random.rand(n)\n        yield a, b\n"
        "def both(n):\n    given = batches(n) if n else None\n    return given, n\n"
    )
    text = plan_of(head + f"given = {made}\nmodel.fit(given, steps_per_epoch=9)\n").text
    assert "for part in" not in text


@pytest.mark.parametrize(
    ("made", "fed"),
    [
        ("x = np.swapaxes(table, 0, 1)", "x"),
        ("x, rest = np.split(table, 2)", "x"),
        ("x, rest = list(np.swapaxes(table, 0, 1))", "x"),
        ("x = list(np.zeros(900))", "x"),
        ("x = len(np.swapaxes(table, 0, 1)) * np.ones(900)", "x"),
    ],
)
def test_one_array_is_divided_by_rows(made: str, fed: str) -> None:
    head = KERAS + f"table, y = np.zeros((900, 2)), np.zeros(900)\n{made}\n"
    check(head, f"model.fit({fed}, y)\n", SHARE.format(fed) + f"model.fit({fed}[share], y[share])\n")


def test_what_a_caller_elsewhere_passes_is_asked_about() -> None:
    result = check(
        KERAS,
        "def train(x, y):\n    model.fit(x, y, epochs=1)\n",
        "def train(x, y):\n    model.fit(shard(x), shard(y), epochs=1)\n",
    )
    assert len(result.doubts) == 2


def test_flowing_arrays_are_divided_where_they_start_to_flow() -> None:
    check(
        KERAS,
        """
        from keras.preprocessing.image import ImageDataGenerator
        x, y = np.zeros(900), np.zeros(900)
        gen = ImageDataGenerator()
        flow = gen.flow(x, y, batch_size=3)
        model.fit(flow, steps_per_epoch=len(flow), epochs=2)
        model.fit_generator(gen.flow(x, y), steps_per_epoch=len(x) // 3)
        """,
        """
        from keras.preprocessing.image import ImageDataGenerator
        x, y = np.zeros(900), np.zeros(900)
        gen = ImageDataGenerator()
        share = slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())
        flow = gen.flow(x[share], y[share], batch_size=3)
        model.fit(flow, steps_per_epoch=len(flow), epochs=2)
        share = slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())
        model.fit_generator(gen.flow(x[share], y[share]), steps_per_epoch=max(1, len(x) // 3 // hvd.size()))
        """,
    )


def test_flowing_arrays_that_are_only_validated_on_are_divided_as_well() -> None:
    """Batches of a sequence would be dealt out by a class of twenty lines."""
    taken = "slice(hvd.rank(), len({}) // hvd.size() * hvd.size(), hvd.size())"
    before = """\
from keras.preprocessing.image import ImageDataGenerator
x, y, v, w = np.zeros(900), np.zeros(900), np.zeros(90), np.zeros(90)
gen = ImageDataGenerator()
train = gen.flow(x, y, batch_size=3)
held = gen.flow(v, w, batch_size=3)
model.fit(train, steps_per_epoch=300, validation_data=held, validation_steps=30)
"""
    after = (
        before.replace(
            "train = gen.flow(x, y", f"share = {taken.format('x')}\ntrain = gen.flow(x[share], y[share]"
        )
        .replace("held = gen.flow(v, w", f"share = {taken.format('v')}\nheld = gen.flow(v[share], w[share]")
        .replace("steps_per_epoch=300", "steps_per_epoch=300 // hvd.size()")
        .replace("validation_steps=30", "validation_steps=max(1, 30 // hvd.size())")
    )
    check(KERAS, before, after)


_FITTED = "model = tf.keras.Sequential([])\nmodel.compile('sgd', 'mse')\nmodel.fit(x)\n"


@pytest.mark.parametrize(
    "rows",
    [
        "rng.random((1024, 28)).astype('float32').round()",
        "rng.random((1024, 28)).astype('float32').clip(0, 1)",
        "tf.keras.random.normal((640, 8), seed=3)",
        "tf.keras.ops.ones((640, 8))",
    ],
)
def test_arrays_that_are_changed_once_more_are_rows_without_targets(rows: str) -> None:
    """Nothing was divided: every rank trained on all of them."""
    text = plan_of(f"{TF}rng = np.random.default_rng(0)\nx = {rows}\n{_FITTED}").text
    assert "model.fit(x[share]" in text or "model.fit(shard(x)" in text


@pytest.mark.parametrize("given", ["rng.random((10, 2)).mean()", "frame.items()", "made.round()"])
def test_what_may_be_no_array_is_not_taken_for_rows(given: str) -> None:
    text = plan_of(f"{TF}import pandas as pd\nframe = pd.read_csv('x')\nx = {given}\n{_FITTED}").text
    assert "model.fit(x," in text


@pytest.mark.parametrize("more", ["for a, b in held:\n    print(a)\n", "other = held\n"])
def test_flowing_arrays_that_something_else_takes_are_dealt_out_by_batches(more: str) -> None:
    plan = divide(
        KERAS
        + "from keras.preprocessing.image import ImageDataGenerator\nx, y = np.zeros(900), np.zeros(900)\n"
        + "held = ImageDataGenerator().flow(x, y, batch_size=3)\n"
        + more
        + "model.fit(x, y, validation_data=held, validation_steps=30)\n"
    )
    assert "flow(x, y" in plan.text
    assert "ShardedFlow(held)" in plan.text


def test_an_unseeded_split_is_the_same_on_all_ranks() -> None:
    head = KERAS + "from sklearn.model_selection import train_test_split\n"
    check(
        head,
        "a, b, c, d = train_test_split(x, y, test_size=0.2)\nmodel.fit(a, c)\n",
        "a, b, c, d = train_test_split(x, y, test_size=0.2, random_state=0 if hvd.size() > 1 else None)\n"
        + SHARE.format("a")
        + "model.fit(a[share], c[share])\n",
    )
    check(
        head,
        "a, b, c, d = train_test_split(x, y, random_state=5)\nmodel.fit(a, c)\n",
        "a, b, c, d = train_test_split(x, y, random_state=5)\n"
        + SHARE.format("a")
        + "model.fit(a[share], c[share])\n",
    )


# ---------------------------------------------------------------------- D1


# Of a name, where the line has room.
OF_NAME = "ds.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(ds) // hvd.size()))"


def dataset(before: str, after: str) -> None:
    check(KERAS + "x = np.load('rows.npy')\n", before, after)


def test_a_dataset_is_divided_at_its_source() -> None:
    dataset(
        "model.fit(tf.data.Dataset.from_tensor_slices(x).map(f).shuffle(9).batch(3).repeat().prefetch(1))\n",
        "model.fit(shard_dataset(tf.data.Dataset.from_tensor_slices(x)).map(f).shuffle(9).batch(3).repeat().prefetch(1))\n",
    )


def test_it_is_divided_after_what_keeps_uneven_numbers() -> None:
    dataset(
        "model.fit(tf.data.TFRecordDataset('f').map(parse).filter(good).shuffle(9, seed=3).batch(3))\n",
        "model.fit(shard_records(tf.data.TFRecordDataset('f').map(parse).filter(good)).shuffle(9, seed=3).batch(3))\n",
    )
    dataset(
        "model.fit(tf.data.Dataset.from_tensor_slices(x).take(6).batch(3))\n",
        "model.fit(shard_dataset(tf.data.Dataset.from_tensor_slices(x).take(6)).batch(3))\n",
    )


def test_a_name_that_is_split_off_is_divided_after_the_split() -> None:
    dataset(
        """
        ds = tf.data.Dataset.from_tensor_slices(x).shuffle(9)
        valid = ds.take(3).batch(3)
        train = ds.skip(3).batch(3)
        model.fit(train, validation_data=valid)
        """,
        """
        ds = tf.data.Dataset.from_tensor_slices(x).shuffle(9, seed=0 if hvd.size() > 1 else None)
        valid = ds.take(3).batch(3)
        train = shard_dataset(ds.skip(3)).batch(3)
        model.fit(train, validation_data=valid)
        """,
    )


def test_a_name_that_is_evaluated_is_divided_where_it_trains() -> None:
    dataset(
        "ds = tf.data.Dataset.from_tensor_slices(x).batch(3)\nmodel.fit(ds)\nmodel.evaluate(ds)\n",
        "ds = tf.data.Dataset.from_tensor_slices(x).batch(3)\nmodel.fit("
        + OF_NAME
        + ")\nmodel.evaluate(ds)\n",
    )


def test_a_dataset_that_grows_in_a_loop_is_divided_where_it_is_trained_on() -> None:
    """Else what one turn has divided would be divided again in the next."""
    grows = "ds = {}(x)\nfor i in range(3):\n    ds = ds.concatenate({}(y)).prefetch(2)\n    model.fit({})\n"
    slices = "tf.data.Dataset.from_tensor_slices"
    dataset(grows.format(slices, slices, "ds"), grows.format(slices, slices, OF_NAME))


def test_a_dataset_that_another_is_made_from_is_divided_once_on_both_ways() -> None:
    dataset(
        "ds = tf.data.Dataset.from_tensor_slices(x).map(f)\nmore = tf.data.Dataset.from_tensor_slices(y)\n"
        "both = ds.concatenate(more)\nmodel.fit(both.batch(3))\nmodel.fit(ds.batch(3))\nmodel.evaluate(more)\n",
        "ds = tf.data.Dataset.from_tensor_slices(x).map(f)\nmore = tf.data.Dataset.from_tensor_slices(y)\n"
        "both = ds.concatenate(more)\n"
        "both = both.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(both) // hvd.size()))\n"
        "model.fit(both.batch(3))\nmodel.fit(shard_dataset(ds.batch(3)))\n"
        "model.evaluate(more)\n",
    )


def test_a_dataset_that_two_fits_share_is_divided_where_it_is_made() -> None:
    """Near miss: the same place, not one after another."""
    both = "model.fit(ds.batch(3))\nmodel.fit(ds.shuffle(9).batch(3))\n"
    dataset(
        "ds = tf.data.Dataset.from_tensor_slices(x).map(f)\n" + both,
        "ds = shard_dataset(tf.data.Dataset.from_tensor_slices(x)).map(f)\n" + both,
    )


def test_a_part_of_a_generator_expression_is_no_generator() -> None:
    """It would be used up after one epoch."""
    made = "def make(d):\n    return tf.data.Dataset.from_tensor_slices(d).batch(3)\n"
    parts = divide(KERAS + made + "train, test = (make(d) for d in data)\nmodel.fit(train, epochs=2)\n")
    assert "shard_batches" not in parts.text
    arrays = "train, test = [np.array(d) for d in data]\nmodel.fit({}, {})\n"
    check(KERAS, arrays.format("train", "y"), arrays.format("shard(train)", "shard(y)"))


def test_looking_at_a_dataset_does_not_matter() -> None:
    looks = """
    print(ds, len(ds), ds.element_spec)
    one = next(iter(ds))
    one = ds.as_numpy_iterator().next()[0]
    rows = ds.as_numpy_iterator()
    one = rows.next()
    for image in ds.take(1):
        print(image)
    for image in ds:
        print(image)
        break
    model.fit(ds)
    """
    dataset(
        "\n    ds = tf.data.Dataset.from_tensor_slices(x).batch(3)" + looks,
        "\n    ds = shard_dataset(tf.data.Dataset.from_tensor_slices(x)).batch(3)" + looks,
    )


def test_what_a_layer_adapts_to_is_the_whole() -> None:
    """A vocabulary or a mean of a rank's own part would be another one on each rank."""
    head = "\n    ds = tf.data.Dataset.from_tensor_slices(x){}"
    adapts = head.format(".batch(3)\n    words.adapt(ds.map(f))\n")
    dataset(
        adapts + "    model.fit(ds.map(words))\n",
        adapts + f"    model.fit({OF_NAME}.map(words))\n",
    )
    adapts = head.format("\n    words.adapt(ds.batch(9))\n")
    dataset(
        adapts + "    model.fit(ds.shuffle(9).batch(3))\n",
        adapts + f"    model.fit({OF_NAME}.shuffle(9).batch(3))\n",
    )


def test_what_a_layer_adapts_to_beside_is_divided_as_if_it_did_not() -> None:
    """Near miss: another pipeline than the one that is trained on."""
    adapts = "\n    words.adapt(tf.data.Dataset.from_tensor_slices(x).batch(9))\n    model.fit(ds)\n"
    dataset(
        "\n    ds = tf.data.Dataset.from_tensor_slices(x).batch(3)" + adapts,
        "\n    ds = shard_dataset(tf.data.Dataset.from_tensor_slices(x)).batch(3)" + adapts,
    )


def test_names_functions_parameters_and_attributes_are_followed() -> None:
    dataset(
        """
        def make():
            train = tf.data.Dataset.from_tensor_slices(x)
            test = tf.data.Dataset.from_tensor_slices(x)
            return train.batch(3), test.batch(3)
        class Trainer:
            def __init__(self):
                self.train, self.test = make()
            def run(self, ds):
                model.fit(ds, validation_data=self.test)
            def main(self):
                self.run(self.train)
        """,
        """
        def make():
            train = tf.data.Dataset.from_tensor_slices(x)
            train = train.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(train) // hvd.size()))
            test = tf.data.Dataset.from_tensor_slices(x)
            return train.batch(3), test.batch(3)
        class Trainer:
            def __init__(self):
                self.train, self.test = make()
            def run(self, ds):
                model.fit(ds, validation_data=self.test)
            def main(self):
                self.run(self.train)
        """,
    )


def test_a_function_that_makes_two_datasets_divides_for_the_one_that_trains() -> None:
    dataset(
        """
        def make(rows):
            return tf.data.Dataset.from_tensor_slices(rows).batch(3)
        train, test = make(x), make(x)
        model.fit(train, validation_data=test)
        """,
        """
        def make(rows, share=lambda dataset: dataset):
            return share(tf.data.Dataset.from_tensor_slices(rows)).batch(3)
        train, test = make(x, share=shard_dataset), make(x)
        model.fit(train, validation_data=test)
        """,
    )


def test_several_datasets_are_divided_after_they_are_joined() -> None:
    dataset(
        "a, b = tf.data.Dataset.range(9), tf.data.Dataset.range(9)\nmodel.fit(tf.data.Dataset.zip((a, b)).batch(3))\n",
        "a, b = tf.data.Dataset.range(9), tf.data.Dataset.range(9)\n"
        "model.fit(shard_dataset(tf.data.Dataset.zip((a, b))).batch(3))\n",
    )


def test_an_iterator_that_goes_elsewhere_too_iterates_a_share() -> None:
    check(
        TAPE,
        """
        def make():
            return tf.data.Dataset.from_tensor_slices(x).repeat().batch(3)
        other = iter(make())
        it = iter(make())
        checkpoint = tf.train.Checkpoint(iterator=it)
        for _ in range(1000):
            step(next(it), 0)
        """,
        """
        def make(share=lambda dataset: dataset):
            return share(tf.data.Dataset.from_tensor_slices(x)).repeat().batch(3)
        other = iter(make())
        it = iter(make(share=shard_dataset))
        checkpoint = tf.train.Checkpoint(iterator=it)
        for _ in range(1000 // hvd.size()):
            step(next(it), 0)
        """,
    )


# ---------------------------------------------------------------------- functions that several calls make datasets by


MAKE = """
def make(files, training{}):
    ds = {}
    ds = ds.map(decode)
    if training:
        ds = ds.shuffle(9)
    return ds.batch(3)
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # A decorator may call it otherwise, a call may give it what isn't seen; what is returned may go elsewhere first.
        (
            "@cached\ndef make(f):\n    return tf.data.TextLineDataset(f).map(g)\n"
            "model.fit(make('a'), validation_data=make('b'))\n",
            "@cached\ndef make(f):\n    return tf.data.TextLineDataset(f).map(g)\n"
            "model.fit(shard_records(make('a')), validation_data=make('b'))\n",
        ),
        (
            "def make(f):\n    return tf.data.TextLineDataset(f).map(g)\nmodel.fit(make(**o), validation_data=make('b'))\n",
            "def make(f):\n    return tf.data.TextLineDataset(f).map(g)\n"
            "model.fit(shard_records(make(**o)), validation_data=make('b'))\n",
        ),
        (
            "def make(f, /):\n    return tf.data.TextLineDataset(f).map(g)\nmodel.fit(make('a'), validation_data=make('b'))\n",
            "def make(f, /):\n    return tf.data.TextLineDataset(f).map(g)\n"
            "model.fit(shard_records(make('a')), validation_data=make('b'))\n",
        ),
        (
            "def make(f):\n    ds = tf.data.TextLineDataset(f)\n    words.adapt(ds)\n    return ds.map(g)\n"
            "model.fit(make('a'), validation_data=make('b'))\n",
            "def make(f, share=lambda dataset: dataset):\n    ds = tf.data.TextLineDataset(f)\n    words.adapt(ds)\n"
            "    return share(ds).map(g)\nmodel.fit(make('a', share=shard_records), validation_data=make('b'))\n",
        ),
    ],
)
def test_what_a_function_makes_is_divided_no_earlier_than_is_right(before: str, after: str) -> None:
    check(KERAS, before, after)


def test_a_function_divides_before_it_decodes() -> None:
    source, share = "tf.data.TFRecordDataset(files)", ", share=lambda dataset: dataset"
    fit = "model.fit(make(a, True{}), validation_data=make(b, False))\n"
    result = check(
        KERAS,
        MAKE.format("", source) + fit.format(""),
        MAKE.format(share, f"share({source})") + fit.format(", share=shard_records"),
    )
    assert not result.notes


def test_what_two_calls_train_on_is_divided_once_in_the_function() -> None:
    make, source = MAKE, "tf.data.TFRecordDataset(files)"
    fits = "model.fit(make(a, True{0}))\nmodel.fit(make(b, True{0}))\nmodel.evaluate(make(c, False))\n"
    check(
        KERAS,
        make.format("", source) + fits.format(""),
        make.format(", share=lambda dataset: dataset", f"share({source})")
        + fits.format(", share=shard_records"),
    )


def test_what_is_passed_to_a_function_is_divided_before_it() -> None:
    prepare = """
def prepare(ds, shuffle=False):
    ds = ds.map(decode)
    return ds.shuffle(9) if shuffle else ds
a, b = {}, tf.data.TextLineDataset('b')
model.fit(prepare(a, shuffle=True), validation_data=prepare(b))
"""
    source = "tf.data.TextLineDataset('a')"
    check(KERAS, prepare.format(source), prepare.format(f"shard_records({source})"))


def test_a_parameter_comes_in_wherever_a_function_has_others() -> None:
    for before, after in [
        ("", "SHARE"),
        ("*, n=3", "*, n=3, SHARE"),
        ("n: int = 3", "n: int = 3, SHARE"),
        ("*a", "*a, SHARE"),
        ("n=3, **k", "n=3, SHARE, **k"),
    ]:
        make = "def make({}):\n    return {}.map(g)\nmodel.fit(make({}), validation_data=make())\n"
        source = "tf.data.TextLineDataset('a')"
        check(
            KERAS,
            make.format(before, source, ""),
            make.format(
                after.replace("SHARE", "share=lambda dataset: dataset"),
                f"share({source})",
                "share=shard_records",
            ),
        )


# ---------------------------------------------------------------------- what dividing costs


@pytest.mark.parametrize(
    "ends",
    [
        "ds.repeat(2).batch(3)",
        "(ds.repeat() if big else ds).batch(3)",
        "ds.batch(3).take(9)",
    ],
)
def test_counts_stay_equal_where_some_way_ends(ends: str) -> None:
    source = "tf.data.TextLineDataset('a')"
    fit = "ds = {}.map(f)\nmodel.fit(" + ends.replace("{", "{{") + ", steps_per_epoch=900{})\n"
    text = divide(KERAS + fit.format(source, "")).text
    assert f"shard_records({source})" in text


def test_data_without_end_need_not_be_divided_evenly() -> None:
    fit = "model.fit({}.map(f).shuffle(9).repeat().batch(3), steps_per_epoch=900{})\n"
    source = "tf.data.TextLineDataset('a')"
    check(
        KERAS, fit.format(source, ""), fit.format(f"{source}.shard(hvd.size(), hvd.rank())", " // hvd.size()")
    )


def test_what_is_repeated_first_is_divided_after_it() -> None:
    """There may be fewer rows than ranks; repeated, they are never too few."""
    fit = "model.fit({}.repeat(){}.batch(3), steps_per_epoch=900{})\n"
    for source in ("tf.data.Dataset.from_tensor_slices(x)", "tf.data.TextLineDataset('a')", "parts['train']"):
        made = "parts = {'train': tf.data.Dataset.range(9), 'test': tf.data.Dataset.range(3)}\n"
        after = fit.format(source, ".shard(hvd.size(), hvd.rank())", " // hvd.size()")
        check(KERAS + made, fit.format(source, "", ""), after)


def test_also_by_a_name_that_is_read_there_alone() -> None:
    source = "ds = tf.data.Dataset.from_tensor_slices(x)\nds = ds.repeat(){}.shuffle(9).batch(3)\n"
    fit = "model.fit(ds, steps_per_epoch=900{})\n"
    after = source.format(".shard(hvd.size(), hvd.rank())") + fit.format(" // hvd.size()")
    check(KERAS, source.format("") + fit.format(""), after)


@pytest.mark.parametrize(
    "fit",
    [
        "model.fit(SOURCE.shuffle(9).repeat().batch(3), steps_per_epoch=900)\n",
        "model.fit(SOURCE.repeat(2).batch(3))\n",
        "model.fit(SOURCE.repeat(count=n).batch(3), steps_per_epoch=900)\n",
        "ds = SOURCE\nmodel.fit(ds.repeat().batch(3), steps_per_epoch=900)\nmodel.fit(ds.batch(3))\n",
        "ds = SOURCE\nif big:\n    ds = ds.map(f)\nmodel.fit(ds.repeat().batch(3), steps_per_epoch=900)\n",
    ],
)
def test_elsewhere_there_may_be_too_few(fit: str) -> None:
    """Near misses: shuffled first, repeated a few times, read elsewhere, too, or made in two ways."""
    text = divide(KERAS + fit.replace("SOURCE", "tf.data.Dataset.from_tensor_slices(x)")).text
    named = fit.startswith("ds = ")
    assert ("shard_dataset(" in text) is not named
    assert (".repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(ds) // hvd.size()))\n" in text) is named


LOADED = "import tensorflow_datasets as tfds\n{}model.fit({}.map(f).shuffle(9).batch(3))\n"


@pytest.mark.parametrize(
    ("made", "source"),
    [
        ("", "tfds.load('mnist', split='train', as_supervised=True)"),
        ("(a, b), info = tfds.load('mnist', split=['train', 'test'], with_info=True)\n", "a"),
        ("d, info = tfds.load('mnist', with_info=True, shuffle_files=False)\n", "d['train']"),
    ],
)
def test_what_is_loaded_in_order_is_filled_up(made: str, source: str) -> None:
    text = divide(KERAS + LOADED.format(made, source)).text
    assert f"shard_records({source}).map(f)" in text


@pytest.mark.parametrize(
    "made",
    [
        "d = tfds.load('mnist', shuffle_files=True)\n",
        "d = tfds.load('mnist', read_config=config)\n",
        "d = tfds.load('mnist', **options)\n",
        "d = tfds.load('mnist') if big else other()\n",
    ],
)
def test_what_may_be_loaded_in_another_order_is_not(made: str) -> None:
    text = divide(KERAS + LOADED.format(made, "d['train']")).text
    assert "shard_stream(d['train'])" in text


@pytest.mark.parametrize("steps", ["", ".repeat(100)", ".cache().repeat(100).prefetch(1)"])
def test_all_rows_in_one_element_keep_their_rate(steps: str) -> None:
    """Every rank computes all of them: with a larger rate, each update would be too far."""
    source = f"tf.data.Dataset.from_tensors((x, y)){steps}"
    for program in (f"model.fit({source}, epochs=9)\n", f"for a, b in {source}:\n    step(a, b)\n"):
        result = divide((KERAS if "fit" in program else TAPE) + program)
        assert any("one element" in doubt for doubt in result.doubts)
        assert source in result.text
        assert "0.1 * hvd.size()" not in result.text
        assert "shard" not in result.text


def test_elements_that_are_made_of_one_are_divided() -> None:
    text = divide(
        TAPE + "for a in tf.data.Dataset.from_tensors(x).unbatch().batch(3):\n    step(a, a)\n"
    ).text
    assert "shard_records(tf.data.Dataset.from_tensors(x).unbatch()).batch(3)" in text


@pytest.mark.parametrize(
    "source",
    [
        "tf.data.TFRecordDataset('f').shuffle(9, seed=1).filter(good)",
        "tf.data.Dataset.from_generator(rows, tf.int32)",
        "tf.data.TextLineDataset('a').concatenate(tf.data.Dataset.range(9).shuffle(3))",
        "tf.data.Dataset.list_files('*', seed=1).interleave(tf.data.TFRecordDataset)",
        "tf.data.Dataset.from_tensor_slices(n).interleave(lambda f: tf.data.TFRecordDataset(f).shuffle(9))",
        "somewhere.load().map(f).filter(good)",
    ],
)
def test_what_may_come_out_otherwise_is_read_only_once(source: str) -> None:
    """Filled up from its start, a shuffled dataset would be shuffled otherwise on some ranks in the next epoch."""
    result = divide(KERAS + f"model.fit({source}.batch(3))\n")
    assert "shard_records" not in result.text


GENERATED = """
def draw():
    {}
    while {}:
        yield {}
ds = tf.data.Dataset.from_generator(draw, tf.float32).batch(3)
model.fit({}, steps_per_epoch=900)
"""


@pytest.mark.parametrize(
    ("before", "test", "drawn"),
    [
        ("n = 9", "n > 0", "np.random.rand()"),  # it may end
        ("np.random.seed(1)", "True", "np.random.rand()"),
        ("n = 9", "True", "x[n]"),
    ],
)
def test_what_is_generated_alike_or_ends_is_divided(before: str, test: str, drawn: str) -> None:
    assert (
        ".from_generator(draw, tf.float32)).batch"
        in divide(KERAS + GENERATED.format(before, test, drawn, "ds")).text
    )


def test_what_each_rank_draws_at_random_it_keeps() -> None:
    source = GENERATED.format("n = 9", "True", "np.random.rand()", "ds")
    check(KERAS, source, source.replace("=900", "=900 // hvd.size()"))
    joined = GENERATED.format("n = 9", "True", "np.random.rand()", "ds.concatenate(tf.data.Dataset.range(9))")
    assert "shard_" in divide(KERAS + joined).text


def test_what_ends_on_a_device_stays_there() -> None:
    dataset(
        "ds = tf.data.TextLineDataset('f').map(f).apply(tf.data.experimental.prefetch_to_device('/gpu:0'))\nmodel.fit(ds)\n",
        "ds = shard_records(tf.data.TextLineDataset('f')).map(f).apply(tf.data.experimental.prefetch_to_device('/gpu:0'))\n"
        "model.fit(ds)\n",
    )


def test_what_every_rank_does_for_all_is_told() -> None:
    early = divide(KERAS + "model.fit(tf.data.TextLineDataset('f').filter(good).map(parse).batch(3))\n")
    assert not early.notes
    late = divide(KERAS + "model.fit(tf.data.TextLineDataset('f').map(parse).filter(good).batch(3))\n")
    assert [n for n in late.notes if "every rank runs `map` (line 5) on all of it" in n] == late.notes != []


def test_taking_elements_of_batches_taken_apart_counts_no_steps() -> None:
    dataset(
        "model.fit(tf.data.Dataset.range(9).batch(3).unbatch().take(6).batch(2))\n",
        "model.fit(shard_records(tf.data.Dataset.range(9).batch(3).unbatch().take(6)).batch(2))\n",
    )


def test_class_names_are_still_there() -> None:
    dataset(
        "ds = tf.keras.utils.image_dataset_from_directory('d')\nprint(ds.class_names)\nmodel.fit(ds.cache())\n",
        "ds = tf.keras.utils.image_dataset_from_directory('d', seed=0 if hvd.size() > 1 else None)\nprint(ds.class_names)\n"
        f"model.fit({OF_NAME}.cache())\n",
    )


@pytest.mark.parametrize(
    ("made", "helper"),
    [
        ("tf.keras.utils.image_dataset_from_directory('d', seed=1)", "ds = ds.repeat().shard"),
        ("tf.keras.preprocessing.text_dataset_from_directory('d', seed=1).map(f)", "shard_dataset"),
        ("tf.keras.utils.audio_dataset_from_directory('d', shuffle=False).prefetch(2)", "shard_dataset"),
        ("tf.keras.utils.image_dataset_from_directory('d', seed=1).filter(f)", "shard_stream"),
        ("tf.data.experimental.make_csv_dataset('d', 4, shuffle=False)", "shard_stream"),
        ("image_dataset_from_directory('d').map(f)", "shard_stream"),  # of a module that isn't seen
    ],
)
def test_a_dataset_of_a_folder_knows_its_length(made: str, helper: str) -> None:
    text = divide(KERAS + f"from mine import image_dataset_from_directory\nds = {made}\nmodel.fit(ds)\n").text
    assert f"{helper}(" in text


def test_shuffles_have_seeds_of_their_own() -> None:
    """With one seed both come in one order: what is paired at random would be the same pairs in each pass."""
    dataset(
        """
        horses = tf.data.Dataset.from_tensor_slices(x).shuffle(64)
        zebras = tf.data.Dataset.from_tensor_slices(y).shuffle(64)
        model.fit(tf.data.Dataset.zip((horses, zebras)).batch(4))
        """,
        """
        horses = tf.data.Dataset.from_tensor_slices(x).shuffle(64, seed=0 if hvd.size() > 1 else None)
        zebras = tf.data.Dataset.from_tensor_slices(y).shuffle(64, seed=1 if hvd.size() > 1 else None)
        model.fit(shard_dataset(tf.data.Dataset.zip((horses, zebras))).batch(4))
        """,
    )


@pytest.mark.parametrize(
    "made",
    [
        """
        def read(rows):
            return tf.data.Dataset.from_tensor_slices(rows).shuffle(64)
        pairs = tf.data.Dataset.zip((read(x), read(y)))
        model.fit(pairs.batch(4))
        """,
        """
        for turn in range(3):
            rows = tf.data.Dataset.from_tensor_slices(x).shuffle(64)
            model.fit(tf.data.Dataset.zip((rows, targets)).batch(4))
        """,
    ],
)
def test_a_line_that_shuffles_again_has_another_seed_each_time(made: str) -> None:
    text = divide(KERAS + textwrap.dedent(made)).text
    assert ".shuffle(64, seed=hvd.broadcast_object(secrets.randbits(31)))" in text


def test_a_line_that_keras_runs_draws_its_seed_alike() -> None:
    """Near miss: it can't be seen when Keras comes to it, so no rank waits for another there."""
    own = "class Rows(tf.keras.layers.Layer):\n    def call(self, rows):\n"
    own += "        return tf.data.Dataset.from_tensor_slices(rows).shuffle(64)\n"
    assert "broadcast_object" not in divide(KERAS + own + "model.fit(Rows()(x).batch(4))\n").text


def test_files_are_listed_alike_on_all_ranks() -> None:
    dataset(
        "model.fit(tf.data.Dataset.list_files('*.jpg').map(f).batch(3))\n",
        "model.fit(shard_dataset(tf.data.Dataset.list_files('*.jpg', seed=0 if hvd.size() > 1 else None)).map(f).batch(3))\n",
    )
    dataset(
        "model.fit(tf.data.Dataset.list_files('*.jpg', shuffle=False).map(f).batch(3))\n",
        "model.fit(shard_dataset(tf.data.Dataset.list_files('*.jpg', shuffle=False)).map(f).batch(3))\n",
    )


def test_a_cache_file_belongs_to_one_rank() -> None:
    dataset(
        "val = tf.data.Dataset.range(9).cache(v)\n"
        "model.fit(tf.data.Dataset.range(9).cache('c').batch(3), validation_data=val)\n",
        "val = tf.data.Dataset.range(9).cache(v + str(hvd.rank()))\n"
        "model.fit(shard_dataset(tf.data.Dataset.range(9)).cache('c' + str(hvd.rank())).batch(3), validation_data=val)\n",
    )


def test_a_fixed_batch_size_keeps_batches_whole() -> None:
    head = KERAS + "i = tf.keras.Input((3,), batch_size=4)\n"
    check(
        head,
        "model.fit(tf.data.Dataset.range(9).batch(4, True).repeat())\n",
        "model.fit(tf.data.Dataset.range(9).batch(4, True).repeat().shard(hvd.size(), hvd.rank()))\n",
    )


def test_a_pipeline_made_in_a_traced_function_is_left_and_said() -> None:
    source = "@tf.function\ndef train():\n    for x in tf.data.Dataset.range(9).batch(3):\n        step(x, x)\ntrain()\n"
    assert unchanged(TAPE, source).notes


def test_a_traced_loop_is_divided_outside() -> None:
    check(
        TAPE,
        "@tf.function\ndef train(ds):\n    for x in ds:\n        step(x, x)\ntrain(tf.data.Dataset.range(9).batch(3))\n",
        "@tf.function\ndef train(ds):\n    for x in ds:\n        step(x, x)\n"
        "train(shard_dataset(tf.data.Dataset.range(9)).batch(3))\n",
    )


# ---------------------------------------------------------------------- D3


DRAWING = "for i in range(1000):\n    k = np.random.randint(0, 9, 3)\n    step(x[k], y[k])\n"


@pytest.mark.parametrize(
    "source",
    [
        DRAWING,
        "np.random.seed(7)\nfor a, b in tf.data.Dataset.range(9).batch(3):\n    step(a, b)\n",
        "np.random.seed(7)\nk = np.random.randint(0, 9, 3)\nfor i in range(1000):\n    step(x[i], y[i])\n",
        "np.random.seed(7)\nfor i in range(1000):\n    a, b = data.next_batch(3)\n"
        "    z = np.random.normal(size=3)\n    step(a + z, b)\n",
    ],
    ids=["unseeded", "dataset", "before the loop", "beside dealt batches"],
)
def test_seeds_that_leave_ranks_different_rows_are_not_asked_about(source: str) -> None:
    assert not divide(TAPE + source).doubts


@pytest.mark.parametrize(
    ("seed", "example"),
    [
        ("np.random.seed(**s)", "`np.random.seed(s + hvd.rank())`"),
    ],
)
def test_a_seed_that_makes_ranks_draw_the_same_is_asked_about(seed: str, example: str) -> None:
    result = divide(f"{TAPE}{seed}\n{DRAWING}")
    (doubt,) = result.doubts
    assert "same batches" in doubt
    assert example in doubt
    assert seed in result.text


SPARSE = "def load():\n    return tf.sparse.from_dense(np.eye(9))\n"


def test_sparse_rows_are_left_with_their_rate_and_said() -> None:
    plan = plan_of(KERAS + SPARSE + "model.fit(load(), np.ones(9), batch_size=4)\n")
    assert "shard(" not in plan.text
    assert "* hvd.size()" not in plan.text
    assert any("sparse tensors" in n.message for n in plan.notes if n.rule == "D2")


@pytest.mark.parametrize("dense", ["tf.sparse.to_dense(load())", "tf.sparse.to_dense(load()).numpy()"])
def test_dense_rows_of_sparse_ones_are_divided(dense: str) -> None:
    plan = plan_of(KERAS + SPARSE + f"model.fit({dense}, np.ones(9), batch_size=4)\n")
    assert f"shard({dense})" in plan.text
    assert "* hvd.size()" in plan.text


def test_two_models_of_one_name_of_which_one_is_stateful() -> None:
    source = TF + (
        "from tensorflow.keras import layers\n"
        "def recurrent(x, y):\n    model = tf.keras.Sequential()\n"
        "    model.add(layers.LSTM(4, stateful=True, batch_input_shape=(8, 4, 3)))\n    model.add(layers.Dense(1))\n"
        "    model.compile('sgd', 'mse')\n    model.fit(x, y, batch_size=8)\n"
        "def plain(x, y):\n    model = tf.keras.Sequential([layers.Flatten(), layers.Dense(1)])\n"
        "    model.compile('sgd', 'mse')\n    model.fit(x, y, batch_size=16)\n"
        "x, y = load()\nrecurrent(x, y)\nplain(x, y)\n"
    )
    text = plan_of(source).text
    assert "model.fit(x, y, batch_size=8" in text
    assert "model.fit(x[share], y[share], batch_size=16" in text


def test_a_stateful_layer_of_which_the_model_is_not_seen_is_in_all_of_them() -> None:
    source = TF + (
        "from tensorflow.keras import layers\nlayer = layers.LSTM(4, stateful=True)\n"
        "model = build(layer)\nmodel.compile('sgd', 'mse')\n"
        "other = tf.keras.Sequential([layers.Dense(1)])\nother.compile('sgd', 'mse')\nother.fit(x, y)\n"
    )
    assert "other.fit(x, y" in plan_of(source).text


SPLIT = "def split(s):\n    return s[:-1], s[1:]\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "ids.batch(51).map(split).shuffle(9).batch(16)",
            "shard_dataset(ids.batch(51)).map(split).shuffle(9).batch(16)",
        ),
        ("ids.batch(51).map(split)", "shard_dataset(ids.batch(51)).map(split)"),
        ("ids.batch(2).batch(16)", "shard_dataset(ids.batch(2)).batch(16)"),
        ("ids.batch(51).map(half).batch(16)", "shard_dataset(ids.batch(51)).map(half).batch(16)"),
        ("ids.batch(16).map(half)", "shard_dataset(ids).batch(16).map(half)"),
        ("ids.map(split).batch(16)", "shard_dataset(ids).map(split).batch(16)"),
    ],
)
def test_sequences_are_divided_whole(before: str, after: str) -> None:
    """Dealt out one by one, every size()-th of the elements would follow each other."""
    ids = "tf.data.Dataset.from_tensor_slices(n)"
    head = KERAS + SPLIT + "def half(s):\n    return s / 2, s\n"
    check(head, f"model.fit({before.replace('ids', ids)})\n", f"model.fit({after.replace('ids', ids)})\n")


def test_a_share_of_what_is_batched_apart_again_is_taken_after_that() -> None:
    result = divide(
        KERAS
        + "ids = tf.data.Dataset.from_tensor_slices(n)\nmodel.fit(ids.batch(99).map(f).unbatch().batch(8))\n"
    )
    assert "(ids.batch(99).map(f).unbatch()).batch(8)" in result.text


@pytest.mark.parametrize(
    "made",
    [
        "ds = tf.keras.utils.image_dataset_from_directory('photos')\n",
        "ds, rest = tf.keras.utils.image_dataset_from_directory('photos', validation_split=0.2, subset='both', seed=1)\n",
    ],
)
def test_batches_that_are_read_whole_are_told(made: str) -> None:
    plan = plan_of(
        TF
        + made
        + "model = tf.keras.Sequential([])\nmodel.compile('sgd', 'mse')\nmodel.fit(ds.prefetch(2))\n"
    )
    assert [n.message for n in plan.notes if "reads and decodes all files" in n.message]


def test_what_only_evaluates_is_no_cost_of_each_step() -> None:
    source = TF + (
        "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
        "rest = tf.keras.utils.image_dataset_from_directory('photos')\nmodel = tf.keras.Sequential([])\n"
        "model.compile('sgd', 'mse')\nmodel.fit(ds, validation_data=rest)\n"
    )
    assert not [n for n in plan_of(source).notes if "reads and decodes" in n.message]


ROWS = KERAS + "x, y = np.zeros(900), np.zeros(900)\n"


def test_rows_that_are_divided_for_the_next_fit_too_are_taken_once() -> None:
    both = "model.fit({0}, {1})\nmodel.fit({0}, {1}, epochs=2)\n"
    check(ROWS, both.format("x", "y"), SHARE.format("x") + both.format("x[share]", "y[share]"))


@pytest.mark.parametrize("between", ["x = np.concatenate([x, x])\n", "x, y = np.ones(800), np.ones(800)\n"])
def test_rows_that_are_others_then_are_taken_again(between: str) -> None:
    fit = "model.fit(x, y)\n"
    assert plan_of(ROWS + fit + between + fit).text.count(SHARE.format("x")) == 2


def test_what_a_branch_makes_of_a_dataset_is_not_divided_a_second_time() -> None:
    source = (
        "import tensorflow as tf\n"
        "def make(part):\n"
        "    ds = tf.data.Dataset.range(40).concatenate(tf.data.Dataset.range(40, 64)).shuffle(64)\n"
        "    if part < 1:\n        ds = ds.take(int(64 * part))\n"
        "    return ds.batch(4)\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        'model.compile("sgd", "mse")\nmodel.fit(make(0.5))\n'
    )
    text = plan_of(source).text
    assert "        ds = ds.take(int(64 * part))\n" in text
    assert f"    return {OF_NAME}.batch(4)\n" in text
    chosen = source.replace("ds = ds.take(int(64 * part))", "ds = tf.data.Dataset.range(9)")  # another one
    assert plan_of(chosen).text.count("shard_dataset(tf.data.Dataset.range(40)") == 1
    assert plan_of(chosen).text.count("        ds = ds.repeat().shard(") == 1


APPLIED = """\
import tensorflow as tf
def prepare(rows):
    rows = rows.shuffle(1000)
    return rows.batch(32)
ds = tf.data.Dataset.from_tensor_slices(a).apply(prepare)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
for x in ds:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


def test_what_a_function_shuffles_that_a_pipeline_applies_comes_in_one_order() -> None:
    text = plan_of(APPLIED).text
    assert "rows.shuffle(1000, seed=0 if hvd.size() > 1 else None)" in text
    assert "shard" in text


def test_a_shuffle_of_what_begins_unseen_is_alike_too() -> None:
    """Ranks took what is skipped and what is left from orders of their own: each trained on the others' test rows."""
    text = plan_of(
        "import tensorflow as tf\nfrom mine import read\nparts = [read(name) for name in ('a', 'b')]\nall = parts[0]\n"
        "all = all.shuffle(500, reshuffle_each_iteration=False)\nds = all.map(lambda n: n * 2)\n"
        "train = ds.skip(50).shuffle(500)\ntrain = train.batch(8)\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\nmodel.fit(train)\n"
    ).text
    assert "all.shuffle(500, reshuffle_each_iteration=False, seed=" in text
    assert "ds.skip(50).shuffle(500, seed=" in text


@pytest.mark.parametrize("grouped", ["make(a).shuffle(9).batch(4)", "make(a).batch(4).repeat()"])
def test_batches_that_are_taken_before_the_pipeline_is_divided_are_those_of_all(grouped: str) -> None:
    """What is looked at as well is divided in the loop, behind `take`: a rank then took 1/size() of 1/size()."""
    text = plan_of(
        TAPE
        + f"make = tf.data.Dataset.from_tensor_slices\nds = {grouped}\ntrain = ds.take(1000)\n"
        + "def look(data):\n    for x in data:\n        print(model(x))\nlook(train)\n"
        + "for epoch in range(9):\n    for x in train:\n        step(x, x)\n"
    ).text
    assert "train = ds.take(1000)\n" in text
    assert re.search(r"    for x in (shard\w+\(train\)|train\.repeat\(\)\.shard\(.*\)):", text)


def test_batches_that_are_taken_behind_the_division_are_a_ranks() -> None:
    text = plan_of(
        TAPE
        + "make = tf.data.Dataset.from_tensor_slices\ntrain = make(a).batch(4).repeat().take(1000)\n"
        + "for epoch in range(9):\n    for x in train:\n        step(x, x)\n"
    ).text
    assert ".take(1000 // hvd.size())" in text


@pytest.mark.parametrize("fit", ["fit(Pairs(rows), epochs=3)", "fit_generator(Pairs(rows), epochs=3)"])
def test_what_another_package_gives_stays_whole_with_its_rate(fit: str) -> None:
    """Without a number of steps each rank takes all of its batches: no rate may grow by that."""
    plan = plan_of(
        TF + "from pairs import Pairs\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        f"model.compile(tf.keras.optimizers.SGD(0.1), 'mse')\nmodel.{fit}\n"
    )
    assert "SGD(0.1))" in plan.text
    assert any("every rank trains on all of it" in n.message for n in plan.notes)


@pytest.mark.parametrize(
    "fit", ["fit_generator(Pairs(rows), 8)", "fit_generator(Pairs(rows), steps_per_epoch=8)"]
)
def test_what_another_package_gives_for_a_number_of_steps_is_divided(fit: str) -> None:
    plan = plan_of(
        TF + "from pairs import Pairs\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        f"model.compile(tf.keras.optimizers.SGD(0.1), 'mse')\nmodel.{fit}\n"
    )
    assert "SGD(0.1 * hvd.size())" in plan.text
    assert "8 // hvd.size()" in plan.text
