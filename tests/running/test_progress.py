"""How far training is, as the bars of rank 0 say it: near misses first, where no bar may be seen."""

from __future__ import annotations

import pytest

from horovodize.running.progress import Bar, Progress, read_bar

# As Keras 2.15, Keras 3.15 and tqdm write them into a file.
KERAS_2 = " 12/100 [==>...........................] - ETA: 3s - loss: 0.6931 - accuracy: 0.5000"
KERAS_3 = "\x1b[1m 12/100\x1b[0m \x1b[32m━━\x1b[0m\x1b[37m━━━━\x1b[0m \x1b[1m3s\x1b[0m 40ms/step - accuracy: 0.5 - loss: 0.6931"
TQDM = " 12%|█▏        | 12/100 [00:01<00:09,  9.85it/s, loss=0.6931]"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "read 12/100 files",
        "2024/05/12 [info] loss: 0.5",
        "loss 12/100",
        "https://host/12/100 [x]",
        "12/1",  # the rest isn't written yet
        f"{KERAS_2}\rdone",
    ],
)
def test_no_bar(text: str) -> None:
    assert read_bar(text) is None


@pytest.mark.parametrize(
    ("text", "bar"),
    [
        (KERAS_2, Bar(12, 100, "0.6931")),
        (KERAS_3, Bar(12, 100, "0.6931")),
        (TQDM, Bar(12, 100, "0.6931")),
        ("  1/100 [....]" + "\b" * 14 + "\r" + KERAS_2, Bar(12, 100, "0.6931")),
        (KERAS_2.replace("loss: 0.6931", "val_loss: 0.6931"), Bar(12, 100)),
        (KERAS_2.replace("0.6931", "1.5000e-04"), Bar(12, 100, "1.5000e-04")),
        (KERAS_2.replace("0.6931", "nan"), Bar(12, 100, "nan")),
        ("     12/Unknown - 3s 8ms/step - loss: 0.6931", Bar(12, 0, "0.6931")),
        (KERAS_2 + "\b" * 80 + "\r", Bar(12, 100, "0.6931")),
    ],
)
def test_bars(text: str, bar: Bar) -> None:
    assert read_bar(text) == bar


def bar(step: int) -> str:
    return f"{step:3d}/100 [=>..] - ETA: 3s - loss: 0.5000"


def test_the_speed_is_said_once_it_can_be_measured() -> None:
    progress = Progress()
    assert progress.part(bar(10), 100.0) == "step 10 of 100 · loss 0.5000"
    assert progress.part(bar(12), 100.5) == "step 12 of 100 · loss 0.5000"
    assert (
        progress.part(bar(30), 102.0) == "step 30 of 100 · loss 0.5000 · 10 steps a second · about 7 s left"
    )


def test_all_of_the_time_left_is_said_only_once_an_epoch_was_measured() -> None:
    progress = Progress()
    progress.line("Epoch 1/3", 0.0)
    progress.part(bar(10), 1.0)
    assert progress.part(bar(20), 2.0).endswith("epoch 1 of 3 · loss 0.5000 · 10 steps a second · "
                                                "about 8 s left in this epoch")  # fmt: skip
    progress.line("100/100 [====] - 10s - loss: 0.4 - val_loss: 0.5", 14.0)
    progress.line("Epoch 2/3", 15.0)
    assert progress.part(bar(5), 15.5) == "step 5 of 100, epoch 2 of 3 · loss 0.5000"
    progress.part(bar(10), 16.0)
    assert progress.part(bar(20), 17.0).endswith(
        "about 23 s left"
    )  # 8 s and an epoch of 15 s, of which validation is a part
    progress.line("Epoch 3/3", 30.0)
    progress.part(bar(10), 31.0)
    assert progress.part(bar(20), 32.0).endswith("about 8 s left")


def test_another_training_is_measured_by_itself() -> None:
    progress = Progress()
    progress.line("Epoch 2/2", 0.0)
    progress.line("Epoch 1/2", 1000.0)
    progress.part(bar(10), 1001.0)
    assert progress.part(bar(20), 1002.0).endswith("left in this epoch")


def test_a_total_that_is_not_known() -> None:
    progress = Progress()
    progress.part("      1/Unknown - 0s - loss: 0.6", 0.0)
    assert progress.part("     21/Unknown - 2s - loss: 0.5", 2.0) == "step 21 · loss 0.5 · 10 steps a second"
