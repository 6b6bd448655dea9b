"""G5, G6: numbers of steps that are set in one case, and the length of a rank's share in another."""

from __future__ import annotations

import pytest

from ..pairs import TF, doubts, plan_of

HEAD = (
    TF
    + """
import argparse, json, os
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=-1)
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
def update(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
step = 0
"""
)
TOTAL = "total = args.steps if args.steps > 0 else args.epochs * len(ds)\n"
LOOP = """\
while step < total:
    for x, y in ds:
        opt.learning_rate.assign(0.1 * (1 - step / total))
        update(x, y)
        step += 1
        if step >= total:
            break
"""
OWN = "max(1, args.steps // hvd.size())"


@pytest.mark.parametrize(
    ("total", "after"),
    [
        (TOTAL, TOTAL.replace("= args.steps", f"= {OWN}")),
        (
            "total = args.epochs * len(ds) if args.steps <= 0 else args.steps\n",
            f"total = args.epochs * len(ds) if args.steps <= 0 else {OWN}\n",
        ),
        (
            "if args.steps > 0:\n    total = args.steps\nelse:\n    total = args.epochs * len(ds)\n",
            f"    total = {OWN}\nelse:\n    total = args.epochs * len(ds)\n",
        ),
        ("total = args.steps or len(ds)\n", "(args.steps and max(1, args.steps // hvd.size())) or len(ds)"),
    ],
)
def test_a_rank_takes_its_part_of_the_steps_in_both_cases(total: str, after: str) -> None:
    """With a number of steps that is set, all ranks together took size() times as many."""
    text = plan_of(HEAD + total + LOOP).text
    assert after in text or after.replace("(args.steps and max(1, args.steps // hvd.size()))", OWN) in text
    assert "while step < total:" in text
    assert "(1 - step / total) * hvd.size()" in text


RESTORED = (
    "if os.path.exists('s.json'):\n    with open('s.json') as f:\n        step = json.load(f)['step']\n"
)
SAVED = "with open('s.json', 'w') as f:\n    json.dump({'step': step}, f)\n"


def test_beside_a_count_that_goes_on_in_a_later_run_both_are_those_of_all_ranks() -> None:
    plan = plan_of(HEAD + TOTAL + RESTORED + LOOP + SAVED)
    assert f"total = {OWN} if args.steps > 0" in plan.text
    assert "while step < total * hvd.size():" in plan.text
    assert not doubts(plan, "G5", "G6", "C5")


def test_what_else_it_may_be_is_asked_about() -> None:
    total = "def planned():\n    return int(os.environ['STEPS'])\ntotal = planned() if args.steps > 0 else len(ds)\n"
    plan = plan_of(HEAD + total + RESTORED + LOOP + SAVED)
    assert any("in one case and that of all ranks" in doubt for doubt in doubts(plan, "G6"))


@pytest.mark.parametrize(
    "total",
    [
        "total = 0 if args.steps < 0 else args.epochs * len(ds)\n",
        "total = None if args.steps < 0 else args.epochs * len(ds)\n",
        "total = -1 if args.steps < 0 else args.epochs * len(ds)\n",
        "total = args.epochs * len(ds)\n",
        "own = len(ds)\ntotal = own if args.steps > 0 else args.epochs * len(ds)\n",  # a rank's in both
    ],
)
def test_what_is_no_number_of_steps_stays(total: str) -> None:
    assert total in plan_of(HEAD + total + LOOP).text


def test_a_number_that_nothing_counts_up_to_stays() -> None:
    total = TOTAL.replace("total", "shown")
    text = plan_of(HEAD + total + "print(shown)\n" + LOOP.replace("total", "900")).text
    assert total in text


def test_without_division_all_is_whole() -> None:
    assert TOTAL in plan_of(HEAD + TOTAL + LOOP, split_data=False).text
