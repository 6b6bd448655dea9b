"""G7: moving averages of weights that are kept by the step."""

from __future__ import annotations

import textwrap

import pytest

from horovodize.plan import Plan

from ..dividing import TAPE
from ..pairs import TF, changes, check, only, plan_of, untouched
from ..sessions import LOSS

HEAD = TAPE + "slow = tf.keras.Sequential([])\nds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
LOOP = "for i, (x, y) in enumerate(ds):\n    loss = step(x, y)\n"
PAIRS = "    for s, w in zip(slow.variables, model.variables):\n        {}\n"
AVERAGE = "ema = tf.train.ExponentialMovingAverage(0.99)\n"


@pytest.mark.parametrize(
    "kept",
    [
        LOOP + "    ema.apply([loss])\n",  # shows how the loss goes
        LOOP + "for s in range(3):\n    ema.apply(model.trainable_variables)\n",  # after training
        LOOP + "    if i % 50 == 0:\n        ema.apply(model.trainable_variables)\n",  # comes as often (G5)
        LOOP,
    ],
)
def test_averages_that_are_not_kept_of_weights_by_the_step_are_left(kept: str) -> None:
    untouched("G7", HEAD + AVERAGE + kept)


@pytest.mark.parametrize(
    "mixed",
    [
        LOOP + "    average = 0.9 * average + 0.1 * loss\n",
        LOOP + PAIRS.format("s.assign(w)"),
        "for e in range(9):\n" + textwrap.indent(LOOP + "for s, w in zip(slow.variables, model.variables):\n", "    ")
        + "        s.assign(0.9 * s + 0.1 * w)\n",
        LOOP + "    if i % 10 == 0:\n" + PAIRS.format("    s.assign(0.9 * s + 0.1 * w)").replace("    for", "        for"),
    ],
)  # fmt: skip
def test_what_is_no_average_of_weights_by_the_step_is_left(mixed: str) -> None:
    assert changes(plan_of(HEAD + mixed), "G7") == []


def test_where_all_ranks_take_all_steps_it_is_left() -> None:
    untouched("G7", HEAD + LOOP + PAIRS.format("s.assign(0.9 * s + 0.1 * w)"), split_data=False)


def test_an_average_of_weights() -> None:
    kept = LOOP + "    ema.apply(model.trainable_variables)\n"
    check("G7", HEAD, AVERAGE + kept, AVERAGE.replace("0.99", "0.99 ** hvd.size()") + kept)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("s.assign(0.9 * s + 0.1 * w)", "s.assign(0.9 ** hvd.size() * s + (1 - 0.9 ** hvd.size()) * w)"),
        ("s.assign(d * s + (1 - d) * w)", "s.assign(d ** hvd.size() * s + (1 - d ** hvd.size()) * w)"),
        (
            "s.assign(w * t + s * (1 - t))",
            "s.assign(w * (1 - (1 - t) ** hvd.size()) + s * (1 - t) ** hvd.size())",
        ),
        ("s.assign_sub((1 - d) * (s - w))", "s.assign_sub((1 - d ** hvd.size()) * (s - w))"),
        ("s.assign_add((w - s) * t)", "s.assign_add((w - s) * (1 - (1 - t) ** hvd.size()))"),
        ("s.assign(s - (1 - d) * (s - w))", "s.assign(s - (1 - d ** hvd.size()) * (s - w))"),
        (
            "s.assign(d * s.value() + (1. - d) * w)",
            "s.assign(d ** hvd.size() * s.value() + (1. - d ** hvd.size()) * w)",
        ),
    ],
)
def test_weights_that_a_program_mixes_itself(before: str, after: str) -> None:
    check("G7", HEAD, LOOP + PAIRS.format(before), LOOP + PAIRS.format(after))


LISTS = LOOP + "    {}kept = {}[{} for k, w in zip(kept, model.{})]\n"
MIXED, TOLD = "d * k + (1 - d) * w", "d ** hvd.size() * k + (1 - d ** hvd.size()) * w"


TAKEN = "    new = {}\n    kept = [{} for k, w in zip(kept, new)]\n"


@pytest.mark.parametrize(
    "new",
    [
        "[v.numpy() for v in model.trainable_variables]",
        "[tf.identity(v) for v in model.weights]",
        "list(model.get_weights())",
        "copy.deepcopy(model.get_weights())",
    ],
)
def test_lists_of_copied_weights(new: str) -> None:
    before, after = (LOOP + TAKEN.format(new, mixed) for mixed in (MIXED, TOLD))
    check("G7", HEAD + "kept, d = None, 0.99\n", before, after)


@pytest.mark.parametrize(
    "new", ["[v * 2 for v in model.weights]", "[1 for v in model.weights]", "list(losses)"]
)
def test_lists_of_what_is_computed_are_left(new: str) -> None:
    text = HEAD + "kept, d = None, 0.99\n" + LOOP + TAKEN.format(new, MIXED)
    assert changes(plan_of(text), "G7") == []


@pytest.mark.parametrize("weights", ["get_weights()", "trainable_variables"])
@pytest.mark.parametrize("first", ["", "model.get_weights() if kept is None else "])
def test_lists_of_weights_that_a_program_keeps(weights: str, first: str) -> None:
    before, after = (LISTS.format("", first, mixed, weights) for mixed in (MIXED, TOLD))
    check("G7", HEAD + "kept, d = None, 0.99\n", before, after)


