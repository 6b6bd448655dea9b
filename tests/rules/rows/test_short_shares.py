"""A dataset that knows its length is divided in one expression: one that may have few elements is repeated first."""

from __future__ import annotations

import pytest

from ..dividing import KERAS, TAPE, check, divide
from ..pairs import plan_of

MNIST = "(x, y), _ = tf.keras.datasets.mnist.load_data()\n"
FEW = ".repeat().shard(hvd.size(), hvd.rank()).take(max(1, len({}) // hvd.size()))"
OWN = ".shard(hvd.size(), hvd.rank()).take(len({}) // hvd.size())"
SLICES = "tf.data.Dataset.from_tensor_slices"


def test_on_a_line_of_its_own_after_the_name() -> None:
    made = f"ds = {SLICES}((x, y))\n"
    fit = "model.fit(ds.batch(32))\n"
    check(KERAS + MNIST, made + fit, made + "ds = ds" + OWN.format("ds") + "\n" + fit)


@pytest.mark.parametrize(
    ("source", "count"),
    [
        (f"{SLICES}((x, y))", "x"),
        (f"{SLICES}((x / 255.0, y))", "y"),
        (f"{SLICES}((tf.reshape(x, [-1, 784]), y))", "y"),
    ],
)
def test_by_the_length_of_an_array(source: str, count: str) -> None:
    check(
        KERAS + MNIST, f"model.fit({source}.batch(9))\n", f"model.fit({source}{OWN.format(count)}.batch(9))\n"
    )


@pytest.mark.parametrize(
    "source", [f"{SLICES}(x / 255.0)", f"{SLICES}((x, y)).take(500)", f"{SLICES}({{'a': x}}).take(500)"]
)
def test_where_nothing_has_a_name(source: str) -> None:
    after = f"model.fit({source}.apply(lambda ds: ds{OWN.format('ds')}).batch(9))\n"
    known = source.endswith("x / 255.0)") or "'a'" not in source
    assert (divide(KERAS + MNIST + f"model.fit({source}.batch(9))\n").text == KERAS + MNIST + after) is known


@pytest.mark.parametrize(
    "made",
    [
        "x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])\nds = tf.data.Dataset.from_tensor_slices(x)\n",  # 4 rows
        "ds = tf.data.Dataset.from_tensor_slices(['a.csv', 'b.csv'])\n",
        "x = np.load('rows.npy')\nds = tf.data.Dataset.from_tensor_slices(x)\n",
        "ds = tf.keras.utils.image_dataset_from_directory('d', seed=1)\n",
        MNIST + "ds = tf.data.Dataset.from_tensor_slices(x[:50])\n",
        MNIST + "ds = tf.data.Dataset.from_tensor_slices((x, y)).take(50)\n",
        MNIST + "ds = tf.data.Dataset.from_tensor_slices((x, y)).skip(59990)\n",
        MNIST + "ds = tf.data.Dataset.from_tensor_slices([x, y])\n",
        MNIST + "ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(9)\nprint(len(ds))\n",
        "(x, y), _ = tf.keras.datasets.imdb.load_data(maxlen=3)\nds = tf.data.Dataset.from_tensor_slices((x, y))\n",
        "(x, y), _ = tf.keras.datasets.boston_housing.load_data(test_split=0.99)\nds = "
        "tf.data.Dataset.from_tensor_slices((x, y))\n",
    ],
)
def test_few_elements_are_repeated_first(made: str) -> None:
    text = divide(KERAS + made + "ds = ds.map(f)\nmodel.fit(ds)\n").text
    many = "print(len(ds))" in made  # divided before the batches are made
    assert "shard_dataset(" not in text
    assert (".take(len(" in text) is many
    assert (f"ds = ds{FEW.format('ds')}\n" in text) is not many


