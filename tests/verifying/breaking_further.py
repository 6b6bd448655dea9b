"""Further ways to break distributions, as in `breaking`: of programs that take longer, or much like those. Trained with
HOROVODIZE_TRAIN_ALL=1; what came of all of them is in docs/verify.md."""

from __future__ import annotations

from tests.verifying.breaking import (
    ACCUMULATED,
    ADVERSARIES,
    ALL_ROWS,
    CALLBACKS,
    EVENTS,
    FIT,
    NORMALIZED,
    SCHEDULE,
    STOPS,
    TAPE,
    WRAPS,
    Broken,
)

FURTHER = [
    Broken("no broadcast, tape", TAPE, (("first_batch = True\n", "first_batch = False\n"),)),
    Broken(
        "only one of two models broadcast",
        ADVERSARIES,
        (
            (
                "[*generator.variables, *discriminator.variables], root_rank=0)",
                "generator.variables, root_rank=0)",
            ),
            (
                "hvd.broadcast_variables([*discriminator_optimizer.variables(), discriminator_optimizer.learning_rate], "
                "root_rank=0)\n",
                "pass\n",
            ),
        ),
    ),
    Broken("broadcast with every step", TAPE, (("    if first_batch:  #", "    if True:  #"),)),
    Broken(
        "second tape not wrapped",
        ADVERSARIES,
        (("    disc_tape = hvd.DistributedGradientTape(disc_tape)\n", ""),),
    ),
    Broken(
        "sum, not mean, accumulated",
        ACCUMULATED,
        (("DistributedGradientTape(tape)", "DistributedGradientTape(tape, op=hvd.Sum)"),),
    ),
    Broken(
        "sum, not mean, all rows",
        ALL_ROWS,
        (("DistributedGradientTape(tape)", "DistributedGradientTape(tape, op=hvd.Sum)"),),
    ),
    Broken(
        "mean of a loss that is divided by the ranks, too",
        TAPE,
        (
            (
                "loss = loss_fn(targets, model(inputs, training=True))",
                "loss = loss_fn(targets, model(inputs, training=True)) / hvd.size()",
            ),
        ),
    ),
    Broken(
        "mean of a loss over the rows of all ranks",
        SCHEDULE,
        (
            (
                "loss = tf.reduce_mean(loss_object(targets, logits))",
                "loss = tf.reduce_sum(loss_object(targets, logits)) / (10 * hvd.size() * LENGTH)",
            ),
        ),
    ),
    Broken(
        "accumulates over more batches",
        ACCUMULATED,
        (("if number % EVERY == 0:", "if number % (EVERY * hvd.size()) == 0:"),),
    ),
    Broken(
        "accumulates over fewer batches",
        ACCUMULATED,
        (("if number % EVERY == 0:", "if number % (EVERY // hvd.size()) == 0:"),),
    ),
    Broken(
        "clipped before they are averaged",
        ACCUMULATED,
        (
            WRAPS,
            ("total.assign_add(gradient)", "total.assign_add(hvd.allreduce(gradient))"),
            (
                "    gradients = tape.gradient(loss, model.trainable_variables)\n",
                "    gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), 0.5 / EVERY)\n",
            ),
        ),
    ),
    Broken("rate not scaled, tape", TAPE, (("Adam(0.01 * hvd.size())", "Adam(0.01)"),)),
    Broken("rate scaled twice, fit", FIT, (("0.003 * hvd.size()", "0.003 * hvd.size() ** 2"),)),
    Broken(
        "rate scaled where all see all rows",
        ALL_ROWS,
        (("ExponentialDecay(0.2,", "ExponentialDecay(0.2 * hvd.size(),"),),
    ),
    Broken(
        "second rate not scaled",
        ADVERSARIES,
        (
            (
                "discriminator_optimizer = tf.keras.optimizers.Adam(1e-4 * hvd.size())",
                "discriminator_optimizer = tf.keras.optimizers.Adam(1e-4)",
            ),
        ),
    ),
    Broken(
        "warm-up from the unscaled rate",
        FIT,
        (
            (
                "            hvd.callbacks.MetricAverageCallback(),\n",
                "            hvd.callbacks.MetricAverageCallback(),\n"
                "            hvd.callbacks.LearningRateWarmupCallback(initial_lr=0.003, warmup_epochs=3),\n",
            ),
        ),
    ),
    Broken("schedule not divided, object", SCHEDULE, (("        step = step * hvd.size()\n", ""),)),
    Broken(
        "schedule divided twice, object",
        SCHEDULE,
        (("step = step * hvd.size()\n", "step = step * hvd.size() ** 2\n"),),
    ),
    Broken("steps not divided, tape", TAPE, (("take(STEPS // hvd.size())", "take(STEPS)"),)),
    Broken("steps of epochs not divided", SCHEDULE, (("max(1, STEPS // hvd.size())", "STEPS"),)),
    Broken("fewer steps where all see all rows", ALL_ROWS, (("range(121)", "range(121 // hvd.size())"),)),
    Broken(
        "not sharded, tape",
        STOPS,
        ((".shard(hvd.size(), hvd.rank()).take(len(train_set) // hvd.size())", ""),),
    ),
    Broken("each rank the same shard", TAPE, ((".shard(hvd.size(), hvd.rank())", ".shard(hvd.size(), 0)"),)),
    Broken(
        "rows shuffled by each rank, then sharded",
        STOPS,
        (
            (
                "train_set = train_set.shard(hvd.size(), hvd.rank())",
                "train_set = train_set.shuffle(168).shard(hvd.size(), hvd.rank())",
            ),
            ("train_set = train_set.shuffle(168).batch", "train_set = train_set.batch"),
        ),
    ),
    Broken(
        "features and labels of other rows", ALL_ROWS, (("- share_rows(Y)", "- Y[: len(share_rows(Y))]"),)
    ),
    Broken(
        "sharded after it is batched, unequally often",
        NORMALIZED,
        (
            (
                "model.fit(table[share], price[share], batch_size=32, ",
                "model.fit(tf.data.Dataset.from_tensor_slices((table, price)).batch(32).shard(hvd.size(), hvd.rank()), ",
            ),
        ),
    ),
    Broken("batches divided, rates scaled", TAPE, ((".batch(64)", ".batch(64 // hvd.size())"),)),
    Broken(
        "stops early by a rank's own loss", STOPS, (("mean_over_ranks(np.mean(losses))", "np.mean(losses)"),)
    ),
    Broken(
        "averaged after what decides by it",
        CALLBACKS,
        (
            ("    hvd.callbacks.MetricAverageCallback(),\n", ""),
            (
                "    callbacks=callbacks,\n",
                "    callbacks=[*callbacks, hvd.callbacks.MetricAverageCallback()],\n",
            ),
            ("(x_val, y_val),", "(x_val[hvd.rank()::hvd.size()], y_val[hvd.rank()::hvd.size()]),"),
        ),
    ),
    Broken(
        "averaged on rank 0 only",
        FIT,
        (
            (
                "            hvd.callbacks.MetricAverageCallback(),\n",
                "            *([hvd.callbacks.MetricAverageCallback()] if hvd.rank() == 0 else []),\n",
            ),
        ),
    ),
    Broken(
        "the same noise on all ranks",
        ADVERSARIES,
        (("BUFFER_SIZE = 256", "tf.random.set_seed(1)\nBUFFER_SIZE = 256"),),
        unseen="what operations draw inside a step isn't seen; a seed that all ranks share may be meant",
    ),
    Broken("all ranks save", TAPE, (("if hvd.rank() == 0:\n    model", "if True:\n    model"),)),
    Broken("saves by every step of a rank", EVENTS, (("max(1, SAVE_EVERY // hvd.size())", "SAVE_EVERY"),)),
    Broken(
        "copies weights half as often",
        EVENTS,
        (("seen % max(1, 24 // hvd.size()) == max(1, 24 // hvd.size()) - 1", "seen % 24 == 23"),),
        unseen="only steps and files are counted, not what else a script assigns",
    ),
    Broken(
        "trains the generator half as often",
        EVENTS,
        (("step % CRITIC_STEPS == 0", "step % (CRITIC_STEPS * hvd.size()) == 0"),),
    ),
]