def test_lists_by_pairs_that_have_a_name() -> None:
    named = LOOP + "    pairs = zip(kept, model.get_weights())\n    kept = [{} for k, w in pairs]\n"
    check("G7", HEAD + "kept, d = None, 0.99\n", named.format(MIXED), named.format(TOLD))


@pytest.mark.parametrize(
    "kept",
    [
        LOOP + "    pairs = zip(kept, losses)\n    kept = [d * k + (1 - d) * w for k, w in pairs]\n",
        LOOP + "    pairs = load()\n    kept = [d * k + (1 - d) * w for k, w in pairs]\n",
        LISTS.format("if i % 50 == 0: ", "", MIXED, "get_weights()"),
        LISTS.format("other = 0; ", "", MIXED, "get_weights()").replace("zip(kept,", "zip(held,"),
        LOOP + "    kept = [d * k + (1 - d) * w for k, w in zip(kept, losses)]\n",
        LOOP + "    kept = [k + w for k, w in zip(kept, model.get_weights())]\n",
    ],
)
def test_lists_that_are_no_average_of_weights_by_the_step(kept: str) -> None:
    plan = plan_of(HEAD + "kept, d = None, 0.99\n" + kept)
    assert changes(plan, "G7") == []
    assert not [n for n in plan.notes if n.rule == "G7"]


KEPT = """\
from tensorflow.keras import backend as K
class Average(tf.keras.callbacks.Callback):
    def __init__(self, decay):
        self.decay, self.shadow, self.t = decay, {}, 0
    def on_train_batch_end(self, batch, logs=None):
        self.t += 1
        for w in self.model.trainable_weights:
            old = self.shadow[w.name]
            TAKEN
model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
model.compile("sgd", "mse")
model.fit(x, y, callbacks=[Average(0.99)])
"""
ONE = "self.shadow[w.name]"


@pytest.mark.parametrize(
    "taken",
    [
        f"{ONE} = w.numpy()",  # the last one
        f"{ONE} += K.get_value(w)",  # a sum
        f"{ONE} = (self.t * old + w.numpy()) / (self.t + 1)",  # the mean of all
        f"{ONE} += (K.get_value(w) - old) / self.t",
        f"{ONE} -= 0.1 * logs['loss']",
        f"if batch % 50 == 0: {ONE} -= (1 - self.decay) * (old - K.get_value(w))",
    ],
)
def test_what_a_callback_keeps_of_weights_and_does_not_mix_by_the_step(taken: str) -> None:
    plan = plan_of(TF + KEPT.replace("TAKEN", taken))
    assert changes(plan, "G7") == []
    assert not [n for n in plan.notes if n.rule == "G7"]


def test_weights_that_a_callback_mixes_once_an_epoch() -> None:
    by_epoch = KEPT.replace("on_train_batch_end", "on_epoch_end")
    untouched("G7", TF + by_epoch.replace("TAKEN", f"{ONE} -= (1 - self.decay) * (old - K.get_value(w))"))


@pytest.mark.parametrize(
    ("taken", "told"),
    [
        (
            f"{ONE} -= (1.0 - self.decay) * (old - K.get_value(w))",
            f"{ONE} -= (1.0 - self.decay ** hvd.size()) * (old - K.get_value(w))",
        ),
        (
            f"{ONE} += (w.numpy() - old) * 0.01",
            f"{ONE} += (w.numpy() - old) * (1 - (1 - 0.01) ** hvd.size())",
        ),
        (
            f"new = self.decay * old + (1 - self.decay) * w.numpy(); {ONE} = new",
            f"new = self.decay ** hvd.size() * old + (1 - self.decay ** hvd.size()) * w.numpy(); {ONE} = new",
        ),
        (
            f"{ONE} = {ONE} - (1 - self.decay) * (old - w.numpy())",
            f"{ONE} = {ONE} - (1 - self.decay ** hvd.size()) * (old - w.numpy())",
        ),
    ],
)
def test_weights_that_a_callback_mixes_in_a_dictionary(taken: str, told: str) -> None:
    assert only(plan_of(TF + KEPT.replace("TAKEN", taken)), "G7") == TF + KEPT.replace("TAKEN", told)


@pytest.mark.parametrize("other", [f"{ONE} += 0.01 * w.numpy()", f"{ONE} = 0.5 * old + 0.4 * K.get_value(w)"])
def test_what_a_callback_mixes_in_another_form_is_said(other: str) -> None:
    plan = plan_of(TF + KEPT.replace("TAKEN", other))
    assert ["follow more slowly" in n.message for n in plan.notes if n.rule == "G7"] == [True]


def test_lists_that_a_function_mixes_by_a_decay_that_goes_by_the_steps() -> None:
    source = """\
def update(means, weights, t):
    decay = min(0.9999, (1.0 + {0}) / (10.0 + {0}))
    for w, m in zip(weights, means):
        m -= (1 - decay{1}) * (m - w)
class Average(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.means, self.t = self.model.get_weights(), 0
    def on_train_batch_end(self, batch, logs=None):
        update(self.means, self.model.get_weights(), self.t)
        self.t += 1
model = tf.keras.Sequential([])
model.compile("sgd", "mse")
model.fit(x, y, callbacks=[Average()])
"""
    plan = plan_of(TF + source.format("t", ""))
    assert only(plan, "G5", "G7") == TF + source.format("t * hvd.size()", " ** hvd.size()")


