"""K3: callbacks of the user's own that end training."""

from __future__ import annotations

import textwrap

import pytest

from ..pairs import TF, changes, plan_of, refused

HEAD = TF + "import time\nclass Stop(tf.keras.callbacks.Callback):\n"
TAIL = "model = tf.keras.Sequential([])\nmodel.compile('sgd', 'mse')\nmodel.fit(x, y, callbacks=[Stop()])\n"
STOP = "        self.model.stop_training = True\n"


def method(name: str, body: str) -> str:
    return f"    def {name}(self, n, logs=None):\n" + textwrap.indent(textwrap.dedent(body), " " * 8)


def asked(source: str) -> list[str]:
    """The tests in which all ranks ask each other."""
    plan = plan_of(HEAD + source + TAIL)
    found = [c for c in changes(plan, "K3") if c.what == "Decide on all ranks together"]
    assert all(not c.sure for c in found)
    return [plan.document.text[c.span.start : c.span.end] for c in found]


def test_a_batch_s_loss_is_a_rank_s_own() -> None:
    before = method("on_train_batch_end", "if logs['loss'] > 9:\n    self.model.stop_training = True\n")
    assert asked(before) == ["logs['loss'] > 9"]
    plan = plan_of(HEAD + before + TAIL)
    assert "if any_rank(logs['loss'] > 9):" in plan.text


def test_the_clock_is_a_rank_s_own_when_an_epoch_ends_too() -> None:
    late = "late = time.time() - self.start\nif late > 60:\n    self.model.stop_training = True\n"
    assert asked(method("on_epoch_end", late)) == ["late > 60"]
    assert asked(method("on_epoch_end", "self.model.stop_training = time.time() > self.end\n")) == [
        "time.time() > self.end"
    ]


def test_tests_on_the_way_are_asked_and_those_that_leave_before() -> None:
    """But for those that come out the same on all ranks: which batch it is."""
    body = """\
    if n < 3:
        return
    if logs['loss'] < 1:
        return
    if logs:
        if logs['loss'] > 9:
            self.model.stop_training = True
    if n > 99:
        return
    """
    assert asked(method("on_train_batch_end", body)) == ["logs['loss'] < 1", "logs", "logs['loss'] > 9"]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("on_epoch_end", "if logs['accuracy'] > 0.99:\n    self.model.stop_training = True\n"),  # averaged
        ("on_train_batch_end", "if logs['loss'] > 9:\n    print(n)\n"),
        ("on_train_begin", "self.model.stop_training = False\n"),
        ("on_epoch_end", "if time.time() > self.end:\n    print('late')\n"),
        ("on_train_batch_end", "if n > 99:\n    self.model.stop_training = True\n"),
        (
            "on_train_batch_begin",
            "if n < 9:\n    tf.keras.backend.set_value(self.model.optimizer.lr, n * 0.1)\n",
        ),
        (
            "on_epoch_end",
            "if logs['loss'] > self.best:\n    self.model.optimizer.lr = 0.1\nself.best = logs['loss']\n",
        ),
    ],
)
def test_nothing_is_asked(name: str, body: str) -> None:
    assert asked(method(name, body)) == []


def test_a_stop_in_a_loop_is_refused() -> None:
    body = "for value in logs.values():\n    if value > 9:\n        self.model.stop_training = True\n"
    refused(HEAD + method("on_train_batch_end", body) + TAIL, "HVD006", "whether all ranks do this")


@pytest.mark.parametrize("gathers", ["self.losses.append(logs['loss'])\n", "self.losses = logs['loss']\n"])
@pytest.mark.parametrize(
    "does",
    [
        "self.model.stop_training = True",
        "self.model.optimizer.lr = self.model.optimizer.lr * 0.5",
        "tf.keras.backend.set_value(self.model.optimizer.learning_rate, 0.1)",
        "self.model.optimizer.learning_rate.assign(0.1)",
    ],
)
def test_what_was_gathered_of_batches_is_a_rank_s_own(gathers: str, does: str) -> None:
    """An epoch's own logs are averaged; a mean of batches' logs is not."""
    body = "mean = np.mean(self.losses)\nif n and mean > self.last:\n    " + does + "\nself.last = mean\n"
    source = method("on_train_batch_end", gathers) + method("on_epoch_end", body)
    assert asked(source) == []
    assert "mean = mean_over_ranks(np.mean(self.losses))\n" in plan_of(HEAD + source + TAIL).text


@pytest.mark.parametrize(("layer", "own"), [("BatchNormalization()", True), ("Dense(3)", False)])
@pytest.mark.parametrize("ask", ["self.model.predict(x)", "self.model.evaluate(x, y)[1]", "self.model(x)"])
def test_what_a_model_says_is_a_rank_s_own_where_it_keeps_statistics(ask: str, layer: str, own: bool) -> None:
    stop = f"score = np.mean({ask})\nif score > self.best:\n    self.model.stop_training = True\n"
    source = method("on_epoch_end", stop) + f"layer = tf.keras.layers.{layer}\n"
    is_called = ask == "self.model(x)"
    assert asked(source) == (["score > self.best"] if own and is_called else [])
    text = plan_of(HEAD + source + TAIL).text
    assert ("score = mean_over_ranks(np.mean(self.model." in text) == (own and not is_called)


