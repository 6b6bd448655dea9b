"""Lists of the best checkpoints: ordered alike on all ranks, or read as rank 0 has them (C6)."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of

HEAD = (
    "import bisect, collections, heapq, os, queue\nimport numpy as np\n"
    + TF
    + """\
x = np.random.RandomState(0).normal(size=(512, 4)).astype("float32")
y = x.sum(1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""
)
LOOP = """\
opt = tf.keras.optimizers.SGD(0.01)
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
board = {made}
for epoch in range(6):
    total = 0.0
    for a, b in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(a) - b) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        total += float(loss)
    path = f"w{{epoch}}.weights.h5"
    model.save_weights(path)
    {put}
    if len({counted}) > 2:
        os.remove({taken})
model.load_weights({best})
"""


def loop(put: str, taken: str, best: str, made: str = "[]", counted: str = "board") -> str:
    return HEAD + LOOP.format(put=put, taken=taken, best=best, made=made, counted=counted)


@pytest.mark.parametrize(
    ("put", "taken", "best", "averaged"),
    [
        ("board.append((total, path)); board.sort()", "board.pop()[1]", "board[0][1]", "(mean_over_ranks(total), "),
        ("heapq.heappush(board, (-total, path))", "heapq.heappop(board)[1]", "max(board)[1]", "(-mean_over_ranks(total), "),
        ("bisect.insort(board, (total, path))", "board.pop()[1]", "board[0][1]", "(mean_over_ranks(total), "),
        ("board.append((total, epoch, path))", "sorted(board)[-1][2]", "min(board)[2]", "(mean_over_ranks(total), "),
    ],
)  # fmt: skip
def test_what_orders_the_list_is_of_all_ranks(put: str, taken: str, best: str, averaged: str) -> None:
    plan = plan_of(loop(put, taken, best))
    assert averaged in plan.text
    assert f"model.load_weights({best})" in plan.text  # all ranks know it
    assert not plan.to_confirm


def test_the_best_of_a_table_is_rank_0s() -> None:
    plan = plan_of(
        loop("board[path] = total", "max(board, key=board.get)", "min(board, key=board.get)", "{}")
    )
    assert "model.load_weights(hvd.broadcast_object(min(board, key=board.get)))" in plan.text


@pytest.mark.parametrize(
    ("put", "taken", "best"),
    [
        ("board.append((epoch, path))", "board.pop(0)[1]", "board[-1][1]"),  # the latest ones
        ("board.append((total, epoch))", '"old"', "path"),  # a history
    ],
)
def test_a_list_that_no_measure_orders_stays(put: str, taken: str, best: str) -> None:
    plan = plan_of(loop(put, taken, best))
    assert put in plan.text
    assert f"model.load_weights({best})" in plan.text


@pytest.mark.parametrize(
    ("made", "put", "taken", "counted", "result"),
    [
        ("[]", "heapq.heappush(board, (epoch, path))", "heapq.heappop(board)[1]", "board", "heapq.heappop(board)"),
        ("collections.deque()", "board.append(path)", "board.popleft()", "board", "board.popleft()"),
        ("queue.Queue()", "board.put(path)", "board.get()", "board.queue", "board.get()"),
        ("queue.PriorityQueue()", "board.put((epoch, path))", "board.get_nowait()[1]", "board.queue", "board.get_nowait()"),
    ],
)  # fmt: skip
def test_all_ranks_take_out_what_rank_0_removes(
    made: str, put: str, taken: str, counted: str, result: str
) -> None:
    text = plan_of(loop(put, taken, "path", made, counted)).text
    assert f"        result = {result}\n        if hvd.rank() == 0:\n            os.remove(result" in text


def test_a_dictionary_that_is_asked_is_not_moved_on() -> None:
    text = plan_of(loop("board[epoch] = path", "board.get(epoch - 2)", "path", "{}")).text
    assert "        result = " not in text


CALLBACK = """\
class Soup(tf.keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.board = []

    def on_epoch_end(self, epoch, logs=None):
        path = f"epoch{epoch}.weights.h5"
        self.model.save_weights(path)
        heapq.heappush(self.board, (-logs["val_loss"], path))
        if len(self.board) > 2:
            os.remove(heapq.heappop(self.board)[1])

    def on_train_end(self, logs=None):
        self.model.load_weights(max(self.board)[1])
model.compile("sgd", "mse")
model.fit(x, y, validation_data=(x, y), callbacks=[Soup()])
"""


def test_the_logs_of_an_epoch_are_averaged_by_fit() -> None:
    text = plan_of(HEAD + CALLBACK).text
    assert "mean_over_ranks" not in text
    assert "load_weights(max(self.board)[1])" in text
    assert "result = heapq.heappop(self.board)" in text


@pytest.mark.parametrize(
    "read",
    [
        "np.load(board[-1])",
        "np.mean([np.load(p) for p in board], axis=0)",
        "sum(map(abs, map(len, [np.load(p) for p in board])))",
    ],
)
def test_files_whose_names_are_kept_in_a_list_are_waited_for(read: str) -> None:
    kept = loop("np.save(path, total); board.append(path)", "board.pop(0)", "path").replace(
        "model.load_weights(path)\n", f"print(1)\nw = {read}\n"
    )
    text = plan_of(kept).text
    assert text.index('name="saved")') < text.index(f"w = {read}")


def test_files_of_another_list_are_not_waited_for() -> None:
    kept = loop("np.save(path, total); board.append(path)", "board.pop(0)", "path").replace(
        "model.load_weights(path)\n", "others = ['a.npy']\nw = np.load(others[0])\n"
    )
    assert 'name="saved")' not in plan_of(kept).text