@pytest.mark.parametrize("size", [2, 4])
def test_a_difference_leaves_as_much_after_as_many_rows(size: int) -> None:
    alone, together = 5.0, 5.0
    for _ in range(32):
        alone -= 0.1 * (alone - 1.0)
    for _ in range(32 // size):
        together -= (1 - (1 - 0.1) ** size) * (together - 1.0)
    assert together == pytest.approx(alone)


@pytest.mark.parametrize(("share", "size"), [(0.9, 1), (0.9, 2), (0.99, 16)])
def test_as_much_is_left_after_as_many_rows(share: float, size: int) -> None:
    alone, together = 5.0, 5.0
    for _ in range(32):
        alone = share * alone + (1 - share) * 1.0
    for _ in range(32 // size):
        together = share**size * together + (1 - share**size) * 1.0
    assert together == pytest.approx(alone)


def test_lists_of_weights() -> None:
    mixed = "    slow.set_weights([{} * s + (1 - {}) * w for s, w in zip(slow.get_weights(), model.get_weights())])\n"
    check(
        "G7", HEAD, LOOP + mixed.format("d", "d"), LOOP + mixed.format("d ** hvd.size()", "d ** hvd.size()")
    )


@pytest.mark.parametrize(
    "other", ["s.assign_sub(d * (w - s))", "s.assign((s + w) / 2)", "s.assign(0.5 * s + 0.4 * w)"]
)
def test_a_mixture_of_another_form_is_said(other: str) -> None:
    plan = plan_of(HEAD + LOOP + PAIRS.format(other))
    assert ["follow more slowly" in n.message for n in plan.notes if n.rule == "G7"] == [True]


@pytest.mark.parametrize("copy", ["tf.identity(w)", "w", "w.numpy()", "w.value()"])
def test_what_is_copied_beside_an_average_leaves_nothing_to_say(copy: str) -> None:
    """The statistics of batch norm of an average that is evaluated."""
    both = f"s.assign(0.99 * s + 0.01 * w) if w.trainable else s.assign({copy})"
    plan = plan_of(HEAD + LOOP + PAIRS.format(both))
    assert [n for n in plan.notes if n.rule == "G7"] == []
    assert f"s.assign({copy})" in plan.text
    assert "0.99 ** hvd.size()" in plan.text


def test_optimizers_that_average() -> None:
    model = "model = tf.keras.Sequential([])\nmodel.compile({}, 'mse')\nmodel.fit(x, y)\n"
    plan = plan_of(
        TF + model.format("tf.keras.optimizers.SGD(0.1, use_ema=True, ema_overwrite_frequency=100)")
    )
    assert "ema_overwrite_frequency=max(1, 100 // hvd.size()), ema_momentum=0.99 ** hvd.size())" in plan.text
    untouched("G7", TF + model.format("tf.keras.optimizers.SGD(0.1, use_ema=False)"))


@pytest.mark.parametrize(
    ("options", "given", "after"),
    [
        ('p.add_argument("--every", type=int, default=16)', "args.every", "max(1, args.every // hvd.size())"),
        (
            'p.add_argument("--every", type=int)',
            "args.every",
            "(args.every and max(1, args.every // hvd.size()))",
        ),
        ("config = {'every': 16}", "config['every']", "max(1, config['every'] // hvd.size())"),
        ("steps = len(x) // 8", "2 * steps", "max(1, 2 * steps // hvd.size())"),
        ("", "None", "None"),
    ],
)
@pytest.mark.parametrize("used", ["True", "args.ema"])
def test_how_often_an_optimizer_takes_its_averages_is_divided(
    options: str, given: str, after: str, used: str
) -> None:
    head = (
        TF + "import argparse\np = argparse.ArgumentParser()\np.add_argument('--ema', action='store_true')\n"
    )
    head += f"{options}\nargs = p.parse_args()\nmodel = tf.keras.Sequential([])\n"
    tail = "model.compile(optimizer, 'mse')\nmodel.fit(x, y)\n"
    made = "optimizer = tf.keras.optimizers.SGD(0.1, use_ema={}, ema_momentum=0.9{}, ema_overwrite_frequency={})\n"
    check("G7", head, made.format(used, "", given), made.format(used, " ** hvd.size()", after), tail)


def test_what_a_function_of_the_script_hands_on_to_an_optimizer_is_changed_there_alone() -> None:
    source = """\
    def build(lr, use_ema=False, every=10):
        return tf.keras.optimizers.SGD(lr, use_ema=use_ema, ema_momentum=0.9, ema_overwrite_frequency=every)
    model = tf.keras.Sequential([])
    model.compile(build(0.1, use_ema=True), 'mse')
    model.fit(x, y)
    """
    plan = plan_of(TF + textwrap.dedent(source))
    assert "build(0.1, use_ema=True)" in plan.text
    made = (
        "use_ema=use_ema, ema_momentum=0.9 ** hvd.size(), ema_overwrite_frequency=max(1, every // hvd.size())"
    )
    assert made in plan.text


def test_a_decay_that_goes_by_the_steps_is_told_those_of_all_ranks() -> None:
    loop = (
        LOOP
        + "    d = min(0.99, (1 + {0}) / (10 + {0}))\n"
        + PAIRS.format("s.assign(d{1} * s + (1 - d{1}) * w)")
    )
    told = loop.replace(LOOP, "").format("i * hvd.size()", " ** hvd.size()")
    assert told in plan_of(HEAD + loop.format("i", "")).text


@pytest.mark.parametrize("every", ["4", "400"])
def test_where_a_step_trains_every_few_batches_the_average_goes_by_those(every: str) -> None:
    head = HEAD + "waiting = [tf.Variable(v, trainable=False) for v in model.trainable_variables]\n"
    loop = """\
def gather(x, y):
    with tf.GradientTape() as tape:
        loss = model(x) - y
    for a, g in zip(waiting, tape.gradient(loss, model.trainable_variables)):
        a.assign_add(g)
def update():
    opt.apply_gradients(zip(waiting, model.trainable_variables))
    for s, w in zip(slow.variables, model.variables):
        s.assign(0.9{0} * s + (1 - 0.9{0}) * w)
for i, (x, y) in enumerate(ds):
    gather(x, y)
    if i % {1} == 0:
        opt.learning_rate = 0.1 * 0.9 ** {2}
        update()
        n += 1
"""
    plan = plan_of(head + "n = 0\n" + loop.format("", every, "n"))
    assert f"if i % {every} == 0" in plan.text
    assert "0.9 ** (n * hvd.size())" in plan.text
    assert "s.assign(0.9 ** hvd.size() * s + (1 - 0.9 ** hvd.size()) * w)" in plan.text


def test_assignments_in_a_list() -> None:
    mixed = "    [s.assign({} * s + {} * w) for s, w in zip(slow.variables, model.variables)]\n"
    after = mixed.format("0.99 ** hvd.size()", "(1 - 0.99 ** hvd.size())")
    check("G7", HEAD, LOOP + mixed.format("0.99", "0.01"), LOOP + after)


GRAPH = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 8])
a, b = tf.Variable(1.0), tf.Variable(1.0, trainable=False)
train = tf.train.AdamOptimizer(0.001).minimize(tf.reduce_mean(tf.square(x - a)))
follow = {}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range({}):
        sess.run(train, feed_dict={{x: draw(32)}})
        sess.run(follow)
