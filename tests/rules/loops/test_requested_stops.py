"""S5: `coordinator.request_stop()` in a loop that asks `coordinator.should_stop()` ends it, as a `break` does: on all ranks."""

from __future__ import annotations

from ..pairs import doubts, plan_of, refused
from ..sessions import BUILT, INIT

HEAD = BUILT + "coordinator = tf.train.Coordinator()\nsess = tf.Session()\n" + INIT
TURN = (
    "while not coordinator.should_stop():\n    _, value = sess.run([train, loss], {x: draw()})\n    i += 1\n"
)


def test_by_a_count_nothing_has_to_be_agreed_on() -> None:
    plan = plan_of(HEAD + "i = 0\n" + TURN + "    if i >= 1000:\n        coordinator.request_stop()\n")
    assert "if i >= 1000 // hvd.size():\n        coordinator.request_stop()" in plan.text


def test_another_coordinator_is_no_end_of_this_loop() -> None:
    stop = "    if i >= 1000:\n        break\n    if value < 0.1:\n        other.request_stop()\n"
    plan = plan_of(HEAD + "i = 0\n" + TURN + stop)
    assert "    if value < 0.1:\n        other.request_stop()" in plan.text


def test_by_a_ranks_own_loss_all_stop_together() -> None:
    stop = "    if i >= 1000:\n        break\n    if value < 0.1:\n        coordinator.request_stop()\n"
    plan = plan_of(HEAD + "i = 0\n" + TURN + stop)
    assert "if any_rank(value < 0.1):\n        coordinator.request_stop()" in plan.text
    assert doubts(plan, "S5")


def test_what_can_not_be_agreed_on_is_refused() -> None:
    stop = (
        "    if i >= 1000:\n        break\n    if draws():\n        try:\n            check(value)\n"
        "        except ValueError:\n            if value < 0.1:\n                coordinator.request_stop()\n"
    )
    refused(HEAD + "i = 0\n" + TURN + stop, "HVD205")
