"""Quick fixes for scripts that use Horovod: what they make of a text, where none is offered, and that the finding is gone."""

from __future__ import annotations

import ast

import pytest

from tests.restrictions.helpers import fixed, violations

START = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
x, y = tf.ones((64, 4)), tf.ones((64, 1))
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
"""
COMPILED = START + 'model.compile(hvd.DistributedOptimizer(optimizer), "mse")\n'
CALLBACKS = COMPILED + "callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]\n"
FIT = "model.fit(x, y, callbacks=callbacks)\n"
TAPE = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
ROWS = "rows = tf.data.Dataset.range(1000).{}.batch(10)\n"
_DECAY = "tf.keras.optimizers.schedules.CosineDecay(0.01 * hvd.size(), {})"
STOPS = "tf.keras.callbacks.EarlyStopping()"
AVERAGES = "hvd.callbacks.MetricAverageCallback()"
SENDS = "hvd.callbacks.BroadcastGlobalVariablesCallback(0)"


def _changed(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


# The code, a text in which it is found once, and the change that its fix makes.
FIXES = [
    ("HVD301", CALLBACKS.replace("hvd.init()\n", "") + FIT, ("as hvd\n", "as hvd\n\nhvd.init()\n")),
    ("HVD302", _changed(CALLBACKS, "local_rank", "rank") + FIT, ("[hvd.rank()]", "[hvd.local_rank()]")),
    (
        "HVD303",
        START[: START.index("gpus")] + COMPILED[COMPILED.index("x, y") :] + FIT,
        (
            "hvd.init()\n",
            'hvd.init()\ngpus = tf.config.list_physical_devices("GPU")\nif gpus:\n'
            '    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")\n',
        ),
    ),
    (
        "HVD304",
        START
        + 'model.compile(optimizer, "mse")\nmodel.fit(x, y, callbacks=[hvd.callbacks.MetricAverageCallback()])\n',
        ("compile(optimizer,", "compile(hvd.DistributedOptimizer(optimizer),"),
    ),
    (
        "HVD304",
        TAPE,
        ("    gradients = tape", "    tape = hvd.DistributedGradientTape(tape)\n    gradients = tape"),
    ),
    (
        "HVD305",
        START
        + 'optimizer = hvd.DistributedOptimizer(optimizer)\nmodel.compile(hvd.DistributedOptimizer(optimizer), "mse")\n',
        ("compile(hvd.DistributedOptimizer(optimizer)", "compile(optimizer"),
    ),
    ("HVD306", COMPILED + "model.fit(x, y)\n", ("fit(x, y)", f"fit(x, y, callbacks=[{SENDS}])")),
    (
        "HVD306",
        COMPILED + f"callbacks = [\n    {AVERAGES},\n]\nmodel.fit(x, y, callbacks=callbacks)\n",
        (f"    {AVERAGES},\n", f"    {SENDS},\n    {AVERAGES},\n"),
    ),
    (
        "HVD306",
        COMPILED + "callbacks = []\nmodel.fit(x, y, callbacks=callbacks)\n",
        ("callbacks = []", f"callbacks = [{SENDS}]"),
    ),
    (
        "HVD306",
        CALLBACKS.replace("Callback(0)", "Callback(hvd.size())") + FIT,
        ("Callback(hvd.size())", "Callback(0)"),
    ),
    (
        "HVD309",
        CALLBACKS.replace("0.01 * hvd.size()", "(0.1 / 10) * hvd.size() * hvd.size()") + FIT,
        ("(0.1 / 10) * hvd.size() * hvd.size()", "(0.1 / 10) * hvd.size()"),
    ),
    (
        "HVD309",
        CALLBACKS.replace("SGD(0.01", "SGD(rate").replace(
            "optimizer = ", "rate = 0.01 * hvd.size()\noptimizer = ", 1
        )
        + FIT,
        ("SGD(rate * hvd.size())", "SGD(rate)"),
    ),
    *(
        (
            "HVD309",
            CALLBACKS.replace("SGD(0.01", "SGD(rate").replace(
                "optimizer = ", f"rate = 0.01\n{grown}\noptimizer = ", 1
            )
            + FIT,
            ("SGD(rate * hvd.size())", "SGD(rate)"),
        )
        for grown in ("rate *= hvd.size()", "rate = rate * hvd.size()", "rate = hvd.size() * rate")
    ),
    (
        "HVD310",
        CALLBACKS
        + "callbacks.append(hvd.callbacks.LearningRateWarmupCallback(0.01, warmup_epochs=3))\n"
        + FIT,
        ("Callback(0.01,", "Callback(0.01 * hvd.size(),"),
    ),
    (
        "HVD311",
        CALLBACKS + "callbacks.append(hvd.callbacks.MetricAverageCallback())\n"
        f"if hvd.rank() == 0:\n    callbacks.append({STOPS})\n" + FIT,
        (f"if hvd.rank() == 0:\n    callbacks.append({STOPS})", f"callbacks.append({STOPS})"),
    ),
    (
        "HVD312",
        CALLBACKS + f"callbacks.append({STOPS})\n" + FIT,
        (f"callbacks.append({STOPS})", f"callbacks.append({AVERAGES})\ncallbacks.append({STOPS})"),
    ),
    (
        "HVD312",
        COMPILED + f"callbacks = [{SENDS}, {STOPS}, {AVERAGES}]\n" + FIT,
        (f"{SENDS}, {STOPS}, {AVERAGES}", f"{SENDS}, {AVERAGES}, {STOPS}"),
    ),
    (
        "HVD312",
        COMPILED + f"callbacks = [\n    {SENDS},\n    {STOPS},\n]\n" + FIT,
        (f"    {STOPS},\n", f"    {AVERAGES},\n    {STOPS},\n"),
    ),
    (
        "HVD314",
        CALLBACKS + FIT + 'model.save("m.h5")\n',
        ("model.save", "if hvd.rank() == 0:\n    model.save"),
    ),
    (
        "HVD314",
        CALLBACKS.replace("(0)]", '(0), tf.keras.callbacks.ModelCheckpoint("m.h5")]') + FIT,
        (
            'tf.keras.callbacks.ModelCheckpoint("m.h5")',
            '*([tf.keras.callbacks.ModelCheckpoint("m.h5")] if hvd.rank() == 0 else [])',
        ),
    ),
    (
        "HVD314",
        CALLBACKS + 'callbacks.append(tf.keras.callbacks.ModelCheckpoint("m.h5"))\n' + FIT,
        ("callbacks.append", "if hvd.rank() == 0:\n    callbacks.append"),
    ),
    (
        "HVD315",
        CALLBACKS.replace("horovod.tensorflow.keras", "horovod.keras") + FIT,
        ("horovod.keras", "horovod.tensorflow.keras"),
    ),
    (
        "HVD316",
        START + f'model = tf.keras.models.load_model("m.h5")\nmodel.fit(x, y, callbacks=[{SENDS}])\n',
        ("tf.keras.models.load_model", "hvd.load_model"),
    ),
    (
        "HVD317",
        CALLBACKS.replace("(optimizer)", "(optimizer, op=hvd.Sum)") + FIT,
        ("SGD(0.01 * hvd.size())", "SGD(0.01)"),
    ),
    (
        "HVD319",
        CALLBACKS
        + ROWS.format("shuffle(1000).shard(hvd.size(), hvd.rank())")
        + "model.fit(rows, callbacks=callbacks)\n",
        ("shuffle(1000)", "shuffle(1000, seed=0)"),
    ),
    (
        "HVD321",
        CALLBACKS
        + ROWS.format("shard(hvd.size(), hvd.rank()).repeat()")
        + "model.fit(rows, steps_per_epoch=90 + 10, callbacks=callbacks)\n",
        ("90 + 10", "(90 + 10) // hvd.size()"),
    ),
    (
        "HVD325",
        CALLBACKS.replace("SGD(0.01 * hvd.size())", f"SGD({_DECAY.format('90 * 10')})")
        + "model.fit(x, y, steps_per_epoch=90 // hvd.size(), epochs=10, callbacks=callbacks)\n",
        ("90 * 10", "max(1, (90 * 10) // hvd.size())"),
    ),
    (
        "HVD326",
        CALLBACKS.replace('"mse"', '"mse", jit_compile=True') + FIT,
        ("jit_compile=True", "jit_compile=False"),
    ),
]


# The same, with no fix: it would not be safe.
NO_FIX = [
    (
        "HVD305",
        START
        + "optimizer = hvd.DistributedOptimizer(optimizer)\noptimizer = hvd.DistributedOptimizer(optimizer)  # again\n"
        + 'model.compile(hvd.DistributedOptimizer(optimizer, op=hvd.Sum), "mse")\n',
    ),
    (
        "HVD310",
        CALLBACKS
        + "callbacks.append(hvd.callbacks.LearningRateWarmupCallback(0.1, warmup_epochs=3))\n"
        + FIT,
    ),
    ("HVD314", CALLBACKS + FIT + 'model.save("m.h5"); print("saved")\n'),
]


@pytest.mark.parametrize(("code", "text", "change"), FIXES)
def test_the_fix_makes_this_change_and_the_finding_is_gone(
    code: str, text: str, change: tuple[str, str]
) -> None:
    expected = _changed(text, *change)
    assert fixed(text, code) == expected
    ast.parse(expected)
    assert violations(expected, code) == []


@pytest.mark.parametrize(("code", "text"), NO_FIX)
def test_without_a_safe_change_there_is_no_fix(code: str, text: str) -> None:
    assert violations(text, code)[-1].fixes == ()


def test_a_constant_rate_is_multiplied() -> None:
    text = CALLBACKS.replace("0.01 * hvd.size()", "0.01")
    text += ROWS.format("repeat()") + "model.fit(rows, steps_per_epoch=9, callbacks=callbacks)\n"
    assert fixed(text, "HVD308") == _changed(text, "SGD(0.01)", "SGD(0.01 * hvd.size())")


@pytest.mark.parametrize("code", ["HVD304", "HVD306", "HVD316"])
def test_without_a_name_for_the_module_there_is_no_fix(code: str) -> None:
    text = {
        "HVD304": START
        + 'model.compile(optimizer, "mse")\nmodel.fit(x, y, callbacks=[hvd.callbacks.MetricAverageCallback()])\n',
        "HVD306": COMPILED + "model.fit(x, y)\n",
        "HVD316": START
        + f'model = tf.keras.models.load_model("m.h5")\nmodel.fit(x, y, callbacks=[{SENDS}])\n',
    }[code]
    text = text.replace("import horovod.tensorflow.keras as hvd", "import horovod.tensorflow.keras").replace(
        "hvd.", "horovod.tensorflow.keras."
    )
    (violation,) = violations(text, code)
    assert violation.fixes == ()