"""


@pytest.mark.parametrize(
    ("follow", "said"),
    [
        ("b.assign(0.01 * a + 0.99 * b)", False),  # followed, below
        ("tf.assign(b, tf.multiply(a, 0.01) + tf.multiply(b, 0.99))", True),
        ("tf.assign(b, a)", False),
        ("b.assign(2 * a + 3 * x)", False),
        ("b.assign(a + b)", False),
    ],
)
def test_a_graphs_mixture_is_said(follow: str, said: bool) -> None:
    plan = plan_of(GRAPH.format(follow, 900))
    assert bool([n for n in plan.notes if n.rule == "G7"]) is said


FOLLOWED = """\
x, y = np.load("x.npy"), np.load("y.npy")
model, slow = build(), build()
class Follow(tf.keras.callbacks.Callback):
    def __init__(self, slow, a=0.99):
        super().__init__()
        self.slow, self.a = slow, a
    def on_train_batch_end(self, batch, logs=None):
        {}
model.compile("sgd", "mse")
model.fit(x, y, callbacks=[Follow(slow)])
"""
BOTH = "zip(self.slow.get_weights(), self.model.get_weights())"
LEFT = "self.a ** hvd.size() * s + (1 - self.a ** hvd.size()) * w"


def followed(body: str) -> Plan:
    return plan_of(TF + "import numpy as np\n" + FOLLOWED.format(body))


@pytest.mark.parametrize(
    "body",
    [
        f"self.slow.set_weights([s + (w - s) / self.n for s, w in {BOTH}])",  # a mean over all steps
        "self.slow.set_weights(self.model.get_weights())",
        "self.slow.set_weights([w + 0.1 for w in self.model.get_weights()])",
        "self.slow.set_weights([s + 0.1 for s in self.slow.get_weights()])",
    ],
)
def test_weights_that_are_set_and_not_mixed_are_left(body: str) -> None:
    plan = followed(body)
    assert not changes(plan, "G7")
    assert not any(n.rule == "G7" for n in plan.notes)


@pytest.mark.parametrize(
    "body",
    [
        f"new = [self.a * s + (1 - self.a) * w for s, w in {BOTH}]\n        self.slow.set_weights(new)",
        "old, now = self.slow.get_weights(), self.model.get_weights()\n"
        "        self.slow.set_weights([self.a * s + (1 - self.a) * w for s, w in zip(old, now)])",
        f"new = []\n        for s, w in {BOTH}:\n            new.append(self.a * s + (1 - self.a) * w)\n"
        "        self.slow.set_weights(new)",
    ],
)
def test_lists_that_are_mixed_before_they_are_set(body: str) -> None:
    plan = followed(body)
    assert LEFT in plan.text
    assert not any(n.rule == "G7" for n in plan.notes)


@pytest.mark.parametrize(
    "body",
    [
        f"self.slow.set_weights(list(map(lambda p: self.a * p[0] + (1 - self.a) * p[1], {BOTH})))",
        "new = self.a * np.array(self.slow.get_weights()) + (1 - self.a) * np.array(self.model.get_weights())\n"
        "        self.slow.set_weights(list(new))",
    ],
)
def test_lists_that_are_mixed_otherwise_are_said(body: str) -> None:
    assert any(n.rule == "G7" and "follow more slowly" in n.message for n in followed(body).notes)


def test_pairs_of_another_function_that_are_copied_once_before_training() -> None:
    """A target network as a class keeps it: the variables of two models, whose copies begin as they do."""
    before = """
