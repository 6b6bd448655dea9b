"""S5: queues that each rank fills with as many rows as it comes to by itself, and a loop that goes by their number."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..sessions import INIT, LOSS

GRAPH = LOSS + (
    "given = tf.placeholder(tf.float32, [None, 1])\n"
    "queue = tf.FIFOQueue(900, [tf.float32], shapes=[[1]])\nfill = queue.enqueue_many([given])\n"
    "loss = tf.reduce_mean(queue.dequeue_many(8) * w)\ntrain = tf.train.AdamOptimizer(0.1).minimize(loss)\n"
    "sess = tf.Session()\n" + INIT
)
CHOSEN = "    scores = sess.run(given * w, {given: draw(80)})\n    rows = scores[scores > 0.5]\n    n = len(rows) // 8\n"


def refused(program: str) -> bool:
    plan = distribute(summarize(Document(GRAPH + program)), Options())
    found = plan.reasons if isinstance(plan, Refusal) else []
    return any(r.code == "HVD205" and "into this queue" in r.message for r in found)


def test_another_number_on_each_rank() -> None:
    loop = "    i = 0\n    while i < n:\n        sess.run(train)\n        i += 1\n"
    assert refused("for epoch in range(90):\n" + CHOSEN + "    sess.run(fill, {given: rows})\n" + loop)


@pytest.mark.parametrize(
    "program",
    [
        # as many on each
        "for epoch in range(90):\n    sess.run(fill, {given: draw(80)})\n    i = 0\n    while i < 10:\n"
        "        sess.run(train)\n        i += 1\n",
        # put in with each step
        "gone = False\nwhile not gone:\n    sess.run(fill, {given: draw(8)})\n    now, _ = sess.run([loss, train])\n"
        "    gone = now < 0.1\n",
        # a thread that goes on and on
        "import threading\ndef run():\n    while True:\n        sess.run(fill, {given: draw(8)})\n"
        "threading.Thread(target=run).start()\ngone = False\nwhile not gone:\n    now, _ = sess.run([loss, train])\n"
        "    gone = now < 0.1\n",
    ],
)
def test_near_misses(program: str) -> None:
    assert not refused(program)
