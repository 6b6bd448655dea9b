"""D1: windows of a series, of which each becomes one row: ranks divide the windows, before they make rows of them."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import tensorflow as tf

def rows(series, size, batch):
    ds = tf.data.Dataset.from_tensor_slices({series})
    ds = ds.window({window})
    ds = ds.flat_map({made})
    return ds.shuffle(100).map({cut}).batch(batch)

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(rows(values, 20, 32), epochs=3)
"""
FULL = "size + 1, shift=1, drop_remainder=True"
CUT = "lambda w: (w[:-1], w[-1])"


@pytest.mark.parametrize(
    ("series", "window", "made", "cut"),
    [
        ("series", FULL, "lambda w: w.batch(size + 1)", CUT),
        ("series", "size, 1, 1, True", "lambda part: part.batch(size, drop_remainder=True)", CUT),
        (
            "(series, series)",
            FULL,
            "lambda a, b: tf.data.Dataset.zip((a.batch(size + 1), b.batch(size + 1)))",
            "lambda a, b: (a[:-1], b[-1])",
        ),
    ],
)
def test_windows_are_divided_before_rows_are_made_of_them(
    series: str, window: str, made: str, cut: str
) -> None:
    text = plan_of(PROGRAM.format(series=series, window=window, made=made, cut=cut)).text
    share = ".repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(ds) // hvd.size()))\n"
    assert f"ds = ds.window({window})\n    ds = ds{share}" in text or f"share(ds.window({window}))" in text
    assert "def shard_stream" not in text


@pytest.mark.parametrize(
    ("window", "made"),
    [
        ("size + 1, shift=1", "lambda w: w.batch(size + 1)"),  # the last ones have fewer
        ("size + 1, shift=1, drop_remainder=full", "lambda w: w.batch(size + 1)"),
        (FULL, "lambda w: w.batch(size)"),  # a row and a rest of each
        (FULL, "lambda w: w.batch(batch)"),
        (FULL, "lambda w: w"),
        (FULL, "lambda w: tf.data.Dataset.zip((w.batch(size + 1), ds.batch(size + 1)))"),
    ],
)
def test_windows_of_which_more_or_less_may_come_are_not(window: str, made: str) -> None:
    text = plan_of(PROGRAM.format(series="series", window=window, made=made, cut=CUT)).text
    assert f"ds = ds.window({window})\n" in text