class Pair:
    def __init__(self):
        self.t = 0
        self.mix(0.0)

    def pairs(self):
        return zip(slow.weights + slow_head.weights, model.weights + head.weights)

    def mix(self, d):
        for s, w in self.pairs():
            s.assign(d * s + (1 - d) * w)

    def share(self):
        return 1 - 0.1 * (np.cos(np.pi * self.t / 500) + 1) / 2

    def train(self):
        for x, y in ds:
            step(x, y)
            self.mix(self.share())
            self.t += 1

Pair().train()
"""
    after = before.replace("d * s", "d ** hvd.size() * s").replace("1 - d)", "1 - d ** hvd.size())")
    after = after.replace("self.t / 500", "(self.t * hvd.size()) / 500")
    check(
        ["G5", "G7"],
        HEAD + "slow_head = tf.keras.Sequential([])\nhead = tf.keras.Sequential([])\n",
        before,
        after,
    )


def test_pairs_that_are_mixed_in_a_loop_of_their_own_too_are_left() -> None:
    """Near miss: mixed elsewhere as often as it likes, what is raised for the steps is not right."""
    code = (
        "def mix(d):\n"
        + PAIRS.format("s.assign(d * s + (1 - d) * w)")
        + LOOP
        + "    mix(0.9)\nfor e in range(9):\n    mix(0.9)\n"
    )
    assert changes(plan_of(HEAD + code), "G7") == []


STEERED = """
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
k = {begins}
for x, y in ds:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) * ({used}))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    {kept}
"""
POWER = "(1 - 0.9 ** hvd.size())"


@pytest.mark.parametrize(
    ("begins", "kept", "follows"),
    [
        ("0.0", "k = 0.9 * k + 0.1 * np.mean(y)", f"0.9 ** hvd.size() * k + {POWER} * np.mean(y)"),
        ("0.0", "k += 0.1 * (np.mean(y) - k)", "(1 - (1 - 0.1) ** hvd.size()) * (np.mean(y) - k)"),
        (
            "0.0",
            "k = k + 0.1 * (np.mean(y) - k)",
            "k + mean_over_ranks((1 - (1 - 0.1) ** hvd.size()) * (np.mean(y) - k))",
        ),
        (
            "tf.Variable(0.0)",
            "k.assign(0.9 * k + 0.1 * np.mean(y))",
            f"0.9 ** hvd.size() * k + {POWER} * np.mean(y)",
        ),
        ("tf.Variable(0.0)", "k.assign_sub(0.1 * (k - y[0]))", "(1 - (1 - 0.1) ** hvd.size()) * (k - y[0])"),
    ],
)
def test_a_number_that_losses_are_made_with_forgets_as_fast(begins: str, kept: str, follows: str) -> None:
    assert follows in plan_of(STEERED.format(begins=begins, used="y - k", kept=kept)).text
    shown = plan_of(STEERED.format(begins=begins, used="y", kept=kept)).text  # in no loss
    assert f"    {kept}\n" in shown


def test_a_number_that_losses_are_made_with_in_another_way_is_no_average() -> None:
    for kept in ("k = 0.9 * k + 0.3 * np.mean(y)", "k = k * np.mean(y)", "k *= 1 + np.mean(y)"):
        assert changes(plan_of(STEERED.format(begins="0.0", used="y - k", kept=kept)), "G7") == []


SHRUNK = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 3])
rate = tf.Variable(0.1, trainable=False)
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = tf.train.GradientDescentOptimizer(rate).minimize(loss)
shrink = tf.group(*[{} for v in tf.trainable_variables()])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(10000):
        sess.run(train, {{x: rows[i * 32 : (i + 1) * 32]}})
        {}
"""


def test_weights_of_a_graph_that_each_step_shrinks_shrink_as_much() -> None:
    text = plan_of(SHRUNK.format("tf.assign(v, v * (1 - 0.01))", "sess.run(shrink)")).text
    assert "tf.assign(v, v * ((1 - 0.01) ** hvd.size()))" in text
    text = plan_of(SHRUNK.format("v.assign(0.99 * v)", "sess.run(shrink)")).text
    assert "v.assign(0.99 ** hvd.size() * v)" in text


@pytest.mark.parametrize(
    ("made", "run"),
    [
        ("tf.assign(v, v * mask(v))", "sess.run(shrink)"),
        ("tf.assign(v, v * tf.sign(v))", "sess.run(shrink)"),
        ("tf.assign(v, v * 0.99)", "if loss_of(i) > 3:\n            sess.run(shrink)"),
    ],
)
def test_masks_and_what_comes_otherwise_stay(made: str, run: str) -> None:
    assert made in plan_of(SHRUNK.format(made, run)).text


@pytest.mark.parametrize(
    ("averaged", "is_sent"),
    [
        ("tf.trainable_variables()", False),
        ("", False),
        ("[loss]", True),
        ("[loss, *tf.trainable_variables()]", True),
    ],
)
def test_averages_of_the_weights_alone_are_the_same_on_all_ranks(averaged: str, is_sent: bool) -> None:
    text = plan_of(
        LOSS
        + AVERAGE
        + "train = tf.train.AdamOptimizer(0.1).minimize(loss)\n"
        + f"kept = ema.apply({averaged})\n"
        + "sess = tf.Session()\nsess.run(tf.global_variables_initializer())\n"
        + "for i in range(500):\n    sess.run([train, kept], {x: draw()})\nshow()\n"
    ).text
    assert (text.count("hvd.broadcast_global_variables") == 2) is is_sent


