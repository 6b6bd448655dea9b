"""What threads change beside the training: a memory that one fills has other lengths on other ranks."""

from __future__ import annotations

import pytest

from .pairs import doubts, plan_of, refused
from .sessions import BUILT, INIT

FILLED = """\
import threading
import numpy as np
memory, done = [], False
def fill():
    global done
    for row in rows:
        {}
    done = True
{}
"""
BEGUN = "threading.Thread(target=fill, daemon=True).start()"
OPEN = "sess = tf.Session()\n" + INIT
PICKED = "    sess.run(train, {x: [memory[k] for k in np.random.randint(len(memory), size=8)]})\n"
WAITS = "for i in range(500):\n    if len(memory) < 8:\n        continue\n" + PICKED


def lines(put: str, begun: str, loop: str) -> str:
    return plan_of(BUILT + FILLED.format(put, begun) + OPEN + loop).text


@pytest.mark.parametrize(
    "begun",
    [
        BEGUN,
        "t = threading.Thread(None, fill)\nt.start()",
        "threading.Timer(3, fill).start()",
        "def go():\n    fill()\nthreading.Thread(target=lambda: go()).start()",
        "class Filling(threading.Thread):\n    def run(self):\n        fill()\nFilling().start()",
    ],
)
def test_ranks_skip_a_turn_together_until_the_memories_of_all_are_filled(begun: str) -> None:
    assert "if any_rank(len(memory) < 8):" in lines("memory.append(row)", begun, WAITS)


def test_what_is_filled_without_a_thread_is_as_long_on_all_ranks() -> None:
    assert "any_rank" not in lines("memory.append(row)", "fill()", WAITS)


def test_a_queue_that_a_thread_fills_gives_all_in_order() -> None:
    loop = "while True:\n    got = waiting.get()\n    if got is None:\n        break\n    sess.run(train, {x: got})\n"
    text = lines("waiting.put(row)", "import queue\nwaiting = queue.Queue(9)\n" + BEGUN, loop)
    assert "any_rank" not in text


def test_a_loop_that_goes_on_until_a_thread_has_ended_is_refused() -> None:
    source = BUILT + FILLED.format("memory.append(row)", BEGUN) + OPEN + "while not done:\n" + PICKED
    refused(source, "HVD205", "how far a thread has come")


def test_what_only_the_thread_reads_decides_nothing() -> None:
    loop = "for i in range(500):\n    sess.run(train, {x: draw()})\n"
    plan = plan_of(BUILT + FILLED.format("memory.append(row)", BEGUN) + OPEN + loop)
    assert "any_rank" not in plan.text
    assert not doubts(plan, "S5")


def test_rows_that_a_thread_gives_in_one_order_are_asked_about() -> None:
    loader = """\
import threading
class Loader:
    def __init__(self):
        self.rows, self.last = [], None
        threading.Thread(target=self._fill).start()
    def _fill(self):
        for k in range(0, 640, 32):
            self.rows.append(kept[k:k + 32])
            self.last = k
    def take(self):
        while not self.rows:
            pass
        return self.rows.pop(0)
kept = np.load('rows.npy')
loader = Loader()
"""
    loop = "for i in range(20):\n    sess.run(train, {x: loader.take()})\n"
    plan = plan_of("import numpy as np\n" + BUILT + loader + OPEN + loop)
    assert [d for d in doubts(plan, "C5") if "given the same rows" in d]
