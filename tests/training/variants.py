"""Programs of `broken/` that were distributed by hand, each broken in one way: for the probe to find out.

Those of TensorFlow 1 are in `variants_1`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Broken:
    """One mutation of a program: the texts to replace, and the one invariant that then fails (or two, if one follows from
    the other).

    says   a pattern that a message must match
    limit  seconds until a stall is given up"""

    name: str
    program: str
    replace: tuple[tuple[str, str], ...]
    invariant: str
    says: str
    limit: float = 120


BROKEN = [
    Broken(
        "no broadcast",
        "keras",
        (("    hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n", ""),),
        "I4",
        "after the first step, rank 1: trained",
    ),
    Broken(
        "unscaled rate",
        "keras",
        (("SGD(0.05 * hvd.size())", "SGD(0.05)"), ("0.02) * hvd.size()", "0.02)")),
        "I6",
        "starts at",
    ),
    Broken(
        "rate scaled twice", "keras", (("0.02) * hvd.size()", "0.02) * hvd.size() ** 2"),), "I6", "starts at"
    ),
    Broken(
        "scheduler undoes the scaling later",
        "keras",
        (("(0.05 if epoch < 1 else 0.02) * hvd.size()", "0.05 * hvd.size() if epoch < 1 else 0.02"),),
        "I6",
        r"rates \[0\.1",
    ),
    Broken(
        "two writers",
        "keras",
        (("if hvd.rank() == 0:\n    callbacks", "if True:\n    callbacks"),),
        "I5",
        "losses.csv is written by ranks",
    ),
    Broken(
        "no writer",
        "keras",
        (("if hvd.rank() == 0:\n    callbacks", "if hvd.rank() < 0:\n    callbacks"),),
        "I5",
        "together write",
    ),
    Broken(
        "a file written unseen",
        "keras",
        (("    print(len", "    __import__('os').system('touch unseen.txt')\n    print(len"),),
        "I5",
        "did not see by whom",
    ),
    Broken(
        "early stopping on rank 0",
        "keras",
        (
            (
                '    tf.keras.callbacks.EarlyStopping(monitor="val_loss", min_delta=100, patience=2),\n'
                "]\nif hvd.rank() == 0:\n",
                "]\nif hvd.rank() == 0:\n"
                '    callbacks.append(tf.keras.callbacks.EarlyStopping(monitor="val_loss", min_delta=100, patience=2))\n',
            ),
        ),
        "I3",
        "",
        limit=20,
    ),
    Broken(
        "uneven batches",
        "keras",
        ((".shard(hvd.size(), hvd.rank())", ".skip(hvd.rank() * 176).take(176 if hvd.rank() == 0 else 80)"),),
        "I3",
        "",
        limit=20,
    ),
    Broken(
        "data not divided",
        "keras",
        ((".shard(hvd.size(), hvd.rank())", ""),),
        "I7",
        "512 examples an epoch over all ranks",
    ),
    Broken(
        "the same half for all",
        "keras",
        ((".shard(hvd.size(), hvd.rank())", ".take(256 // hvd.size())"),),
        "I7",
        "128 of 256 examples an epoch are seen by no rank",
    ),
    Broken(
        "all ranks print",
        "keras",
        (
            ('    print(len(history.history["loss"]), "epochs")\n', ""),
            ("if hvd.rank() == 0:\n    model", 'print("done")\nif hvd.rank() == 0:\n    model'),
        ),
        "C6",
        "rank 1 prints",
    ),
    Broken(
        "optimizer not wrapped",
        "keras",
        (
            (
                "hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.05 * hvd.size()))",
                "tf.keras.optimizers.SGD(0.05 * hvd.size())",
            ),
        ),
        "I4",
        "after step 2, rank 1: trained",
    ),
    Broken(
        "tape not wrapped in train_step",
        "train_step",
        (("tape = DistributedGradientTape(tape)", "pass"),),
        "I4",
        "after step 2, rank 1: trained",
    ),
    Broken(
        "optimizer wrapped instead of the tape",
        "train_step",
        (
            ("tape = DistributedGradientTape(tape)", "pass"),
            (
                "tf.keras.optimizers.Adam(0.01 * hvd.size())",
                "hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.01 * hvd.size()))",
            ),
        ),
        "I4",
        "after step 2, rank 1: trained",
    ),
    Broken(
        "tape not wrapped",
        "tape",
        (("    tape = hvd.DistributedGradientTape(tape)\n", ""),),
        "I4",
        "after step 2, rank 1: trained",
    ),
    Broken(
        "broadcast with every step",
        "tape",
        (("    if first:\n", "    if True:\n"),),
        "I4",
        "broadcasts run with",
    ),
    Broken(
        "broadcast never",
        "tape",
        (("first = True\n", "first = False\n"),),
        "I4",
        "after the first step, rank 1: trained",
    ),
    Broken(
        "statistics not broadcast",
        "tape",
        (
            (
                "    hvd.broadcast_variables(model.variables",
                "    hvd.broadcast_variables(model.trainable_variables",
            ),
        ),
        "I4",
        "after the first step, rank 1: others",
    ),
    Broken(
        "statistics drift apart",
        "tape",
        (("hvd.broadcast_variables(model.variables, root_rank=0)\nif", "if"),),
        "I4",
        "at the end, rank 1: others",
    ),
    Broken("schedule not scaled", "tape", (("0.01 * hvd.size()", "0.01"),), "I6", "starts at 0.01"),
    Broken("schedule not compressed", "tape", (("10 // hvd.size()", "10"),), "I6", "the schedule gives"),
    Broken(
        "two summary writers",
        "tape",
        (("if hvd.rank() == 0 else tf.summary.create_noop_writer()", ""),),
        "I5",
        "logs is written by",
    ),
    Broken(
        "gradients summed",
        "plain",
        (("DistributedGradientTape(tape)", "DistributedGradientTape(tape, op=hvd.Sum)"),),
        "I10",
        "differs by",
    ),
    Broken(
        "all rows at a larger rate",
        "strong",
        (("SGD(0.05)", "SGD(0.05 * hvd.size())"),),
        "I6 I10",
        "starts at",
    ),
    Broken(
        "all rows in fewer steps",
        "strong",
        (("in range(STEPS)", "in range(STEPS // hvd.size())"),),
        "I7 I10",
        r"takes \[20\] steps, not \[40\]",
    ),
    Broken(
        "shares of a mean added up",
        "strong",
        (("DistributedGradientTape(tape)", "DistributedGradientTape(tape, op=hvd.Sum)"),),
        "I10",
        "ends elsewhere",
    ),
    Broken(
        "rows that no rank takes",
        "strong",
        (
            (
                "x, y = x[hvd.rank() :: hvd.size()], y[hvd.rank() :: hvd.size()]",
                "x, y = x[hvd.rank() :: 4], y[hvd.rank() :: 4]",
            ),
        ),
        "I10",
        "ends elsewhere",
    ),
]
