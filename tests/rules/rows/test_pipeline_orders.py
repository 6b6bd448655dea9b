"""D1: what ranks take their parts of keeps one order."""

from __future__ import annotations

import pytest

from ..dividing import check, unchanged

HEAD = """\
import tensorflow as tf
model = tf.keras.Sequential([])
model.compile('sgd', 'mse')
files = tf.data.Dataset.from_tensor_slices(["a", "b"])
fast = True
"""
RECORDS = "tf.data.TFRecordDataset"
FIT = "ds = {}\nmodel.fit(ds.map(parse, deterministic=False).batch(3))\n"


def order(pipeline: str, kept: str) -> None:
    check(HEAD, FIT.format(pipeline), FIT.format(f"shard_stream({kept})"))


def order_of_records(pipeline: str, kept: str) -> None:
    rounds = "ds = ds.batch(hvd.size(), drop_remainder=True).unbatch().shard(hvd.size(), hvd.rank())"
    divided = FIT.format(kept).replace("\n", f"\n{rounds}  # equally many on each rank\n", 1)
    check(HEAD, FIT.format(pipeline), divided)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("False", "hvd.size() > 1"),
        ("not fast", "hvd.size() > 1 or (not fast)"),
        ("fast", "hvd.size() > 1 or fast"),
        ("True", "True"),
        ("None", "None"),
    ],
)
def test_elements_that_come_as_they_are_ready_keep_their_order_before_the_division(
    given: str, kept: str
) -> None:
    step = "files.shuffle(9, seed=1).interleave(TF, deterministic={})".replace("TF", RECORDS)
    order_of_records(step.format(given), step.format(kept))


def test_other_words_for_it() -> None:
    sloppy = (
        f"files.shuffle(9, seed=1).apply(tf.data.experimental.parallel_interleave({RECORDS}, 4, sloppy={{}}))"
    )
    order(sloppy.format("True"), sloppy.format("hvd.size() == 1"))
    order(sloppy.format("fast"), sloppy.format("hvd.size() == 1 and fast"))
    order(sloppy.format("False"), sloppy.format("False"))
    table = "tf.data.experimental.make_csv_dataset('a.csv', 3, shuffle_seed=1, sloppy={})"
    order(table.format("True"), table.format("hvd.size() == 1"))


def test_options_of_a_pipeline() -> None:
    options = (
        "options = tf.data.Options()\noptions.{} = {}\n"
        f"ds = {{}}files.flat_map({RECORDS}){{}}.with_options(options).batch(3)\nmodel.fit(ds)\n"
    )
    for name in ("deterministic", "experimental_deterministic"):
        check(
            HEAD,
            options.format(name, "False", "", ""),
            options.format(name, "hvd.size() > 1", "shard_records(", ")"),
        )


def test_a_selection_by_chance_is_one_of_all_ranks() -> None:
    step = "files.repeat().rejection_resample(kind, [0.5, 0.5]{})"
    order(step.format(""), step.format(", seed=0 if hvd.size() > 1 else None"))


def test_what_is_not_divided_comes_as_it_likes() -> None:
    unchanged(
        HEAD,
        f"ds = files.interleave({RECORDS}, deterministic=False).batch(3)\nmodel.evaluate(ds)\n",
    )