PATIENCE = """\
score = np.mean(self.model.predict(x))
self.scores.append(np.mean(self.model.predict(x)))
if score < self.best:
    self.best = score
else:
    self.wait += 1
    if {test}:
        self.model.stop_training = True
"""
NORMALISED = "layer = tf.keras.layers.BatchNormalization()\n"


def test_how_often_nothing_got_better_goes_by_what_was_measured_in_epochs_before() -> None:
    """`self.wait` is counted and asked for in one arm: that this runs now is one thing, how often it ran another."""
    source = method("on_epoch_end", PATIENCE.format(test="self.wait > 3")) + NORMALISED
    assert asked(source) == []
    assert "score = mean_over_ranks(np.mean(self.model.predict(x" in plan_of(HEAD + source + TAIL).text


def test_what_is_put_into_a_list_is_averaged_as_it_is_put_there() -> None:
    """What a model says was looked at where it is compared, and not in a list: a rank stopped alone."""
    body = PATIENCE.replace("score < self.best", "n < 3").format(
        test="min(self.scores[-5:]) > self.scores[0]"
    )
    text = plan_of(HEAD + method("on_epoch_end", body) + NORMALISED + TAIL).text
    assert "self.scores.append(mean_over_ranks(np.mean(self.model.predict(x" in text


@pytest.mark.parametrize(
    "does",
    [
        "optimizer = self.model.optimizer; optimizer.learning_rate = 0.01",
        "rate = self.model.optimizer.lr; rate.assign(0.01)",
        "optimizer, n = self.model.optimizer, 1; tf.keras.backend.set_value(optimizer.lr, 0.01)",
        "self.model.optimizer.learning_rate.assign_sub(0.01)",
        "set_rate(self.model, 0.01)",
        "give(self.model.optimizer, 0.01)",
        "self.end()",
        "self.cool(0.5)",
    ],
)
def test_a_rate_under_another_name_and_what_a_function_does_are_decided_together(does: str) -> None:
    head = "def set_rate(model, value):\n    tf.keras.backend.set_value(model.optimizer.lr, value)\n"
    head += "def give(optimizer, value):\n    optimizer.learning_rate = value\n"
    methods = "    def end(self):\n        self.model.stop_training = True\n"
    methods += "    def cool(self, factor):\n        self.model.optimizer.learning_rate.assign(factor)\n"
    source = methods + method("on_train_batch_end", f"if logs['loss'] > 9:\n    {does}\n")
    plan = plan_of(TF + head + "class Stop(tf.keras.callbacks.Callback):\n" + source + TAIL)
    assert "if any_rank(logs['loss'] > 9):" in plan.text
    averaged = plan.document.text.replace("on_train_batch_end", "on_epoch_end")
    assert "any_rank" not in plan_of(averaged).text


def test_a_function_that_decides_itself_asks_all_ranks_there() -> None:
    source = """\
    def end(self):
        self.model.stop_training = True
    def check(self, loss):
        if loss > 9:
            self.end()
    def on_train_batch_end(self, n, logs=None):
        if n % 10 == 0:
            self.check(logs['loss'])
"""
    assert asked(source) == ["loss > 9"]


# ---------------------------------------------------------------------- functions given to a LambdaCallback

MODEL = (
    TF + "import time\nmodel = tf.keras.Sequential([])\nmodel.compile(tf.keras.optimizers.SGD(0.1), 'mse')\n"
)


def given(hooks: str, before: str = "") -> str:
    called = f"tf.keras.callbacks.LambdaCallback({hooks})"
    return MODEL + textwrap.dedent(before) + f"model.fit(x, y, callbacks=[{called}])\n"


@pytest.mark.parametrize(
    ("hooks", "before"),
    [
        (
            "on_epoch_end=stop",
            "def stop(e, logs):\n    if logs['loss'] < 1:\n        model.stop_training = True\n",
        ),
        (
            "on_batch_end=stop",
            "def stop(b, logs):\n    if b > 9:\n        model.stop_training = True\n",
        ),
        ("on_epoch_end=lambda e, logs: setattr(model, 'stop_training', logs['loss'] < 1)", ""),
        ("on_batch_end=lambda b, logs: setattr(model, 'stop_training', b > 9)", ""),
        ("on_batch_end=lambda b, logs: print(logs['loss'] < 1)", ""),
        ("on_batch_end=lambda b, logs: logs['loss'] < 1 and setattr(model, 'seen', True)", ""),
        (
            "on_batch_end=print",
            "def stop(b, logs):\n    if logs['loss'] < 1:\n        model.stop_training = True\n",
        ),
    ],
)
def test_nothing_is_asked_of_functions_that_decide_alike(hooks: str, before: str) -> None:
    decided = [
        c for c in changes(plan_of(given(hooks, before)), "K3") if c.what == "Decide on all ranks together"
    ]
    assert not decided


