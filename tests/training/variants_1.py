"""Sessions, monitored sessions and estimators of TensorFlow 1, distributed by hand and broken in one way each."""

from __future__ import annotations

from tests.training.variants import Broken

BROKEN_1 = [
    Broken(
        "session without broadcast",
        "session",
        (("    sess.run(init)\n    sess.run(broadcast)\n", "    sess.run(init)\n"),),
        "I4",
        "optimizer 0, before the first step, rank 1: trained",
    ),
    Broken(
        "initialized after the broadcast",
        "session",
        (("    sess.run(broadcast)\n    writer", "    sess.run(broadcast)\n    sess.run(init)\n    writer"),),
        "I4",
        "optimizer 0, before the first step, rank 1: trained",
    ),
    Broken(
        "restored after the broadcast",
        "session",
        (
            ('"saved/model")\n    sess.run(broadcast)\n', '"saved/model")\n'),
            (
                "    if hvd.rank() == 0:\n        saver.restore",
                "    sess.run(broadcast)\n    if hvd.rank() == 0:\n        saver.restore",
            ),
        ),
        "I4 I6",  # the step is restored too, and the rate follows from it
        "optimizer 1, before the first step, rank 1: trained",
    ),
    Broken(
        "training operation wrapped",
        "session",
        (("0.9)).minimize(loss, global_step=step)", "0.9).minimize(loss, global_step=step))"),),
        "I3",
        "",
    ),
    Broken(
        "optimizer of a session not wrapped",
        "session",
        (
            (
                "hvd.DistributedOptimizer(tf.train.MomentumOptimizer(rate, 0.9))",
                "tf.train.MomentumOptimizer(rate, 0.9)",
            ),
        ),
        "I4",
        "after step 1, rank 1: trained",
    ),
    Broken("decay not scaled", "session", (("0.01 * hvd.size()", "0.01"),), "I6", "starts at 0.01"),
    Broken(
        "decay over no steps",
        "session",
        (("10 // hvd.size()", "1 // hvd.size()"),),
        "I6 I10",  # a step divided by none
        "not a number",
    ),
    Broken("decay not compressed", "session", (("10 // hvd.size()", "10"),), "I6", "the schedule gives"),
    Broken(
        "all ranks save",
        "session",
        (("    if hvd.rank() == 0:\n        saver.save", "    if True:\n        saver.save"),),
        "I5",
        "saved/model is written by ranks",
    ),
    Broken(
        "two event files",
        "session",
        ((" if hvd.rank() == 0 else None", ""),),
        "I5",
        "logs is written by ranks",
    ),
    Broken(
        "one rank makes a step fewer",
        "session",
        (("len(rows), hvd.size())", "len(rows), hvd.size())[: -8 if hvd.rank() else None]"),),
        "I3",
        "",
        limit=20,
    ),
    Broken(
        "work of a session not divided",
        "session",
        (
            ("np.arange(hvd.rank(), len(rows), hvd.size())", "np.arange(len(rows))"),
            ("10 // hvd.size()", "10"),
        ),
        "I6 I7",  # the rate follows from the steps
        "examples an epoch over all ranks",
    ),
    Broken(
        "hooks lost",
        "monitored",
        (
            (
                "hooks + [hvd.BroadcastGlobalVariablesHook(0)]",
                "hooks.append(hvd.BroadcastGlobalVariablesHook(0))",
            ),
        ),
        "I3",
        "",
        limit=12,
    ),
    Broken(
        "no hook that broadcasts",
        "monitored",
        (("hooks = hooks + [hvd.BroadcastGlobalVariablesHook(0)]\n", ""),),
        "I4",
        "before the first step, rank 1: trained",
    ),
    Broken("last step not divided", "monitored", (("22 // hvd.size()", "22"),), "I7", "over all ranks"),
    Broken("rate of a session not scaled", "monitored", (("0.01 * hvd.size()", "0.01"),), "I6", "starts at"),
    Broken(
        "estimator without hook",
        "estimator",
        (("hooks=hooks, ", ""),),
        "I4",
        "before the first step, rank 1: trained",
    ),
    Broken(
        "steps of an estimator not divided",
        "estimator",
        (("22 // hvd.size()", "22"),),
        "I7",
        "over all ranks",
    ),
]
