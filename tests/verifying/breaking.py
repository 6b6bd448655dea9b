"""Programs that train the same on ranks as alone, and realistic ways to break what `distribute` makes of them.

Each is broken in one way, as people do who distribute by hand: something is left out, done twice, or done at another place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

FIT, TAPE, SESSION, MONITORED = (
    f"examples/{name}" for name in ("keras_fit", "gradient_tape", "session", "monitored_session")
)
CALLBACKS, SCHEDULER, NORMALIZED = (
    f"tests/programs/keras/{name}" for name in ("many_callbacks", "scheduler_callback", "batchnorm_tabs")
)
CHECKPOINTS, ACCUMULATED, ADVERSARIES, SCHEDULE, STOPS, DRAWS, STORED, ALL_ROWS, EVENTS = (
    f"tests/programs/tape/{name}"
    for name in (
        "checkpoint_manager",
        "accumulated_gradients",
        "dcgan",
        "custom_schedule",
        "stop_early",
        "seeded_draws",
        "goes_on_by_stored_step",
        "all_rows",
        "every_so_many_steps",
    )
)
DECAY = "tests/programs/session/decay_global_step"
WRAPS_TAPE = "    tape = hvd.DistributedGradientTape(tape)\n"
WRAPS = (WRAPS_TAPE, "")


@dataclass(frozen=True)
class Broken:
    """A program, broken by replacing texts in its distribution, each of which is there once.

    says    what is found
    unseen  why `verify` can't tell that it is broken; nothing where it can"""

    name: str
    program: str
    replace: tuple[tuple[str, str], ...]
    says: str = ""
    unseen: str = ""

    def text(self, distributed: str) -> str:
        for old, new in self.replace:
            found = distributed.count(old)
            assert found == 1, f"{self.name}: {found} times: {old}"
            distributed = distributed.replace(old, new)
        return distributed