IN_A_GRAPH = """\
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 4])
out = tf.layers.dense(x, 1)
loss = tf.reduce_mean(tf.square(out))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
mean, _ = tf.nn.moments(x, [0])
kept = tf.Variable(0.0, trainable=False)
move = {move}
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for step in range(1000):
    sess.run(train, {{x: draw()}})
    {runs}
"""


@pytest.mark.parametrize(
    ("move", "after"),
    [
        (
            "kept.assign(0.99 * kept + 0.01 * loss)",
            "kept.assign(0.99 ** hvd.size() * kept + (1 - 0.99 ** hvd.size()) * loss)",
        ),
        (
            "tf.assign(kept, loss * (1 - 0.9) + kept * 0.9)",
            "tf.assign(kept, loss * (1 - 0.9 ** hvd.size()) + kept * 0.9 ** hvd.size())",
        ),
        (
            "kept.assign_sub(0.01 * (kept - loss))",
            "kept.assign_sub((1 - (1 - 0.01) ** hvd.size()) * (kept - loss))",
        ),
        (
            "tf.assign_add(kept, (1 - 0.9) * (loss - kept))",
            "tf.assign_add(kept, (1 - 0.9 ** hvd.size()) * (loss - kept))",
        ),
        (
            "kept.assign(kept - 0.01 * (kept - loss))",
            "kept.assign(kept - (1 - (1 - 0.01) ** hvd.size()) * (kept - loss))",
        ),
    ],
)
def test_what_a_graph_mixes_with_each_step(move: str, after: str) -> None:
    plan = plan_of(IN_A_GRAPH.format(move=move, runs="sess.run(move)"))
    assert f"move = {after}\n" in plan.text
    assert not [n for n in plan.notes if n.rule == "G7"]


@pytest.mark.parametrize(
    ("move", "runs"),
    [
        (
            "kept.assign(0.99 * kept + 0.01 * loss)",
            "if step % 10 == 0: sess.run(move)",
        ),  # as often for the rows
        ("kept.assign(0.99 * kept + 0.01 * mean)", "sess.run(move)"),  # as batch norm's layers do
        ("kept.assign_sub(0.01 * (kept - loss))", "if step % 10 == 0: sess.run(move)"),
    ],
)
def test_what_a_graph_mixes_otherwise_is_said(move: str, runs: str) -> None:
    plan = plan_of(IN_A_GRAPH.format(move=move, runs=runs))
    assert f"move = {move}\n" in plan.text
    assert ["goes on from its last value" in n.message for n in plan.notes if n.rule == "G7"] == [True]


def test_weights_that_are_copied_until_some_step_and_mixed_every_few_after_it_are_not_said_to_follow_slowly() -> (
    None
):
    """The mixture comes as often as alone (G5), and a copy moves nothing nearer: the note was false, and told to do both."""
    kept = """\
    if i < 100:
        for s, w in zip(slow.variables, model.variables):
            s.assign(w)
    elif i % 10 == 0:
        for s, w in zip(slow.variables, model.variables):
            s.assign(0.99 * s + 0.01 * w)
"""
    plan = plan_of(HEAD + LOOP + kept)
    assert "elif i * hvd.size() % 10 < hvd.size():" in plan.text
    assert "s.assign(0.99 * s + 0.01 * w)" in plan.text
    assert not [n for n in plan.notes if n.rule == "G7"]


BEGUN = """\
kept = {begins}
def update():
    global kept
    weights = model.get_weights()
    if {test}:
        kept = weights
    else:
        d = 0.99
        kept = [d * k + (1 - d) * w for k, w in zip(kept, weights)]
"""


@pytest.mark.parametrize(("begins", "test"), [("None", "kept is None"), ("[]", "not kept")])
def test_an_average_that_begins_with_the_first_step_goes_on_with_each(begins: str, test: str) -> None:
    """An average that its first step begins was left, in silence: it forgot size() times more slowly."""
    text = plan_of(HEAD + BEGUN.format(begins=begins, test=test) + LOOP + "    update()\n").text
    assert "kept = [d ** hvd.size() * k + (1 - d ** hvd.size()) * w for k, w in zip(kept, weights)]" in text


@pytest.mark.parametrize(
    ("begins", "test", "more"),
    [
        ("None", "kept is None or loss < 0.1", ""),  # by what a step gives
        ("[]", "not kept", "    if loss < 0.1:\n        kept.clear()\n"),
        ("None", "kept is None", "    if loss < 0.1:\n        kept = None\n"),
    ],
)
def test_an_average_that_begins_again_by_what_steps_give_is_left(begins: str, test: str, more: str) -> None:
    source = HEAD + BEGUN.format(begins=begins, test=test) + LOOP + "    update()\n" + more
    assert changes(plan_of(source), "G7") == []


PARTS = LOOP + "    for s, w in zip(slow.layers, model.layers):\n        {}\n"
BY_NUMBER = LOOP + "    for n in range(len(model.layers)):\n        {}\n"