@pytest.mark.parametrize(
    "feed",
    [
        "model.fit(tf.data.Dataset.from_tensor_slices(rows).map(f))",  # within a line
        "ds = tf.data.Dataset.from_tensor_slices(rows).map(f)\nmodel.fit(ds)",
        "all_rows_of_this = tf.data.Dataset.from_tensor_slices(rows)\nmodel.fit(all_rows_of_this.map(parse_what_is_read))\n"
        "model.evaluate(all_rows_of_this)",
        "the_rows_that_are_to_be_trained_on = tf.data.Dataset.from_tensor_slices(rows)\n"
        "model.fit(the_rows_that_are_to_be_trained_on)",  # a long line
        "ds = other = tf.data.Dataset.from_tensor_slices(rows)\nmodel.fit(ds)",
        "self.ds = tf.data.Dataset.from_tensor_slices(rows)\nmodel.fit(self.ds)",
        "if True: ds = tf.data.Dataset.from_tensor_slices(rows)\nmodel.fit(ds)",
    ],
)
def test_elsewhere_a_helper_divides_them(feed: str) -> None:
    text = divide(KERAS + "rows = np.load('rows.npy')\nclass self: pass\n" + feed + "\n").text
    assert "shard_dataset(" in text
    assert ".repeat().shard(" not in text


def test_a_line_with_room_takes_the_expression() -> None:
    made = f"ds = {SLICES}(np.load('rows.npy'))\n"
    then = "model.evaluate(ds)\n"
    check(
        KERAS,
        made + "model.fit(ds.map(f))\n" + then,
        made + f"model.fit(ds{FEW.format('ds')}.map(f))\n" + then,
    )


ROWS = "rows = np.load('rows.npy')\n"


def test_a_helper_for_what_surely_has_a_length_is_that_expression() -> None:
    made = f"ds = {SLICES}(rows).map(f)\nmodel.fit(ds)\n"
    text = plan_of(KERAS + ROWS + made).text
    share = ".repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(dataset) // hvd.size()))"
    assert f"\n    return dataset{share}\n" in text
    assert "cardinality" not in text


def test_where_one_may_be_endless_or_has_no_len_the_helper_looks() -> None:
    looks = "count = int(tf.data.experimental.cardinality(dataset))"
    made = f"ds = {SLICES}(rows).map(f)\nmodel.fit(ds)\n"
    assert looks in plan_of(KERAS + ROWS + made, tensorflow="2.2").text  # `len` came with 2.3
    endless = f"def make(n):\n    ds = {SLICES}((x, y)).repeat(n).batch(4)\n    return ds\n"
    kept = "rows = iter(make(int(sys.argv[1])))\nckpt = tf.train.Checkpoint(dataset=rows)\ndef train(rows):\n"
    steps = "    for _ in range(90):\n        step(*next(rows))\ntrain(rows)\n"
    more = f"for a, b in {SLICES}((y, y)).map(f).take(5):\n    step(a, b)\n"
    assert looks in plan_of("import sys\n" + TAPE + MNIST + endless + kept + steps).text
    assert looks in plan_of("import sys\n" + TAPE + MNIST + more + endless + kept + steps).text


@pytest.mark.parametrize("times", ["", "None", "n", "-1", "count=n"])
def test_what_may_be_endless_has_no_length(times: str) -> None:
    """`len` of an endless dataset is an error. It is divided as it is where that is seen, else by a helper that looks."""
    made = f"def make():\n    ds = {SLICES}((x, y)).repeat({times}).batch(4)\n    return ds\n"
    kept = "rows = iter(make())\nckpt = tf.train.Checkpoint(dataset=rows)\ndef train(rows):\n"
    text = divide(
        TAPE + MNIST + made + kept + "    for _ in range(90):\n        step(*next(rows))\ntrain(rows)\n"
    ).text
    seen = times in ("", "None")
    assert ("    return ds.shard(hvd.size(), hvd.rank())\n" in text) is seen
    assert ("    return shard_dataset(ds)\n" in text) is not seen


def test_a_repeated_dataset_that_is_taken_from_ends() -> None:
    made = f"ds = {SLICES}((x, y)).batch(4).repeat().take(90)\nlook = next(iter(ds))\n"
    text = divide(TAPE + MNIST + made + "for a, b in ds:\n    step(a, b)\nprint(ds)\n").text
    assert "ds.shard(hvd.size(), hvd.rank())" not in text