# Of programs that take seconds; trained in continuous integration.
BROKEN = [
    Broken(
        "no broadcast, fit",
        CALLBACKS,
        (("    hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n", ""),),
        says="after step 3",
    ),
    Broken(
        "no broadcast, session",
        DECAY,
        (("    sess.run(hvd.broadcast_global_variables(root_rank=0))\n", ""),),
        says="after step 3",
    ),
    Broken(
        "broadcast before the model is built",
        CHECKPOINTS,
        (
            (
                "    first_batch = True\n",
                "    first_batch = False\n    if net.variables:\n        hvd.broadcast_variables(net.variables, root_rank=0)\n",
            ),
        ),
        says="after step 3",
    ),
    Broken(
        "broadcast before what is initialized",
        DECAY,
        (
            (
                "    sess.run(hvd.broadcast_global_variables(root_rank=0))\n",
                "    sess.run(tf.global_variables_initializer())\n",
            ),
            (
                "    sess.run([tf.global",
                "    sess.run(tf.global_variables_initializer())\n"
                "    sess.run(hvd.broadcast_global_variables(root_rank=0))\n    sess.run([tf.global",
            ),
        ),
        says="after step 3",
    ),
    Broken("tape not wrapped", TAPE, (WRAPS,), says="after step 2"),
    Broken(
        "wrapped tape that is not used",
        TAPE,
        (("    tape = hvd.Dist", "    averaged = hvd.Dist"),),
        says="after step 2",
    ),
    Broken(
        "optimizer wrapped, the tape not",
        TAPE,
        (
            WRAPS,
            (
                "optimizer = tf.keras.optimizers.Adam(0.01 * hvd.size())",
                "optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.Adam(0.01 * hvd.size()))",
            ),
        ),
        says="after step 2",
    ),
    Broken(
        "optimizer not wrapped",
        DECAY,
        (
            (
                "hvd.DistributedOptimizer(tf.train.MomentumOptimizer(rate, momentum=0.9))",
                "tf.train.MomentumOptimizer(rate, momentum=0.9)",
            ),
        ),
        says="differs from rank 0",
    ),
    Broken(
        "wrapped after it is compiled",
        SCHEDULER,
        (
            (
                "hvd.DistributedOptimizer(optimizers.legacy.SGD(lr=0.1 * hvd.size(), momentum=0.9, nesterov=True))",
                "optimizers.legacy.SGD(lr=0.1 * hvd.size(), momentum=0.9, nesterov=True)",
            ),
            ("\nlrate = ", "\nsgd = hvd.DistributedOptimizer(sgd)\nlrate = "),
        ),
        says="differs from rank 0",
    ),
    Broken(
        "sum, not mean, tape",
        DRAWS,
        (("DistributedGradientTape(tape)", "DistributedGradientTape(tape, op=hvd.Sum)"),),
        says="added up, not averaged",
    ),
    Broken(
        "sum, not mean, session",
        DECAY,
        (("momentum=0.9))", "momentum=0.9), op=hvd.Sum)"),),
        says="added up, not averaged",
    ),
    Broken(
        "accumulation not divided",
        ACCUMULATED,
        (("- targets)) / EVERY", "- targets))"),),
        says="another multiple",
    ),
    Broken(
        "accumulates in the optimizer, too",
        FIT,
        (
            (
                "learning_rate=0.003 * hvd.size()))",
                "learning_rate=0.003 * hvd.size()), backward_passes_per_step=2)",
            ),
        ),
        says="without averaging any",
    ),
    Broken(
        "rate not scaled, fit",
        SCHEDULER,
        (("return rate * hvd.size()", "return rate"), ("lr=0.1 * hvd.size()", "lr=0.1")),
        says="as alone, not at 2 times that",
    ),
    Broken(
        "rate scaled twice, tape",
        DRAWS,
        (("0.02 * hvd.size()", "0.02 * hvd.size() * hvd.size()"),),
        says="4 times that alone, not 2",
    ),
    Broken(
        "schedule not divided, session",
        DECAY,
        (("20 / hvd.size()", "20"),),
        says="of a rank the rate is",
    ),
    Broken(
        "schedule divided twice, session",
        DECAY,
        (("20 / hvd.size()", "20 / hvd.size() ** 2"),),
        says="of a rank the rate is",
    ),
    Broken(
        "schedule by epochs that are divided",
        SCHEDULER,
        (("epochs=4", "epochs=4 // hvd.size()"),),
        says="neither as many nor",
    ),
    Broken(
        "rate by a step that a rank counts",
        STORED,
        (("0.98 ** int(checkpoint.step)", "0.98 ** (int(checkpoint.step) // hvd.size())"),),
        says="of a rank the rate is",
    ),
    Broken(
        "steps divided twice",
        DRAWS,
        (("STEPS // hvd.size() + 1", "STEPS // hvd.size() // hvd.size() + 1"),),
        says="neither as many nor",
    ),
    Broken(
        "last step not divided",
        MONITORED,
        (("last_step=200 // hvd.size()", "last_step=200"),),
        says="as many as alone, at 2 times the rate",
    ),
    Broken(
        "a counter that counts a rank's steps",
        STORED,
        (("step.assign_add(hvd.size())", "step.assign_add(1)"),),
        says="as many as alone, at 2 times the rate",
    ),
    Broken(
        "epochs divided as well as rows",
        SESSION,
        (("range(20)", "range(20 // hvd.size())"),),
        says="neither as many nor",
    ),
    Broken(
        "not sharded, fit",
        SCHEDULER,
        (("x[share], y[share]", "x, y"),),
        says="as many as alone, at 2 times the rate",
    ),
    Broken(
        "not sharded, session",
        SESSION,
        (("shard(range(0, len(x_data), 32))", "range(0, len(x_data), 32)"),),
        says="as many as alone, at 2 times the rate",
    ),
    Broken(
        "each rank the first rows",
        FIT,
        (
            (
                "slice(hvd.rank(), len(x) // hvd.size() * hvd.size(), hvd.size())",
                "slice(len(x) // hvd.size())",
            ),
        ),
        says="seen by no rank",
    ),
    Broken(
        "each rank the same draws",
        DRAWS,
        (("RandomState(seed + hvd.rank())", "RandomState(seed)"),),
        says="on the same batches",
    ),
    Broken(
        "arrays shuffled by each rank, then sharded",
        FIT,
        (
            (
                "    share = slice",
                "    order = np.random.permutation(len(x))\n    x, y = x[order], y[order]\n    share = slice",
            ),
        ),
        says="seen by no rank",
    ),
    Broken(
        "unequal shares of all rows",
        ALL_ROWS,
        (
            (
                "    return rows if count % hvd.size() else rows[hvd.rank() :: hvd.size()]",
                "    return rows[:34] if hvd.rank() == 0 else rows[34:]",
            ),
        ),
        says="weights end",
    ),
    Broken(
        "validated on a rank's own rows, not averaged",
        CALLBACKS,
        (
            ("(x_val, y_val),", "(x_val[hvd.rank()::hvd.size()], y_val[hvd.rank()::hvd.size()]),"),
            ("    hvd.callbacks.MetricAverageCallback(),\n", ""),
        ),
        says="looks at val_loss",
    ),
    Broken(
        "statistics of batches drift apart",
        NORMALIZED,
        (("hvd.broadcast_variables(model.non_trainable_variables, root_rank=0)", "pass"),),
        says="statistics that are not averaged",
    ),
    Broken(
        "all ranks log",
        FIT,
        (
            (
                '*([tf.keras.callbacks.CSVLogger("training.csv")] if hvd.rank() == 0 else [])',
                'tf.keras.callbacks.CSVLogger("training.csv")',
            ),
        ),
        says="training.csv is written by ranks 0, 1",
    ),
    Broken(
        "no rank saves",
        TAPE,
        (("if hvd.rank() == 0:\n    model", "if hvd.rank() == hvd.size():\n    model"),),
        says="is not written",
    ),
    Broken(
        "saves half as often",
        CHECKPOINTS,
        (("if int(ckpt.step) % 12 < hvd.size()", "if int(ckpt.step) // hvd.size() % 12 == 0"),),
        says="is written 2 times, alone 4",
    ),
]