@pytest.mark.parametrize(
    ("around", "before", "after"),
    [
        (
            PARTS,
            "s.kernel.assign(0.9 * s.kernel + 0.1 * w.kernel)",
            "s.kernel.assign(0.9 ** hvd.size() * s.kernel + (1 - 0.9 ** hvd.size()) * w.kernel)",
        ),
        (
            PARTS,
            "s.kernel.assign_add(0.1 * (w.kernel - s.kernel))",
            "s.kernel.assign_add((1 - (1 - 0.1) ** hvd.size()) * (w.kernel - s.kernel))",
        ),
        (
            BY_NUMBER,
            "slow.weights[n].assign(0.9 * slow.weights[n] + 0.1 * model.weights[n])",
            "slow.weights[n].assign(0.9 ** hvd.size() * slow.weights[n] + (1 - 0.9 ** hvd.size()) * model.weights[n])",
        ),
        # near misses: a copy; what no part of a model is mixed with
        (PARTS, "s.kernel.assign(w.kernel)", "s.kernel.assign(w.kernel)"),
        (PARTS, "s.seen.assign(0.9 * s.seen + 0.1 * loss)", "s.seen.assign(0.9 * s.seen + 0.1 * loss)"),
    ],
)
def test_an_average_that_is_kept_layer_by_layer(around: str, before: str, after: str) -> None:
    plan = plan_of(HEAD + around.format(before))
    assert f"        {after}\n" in plan.text
    assert bool(changes(plan, "G7")) is (before != after)


KEYED = """\
class Average:
    def __init__(self, variables):
        self.watched = variables
        self.shadow = {{v.name: tf.Variable(v) for v in variables}}

    def move(self, loss):
        for v in self.watched:
            kept = self.shadow[v.name]
            {}


average = Average(model.trainable_variables)
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "kept.assign(0.9 * kept + 0.1 * v)",
            "kept.assign(0.9 ** hvd.size() * kept + (1 - 0.9 ** hvd.size()) * v)",
        ),
        (
            "self.shadow[v.name].assign_sub(0.1 * (self.shadow[v.name] - v))",
            "self.shadow[v.name].assign_sub((1 - (1 - 0.1) ** hvd.size()) * (self.shadow[v.name] - v))",
        ),
        # near misses: a copy; what no weight is mixed with; a sum
        ("kept.assign(v)", "kept.assign(v)"),
        ("kept.assign(0.9 * kept + 0.1 * loss)", "kept.assign(0.9 * kept + 0.1 * loss)"),
        ("kept.assign(kept + v)", "kept.assign(kept + v)"),
    ],
)
def test_averages_in_a_dictionary_of_an_object(before: str, after: str) -> None:
    plan = plan_of(HEAD + KEYED.format(before) + LOOP + "    average.move(loss)\n")
    assert f"            {after}\n" in plan.text
    assert bool(changes(plan, "G7")) is (before != after)


STORED = """\
saved = tf.train.Checkpoint(model=model, step=tf.Variable(0))
saved.restore(tf.train.latest_checkpoint("saved"))
"""
NOT_RAISED, RAISED = (
    "s.assign(0.9 * s + 0.1 * w)",
    "s.assign(0.9 ** hvd.size() * s + (1 - 0.9 ** hvd.size()) * w)",
)


@pytest.mark.parametrize(
    ("test", "arm", "mixed"),
    [
        ("if int(saved.step) > 20:", "body", RAISED),
        ("if int(saved.step) <= 20:", "orelse", RAISED),
        ("if int(saved.step) == 20:", "orelse", RAISED),
        ("if i == 20:", "orelse", RAISED),
        # near misses: at one step only, or every so many
        ("if int(saved.step) == 20:", "body", NOT_RAISED),
        ("if i == 20:", "body", NOT_RAISED),
        ("if int(saved.step) % 20 == 0:", "body", NOT_RAISED),
        ("if i % 20 != 0:", "orelse", NOT_RAISED),
    ],
)
def test_averages_that_begin_later(test: str, arm: str, mixed: str) -> None:
    """A count that a checkpoint keeps goes on by the steps of all ranks."""
    pairs = textwrap.indent(PAIRS.format(NOT_RAISED), "    ")
    other = "    else:\n" if arm == "orelse" else ""
    body = ("        pass\n" if other else "") + other + pairs
    source = HEAD + STORED + LOOP + f"    saved.step.assign_add(1)\n    {test}\n{body}"
    assert f"            {mixed}\n" in plan_of(source).text


@pytest.mark.parametrize(
    ("test", "mixed"),
    [
        ("gathered == 4", RAISED),
        ("gathered >= 4", RAISED),
        ("i % 1 == 0", RAISED),
        ("i % 40 == 0", NOT_RAISED),
    ],
)
def test_averages_that_are_kept_by_the_update_of_gathered_gradients(test: str, mixed: str) -> None:
    source = f"""\
{HEAD}sums, gathered = [tf.Variable(tf.zeros_like(v)) for v in model.variables], 0
for i, (x, y) in enumerate(ds):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y) / 4
    for s, g in zip(sums, tape.gradient(loss, model.variables)):
        s.assign_add(g)
    gathered += 1
    if {test}:
        opt.apply_gradients(zip(sums, model.variables))
        gathered = 0
        for s, w in zip(slow.variables, model.variables):
            {NOT_RAISED}