def test_a_function_that_makes_two_gets_the_expression() -> None:
    made = f"def make(n):\n    return {SLICES}((x, y)).take(500).map(g)\n"
    text = divide(KERAS + MNIST + made + "model.fit(make(1), validation_data=make(2))\n").text
    assert f"model.fit(make(1, share=lambda ds: ds{OWN.format('ds')}), validation_data=make(2))" in text


FILES = "files = tf.data.Dataset.list_files('d/*', shuffle=True, seed=3)\n"
RECORDS = "tf.data.TFRecordDataset"
ROUNDS = ".batch(hvd.size(), drop_remainder=True).unbatch().shard(hvd.size(), hvd.rank())"


@pytest.mark.parametrize(
    "source",
    [
        f"files.interleave({RECORDS})",
        f"files.interleave({RECORDS}, cycle_length=4, num_parallel_calls=8)",
        f"files.flat_map(lambda name: {RECORDS}(name, compression_type='GZIP'))",
        "files.interleave(map_func=tf.data.TextLineDataset).skip(1)",
        f"{RECORDS}(files)",
    ],
)
def test_records_of_shuffled_files_are_divided_in_whole_rounds(source: str) -> None:
    """Nobody knows how many there are, and all are strings: no helper looks at what they are."""
    before = f"ds = {source}\n"
    fit = "ds = ds.map(f).batch(9)\nmodel.fit(ds)\n"
    check(KERAS + FILES, before + fit, before + f"ds = ds{ROUNDS}  # equally many on each rank\n" + fit)
    text = divide(KERAS + FILES + f"model.fit({source}.map(f).batch(9))\n").text
    assert f"model.fit({source}{ROUNDS}.map(f)" in text


@pytest.mark.parametrize(
    "source",
    [
        f"files.interleave(lambda name: {RECORDS}(name).map(parse))",
        "files.interleave(read)",
        f"files.interleave({RECORDS}).map(parse).filter(f)",
        f"files.interleave({RECORDS} if binary else tf.data.TextLineDataset)",
        f"files.interleave({RECORDS}).batch(4).unbatch()",
        f"files.interleave({RECORDS}).map(f).filter(f)",
        f"tf.data.Dataset.zip((files.interleave({RECORDS}), files.interleave({RECORDS})))",
    ],
)
def test_what_may_have_any_shape_is_divided_by_a_helper(source: str) -> None:
    text = divide(KERAS + FILES + f"ds = {source}\nds = ds.batch(9)\nmodel.fit(ds)\n").text
    assert "shard_stream(" in text
    assert ROUNDS not in text


TFDS = (
    "import keras\nimport tensorflow as tf\nimport tensorflow_datasets as tfds\n"
    "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
    "rows = {}.shuffle(900, seed=3)\nds = rows.take(800)\ntest = rows.skip(800)\nmodel.fit(ds.batch(9))\n"
)


def test_what_tensorflow_datasets_loads_knows_its_length_under_keras_3() -> None:
    text = plan_of(TFDS.format("tfds.load('mnist', split='train')"), tensorflow="2.21").text
    assert "ds = rows.take(800)\nds = ds" + OWN.format("ds") + "\n" in text
    assert "shard_stream" not in text


@pytest.mark.parametrize(
    ("loaded", "tensorflow"),
    [
        ("tfds.load('mnist', split='train')", "2.12"),  # of any version
        ("tfds.load('mnist', split='train').filter(f)", "2.21"),
        ("tfds.load('mnist', split='train').repeat()", "2.21"),
        ("read('mnist')", "2.21"),
    ],
)
def test_elsewhere_its_length_is_looked_for(loaded: str, tensorflow: str) -> None:
    text = plan_of("from mine import f, read\n" + TFDS.format(loaded), tensorflow=tensorflow).text
    assert ".take(len(" not in text
    assert ".take(max(1, len(" not in text
