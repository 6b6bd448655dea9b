"""Code that gets the optimizer in a training loop and can't be seen: C5 asks, as it may set the rate."""

from __future__ import annotations

import pytest

from ..pairs import TF, doubts, plan_of

LOOP = (
    TF
    + """\
from others import {imported}
data = tf.data.Dataset.from_tensor_slices(rows).batch(32)
model, total = tf.keras.Sequential([tf.keras.layers.Dense(1)]), 0
opt, other = tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.SGD(0.1)
{made}
for epoch in range(10):
    {before}
    for x in data:
        total += 1
        {first}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
)


def asked(imported: str = "Cosine", made: str = "", before: str = "pass", first: str = "pass") -> list[str]:
    plan = plan_of(LOOP.format(imported=imported, made=made, before=before, first=first))
    return [d for d in doubts(plan, "C5") if "what it does can't be seen" in d]


@pytest.mark.parametrize(
    "parts",
    [
        {"made": "turns = Cosine(opt, 1000)", "first": "turns.step(total)"},
        {"made": "turns = Cosine(optimizer=opt)", "first": "turns.step()"},
        {"made": "turns = Cosine(opt, 1000)", "before": "turns.step(epoch)"},
        {"imported": "adjust", "before": "adjust(opt, epoch)"},
        {"imported": "adjust", "before": "rate = adjust(opt, epoch)"},
        {"imported": "adjust", "first": "adjust(opt, total)"},
    ],
)
def test_what_gets_the_optimizer_is_asked(parts: dict[str, str]) -> None:
    (doubt,) = asked(**parts)
    assert doubt.startswith(f"`{parts.get('imported', 'Cosine')}` gets the optimizer")


@pytest.mark.parametrize(
    "parts",
    [
        {"made": "turns = Cosine(other, 1000)", "first": "turns.step(total)"},  # takes no step
        {"made": "turns = Cosine(1000)", "first": "opt.learning_rate = turns(total)"},  # seen to be set
        {"made": "turns = Cosine(opt, 1000)"},  # before all steps
        {"made": "saver = Cosine(opt)", "before": "saver.save(epoch)"},  # puts out
        {"made": "kept = tf.train.Checkpoint(opt=opt)", "before": "kept.write('a')"},
        {"made": "def adjust(o, n):\n    print(o.learning_rate, n)\n", "before": "adjust(opt, epoch)"},
        {"imported": "shown", "before": "y = shown(opt)"},
    ],
)
def test_near_misses(parts: dict[str, str]) -> None:
    assert asked(**parts) == []


def told_fields(**parts: str) -> list[str]:
    plan = plan_of(LOOP.format(**{"imported": "a", "made": "", "before": "pass", "first": "pass", **parts}))
    return [d for d in doubts(plan, "C5") if "sets fields of the optimizer" in d]


@pytest.mark.parametrize(
    "parts",
    [
        {"before": "vars(opt).update(learning_rate=0.1 / (epoch + 1))"},
        {"first": "opt.__dict__.update({'_learning_rate': 0.1})"},
        {"made": "vars(opt).update(settings)"},
        {"made": "vars(opt).update(**settings)"},
    ],
)
def test_fields_of_an_optimizer_that_a_dictionary_sets_are_asked(parts: dict[str, str]) -> None:
    assert len(told_fields(**parts)) == 1


@pytest.mark.parametrize(
    "parts",
    [
        {"made": "vars(opt).update({'title': 'a'})"},
        {"made": "vars(other).update(learning_rate=0.1)"},
        {"made": "vars(model).update(learning_rate=0.1)"},
        {"made": "settings.update(learning_rate=0.1)"},
    ],
)
def test_no_fields_of_the_optimizer(parts: dict[str, str]) -> None:
    assert not told_fields(**parts)