"""
    if "40" in test:
        source = source.replace("        opt.apply_gradients(zip(sums, model.variables))\n", "")
        source = source.replace(
            "    gathered += 1\n", "    gathered += 1\n    opt.apply_gradients(zip(sums, model.variables))\n"
        )
    assert f"            {mixed}\n" in plan_of(source).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("s.assign(w + (s - w) * beta)", "s.assign(w + (s - w) * beta ** hvd.size())"),
        ("s.assign(w + 0.9 * (s - w))", "s.assign(w + 0.9 ** hvd.size() * (s - w))"),
        ("s.assign(beta * (s - w) + w)", "s.assign(beta ** hvd.size() * (s - w) + w)"),
        # near misses: what is kept is not what is taken away from
        ("s.assign(w + (w - s) * beta)", "s.assign(w + (w - s) * beta)"),
    ],
)
def test_a_share_of_the_distance_that_stays(before: str, after: str) -> None:
    """`average.assign(weight + (average - weight) * beta)`, as StyleGAN does."""
    assert f"        {after}\n" in plan_of(HEAD + "beta = 0.9\n" + LOOP + PAIRS.format(before)).text


TICKS = """\
rows, ticks, since = 0, 0, 0
for i, (x, y) in enumerate(ds):
    loss = step(x, y)
    rows += len(x)
    if {test}:
        continue
    print(loss)
    if ticks % 40 == 0:
        model.save_weights("model.h5")
    ticks += 1
    since = {now}
"""


@pytest.mark.parametrize(
    ("test", "now", "counts_events"),
    [
        ("ticks and rows < since + 100", "rows", True),
        ("rows - since < 100", "rows", True),
        # near misses: it waits for something else, or for nothing
        ("rows < 100", "rows", False),
        ("loss < since", "rows", False),
    ],
)
def test_what_counts_ticks_counts_no_steps(test: str, now: str, counts_events: bool) -> None:
    text = plan_of(HEAD + TICKS.format(test=test, now=now)).text
    assert ("if ticks % 40 == 0" in text) is counts_events


REPTILE = """\
eps = 0.2
def look():
    kept = model.get_weights()
    for _ in range(8):
        step(np.random.rand(4, 1), np.random.rand(4, 1))
    model.set_weights(kept)
for turn in range(200):
    before = model.get_weights()
    for _ in range(5):
        step(np.random.rand(4, 1), np.random.rand(4, 1))
    after = model.get_weights()
    model.set_weights([{mixed} for a, b in zip(after, before)])
    if turn % 50 == 0:
        look()
"""


@pytest.mark.parametrize("mixed", ["b + eps * (a - b)", "(1 - eps) * b + eps * a"])
def test_a_part_of_the_way_back_in_each_round_of_steps_is_asked_about(mixed: str) -> None:
    """Reptile's outer step: what stays of the new weights is no average over rounds."""
    plan = plan_of(TAPE + "import numpy as np\n" + REPTILE.format(mixed=mixed))
    assert f"model.set_weights([{mixed} for" in plan.text
    assert any("goes a part of the way" in str(c.doubt) for c in plan.to_confirm)


NAMED = """\
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 4])
w = tf.get_variable("w", [4, 1])
b = tf.Variable(tf.zeros([1]))
seen = tf.get_variable("seen", [], trainable=False)
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b))
step = tf.train.AdamOptimizer(0.1).minimize(loss)
params = {{"w": w, "b": b}}
ema = tf.train.ExponentialMovingAverage(0.99)
with tf.control_dependencies([step]):
    train = ema.apply({averaged})
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(500):
        sess.run(train, {{x: draw()}})
"""


@pytest.mark.parametrize(
    ("averaged", "raised"),
    [
        ("[w, b]", True),
        ("(w,)", True),
        ("[b]", True),
        ("list(params.values())", True),
        ("params.values()", True),
        # near misses: how the loss goes; what no step trains
        ("[loss]", False),
        ("[seen]", False),
        ("[tf.reduce_sum(w)]", False),
    ],
)
def test_averages_of_variables_by_their_names(averaged: str, raised: bool) -> None:
    text = plan_of(NAMED.format(averaged=averaged)).text
    assert ("ExponentialMovingAverage(0.99 ** hvd.size())" in text) is raised


LOOKAHEAD = """\
class Slow:
    def __init__(self, m):
        self.m, self.slow = m, m.get_weights()

    def __call__(self):
        new = []
        for s, w in zip(self.slow, self.m.get_weights()):
            new.append(s + 0.5 * (w - s))
        {}
        self.m.set_weights({})


move = Slow(model)
for x, y in data:
    step(x, y)
    move()
"""


@pytest.mark.parametrize(
    ("keeps", "taken", "after"),
    [
        ("self.slow = new", "new", "s + 0.5 * (w - s)"),  # a part of each step's own way
        ("self.slow = new", "self.slow", "s + 0.5 * (w - s)"),
        (
            "print(new)",
            "new",
            "s + 0.5 ** hvd.size() * (w - s)",
        ),  # drawn to what it was, by the rows that are seen
    ],
)
def test_slow_weights_that_are_taken_up_with_each_step_keep_their_share(
    keeps: str, taken: str, after: str
) -> None:
    program = (
        TAPE + "data = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n" + LOOKAHEAD.format(keeps, taken)
    )
    assert f"new.append({after})" in plan_of(program).text