def test_a_function_in_a_lambda_callback_decides_like_a_method() -> None:
    stop = "def stop(b, logs):\n    if b > 5 and logs['loss'] < 1:\n        model.stop_training = True\n"
    plan = plan_of(given("on_batch_end=stop", stop))
    assert "    if any_rank(b > max(1, 5 // hvd.size()) and logs['loss'] < 1):\n" in plan.text
    timed = "def stop(e, logs):\n    if time.time() > end:\n        model.stop_training = True\n"
    assert "if any_rank(time.time() > end):" in plan_of(given("on_epoch_end=stop", timed)).text


@pytest.mark.parametrize(
    ("written", "agreed"),
    [
        (
            "setattr(model, 'stop_training', logs['loss'] < 1)",
            "setattr(model, 'stop_training', any_rank(logs['loss'] < 1))",
        ),
        (
            "logs['loss'] < 1 and setattr(model, 'stop_training', True)",
            "any_rank(logs['loss'] < 1) and setattr(model, 'stop_training', True)",
        ),
        (
            "model.optimizer.lr.assign(0.1) if logs['loss'] < 1 else None",
            "model.optimizer.lr.assign(0.1 * hvd.size()) if any_rank(logs['loss'] < 1) else None",
        ),
    ],
)
def test_a_lambda_decides_with_all_ranks(written: str, agreed: str) -> None:
    plan = plan_of(given(f"on_batch_end=lambda b, logs: {written}"))
    assert f"lambda b, logs: {agreed})" in plan.text
    assert not any(c.sure for c in changes(plan, "K3") if c.what == "Decide on all ranks together")


FINDER = """\
class Finder:
    def __init__(self, model, factor):
        self.model, self.factor = model, factor
    def step(self, b, logs):
        if logs['loss'] > 9:
            self.model.stop_training = True
            return
        rate = tf.keras.backend.get_value(self.model.optimizer.lr)
        tf.keras.backend.set_value(self.model.optimizer.lr, rate * self.factor)
"""


@pytest.mark.parametrize("hook", ["finder.step", "lambda batch, logs: finder.step(batch, logs)"])
def test_a_rate_that_goes_on_with_every_batch_goes_on_as_fast(hook: str) -> None:
    """As the finders of learning rates do that hand a method of theirs to a `LambdaCallback`."""
    text = plan_of(given(f"on_batch_end={hook}", FINDER + "finder = Finder(model, 1.1)\n")).text
    assert "        if any_rank(logs['loss'] > 9):\n" in text
    assert "rate * self.factor ** hvd.size())\n" in text
    seldom = plan_of(given("on_epoch_end=finder.step", FINDER + "finder = Finder(model, 1.1)\n")).text
    assert "rate * self.factor)\n" in seldom
    assert "if logs['loss'] > 9:" in seldom


def test_a_lambda_that_prints_and_hands_on_to_what_stops_is_on_all_ranks() -> None:
    hook = "lambda b, logs: (print(b), finder.step(b, logs))"
    text = plan_of(given(f"on_batch_end={hook}", FINDER + "finder = Finder(model, 1.1)\n")).text
    assert "] if hvd.rank() == 0 else" not in text
    assert f"LambdaCallback(on_batch_end={hook})]" in text


def test_weights_that_a_function_draws_are_asked_about() -> None:
    drawn = "def shake(b, logs):\n    model.set_weights([np.random.rand(*w.shape) for w in model.get_weights()])\n"
    plan = plan_of(given("on_batch_end=shake", "import numpy as np\n" + drawn))
    assert any("every rank sets weights that it has drawn itself" in c.doubt for c in changes(plan, "K3"))
    before = plan_of(given("on_train_begin=shake", "import numpy as np\n" + drawn))
    assert not any("every rank sets weights" in c.doubt for c in changes(before, "K3"))


PATIENT = """\
    def on_train_begin(self, logs=None):
        self.best, self.wait, self.n, self.start = 9.0, 0, 0, 50
    def on_train_batch_end(self, n, logs=None):
        self.n += 1
        if self.n < self.start:
            return
        if logs['loss'] < self.best:
            self.best, self.wait = logs['loss'], 0
            return
        self.wait += 1
        if self.wait > 30:
            self.model.stop_training = True
"""


def test_steps_that_all_ranks_count_alike_are_divided_and_not_asked_about() -> None:
    """Patience goes by what all ranks have decided together."""
    assert asked(PATIENT) == ["logs['loss'] < self.best"]
    text = plan_of(HEAD + PATIENT + TAIL).text
    assert "        if self.n < max(1, self.start // hvd.size()):\n" in text
    assert "        if self.wait > max(1, 30 // hvd.size()):\n" in text
    by_clock = PATIENT.replace("self.n += 1", "self.n += time.time() > 9")
    assert asked(by_clock)[0] == "self.n < self.start"
