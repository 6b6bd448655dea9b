"""Small scripts in which ranks wait forever, touch one file at once or drift apart, each beside one in which they don't."""

from __future__ import annotations

START = """\
import os
import sys
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
"""
STEP = (
    START
    + """\
x = np.random.RandomState(0).rand(64, 4).astype("float32")[hvd.rank()::hvd.size()]
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())


def step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


"""
)
SKIPS = """\
for i in range(9):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x[4 * i:]) ** 2)
    if not tf.math.is_finite({}):
        continue
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
EARLY = (
    STEP
    + """\
class Early:
    def __init__(self, patience):
        self.patience, self.best, self.wait = patience, None, 0

    def __call__(self, value):
        if self.best is None or value < self.best:
            self.best, self.wait = value, 0
            return False
        self.wait += 1
        return self.wait >= self.patience


early = Early(3)
hvd.broadcast_variables(model.variables, root_rank=0)
for epoch in range(9):
"""
)
HELD = (
    STEP
    + """\
class Slower:
    def __init__(self):
        self.optimizer, self.settings = optimizer, read_settings()

    def slow(self):
"""
)
RUN = """

slower = Slower()
hvd.broadcast_variables(model.variables, root_rank=0)
for epoch in range(9):
    if float(step(x)) > 3.0:
        slower.slow()
"""
GRAPH = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size())).minimize(loss)
send, saver = hvd.broadcast_global_variables(0), tf.train.Saver()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
"""
TRAINS = "    for rows in read(hvd.rank()):\n        session.run(train, {x: rows})\n"
MINE = """\
def batches():
    rows = np.load("rows.npy")[hvd.rank()::hvd.size()]
    for i in range(0, 1000, 10):
        yield rows[i:i + 10]


"""
DATA = """\
class Data:
    def __init__(self, path):
        self.rows = np.load(path)[hvd.rank()::hvd.size()]

    def __iter__(self):
        for i in range(100):
            yield self.rows[i:i + 10]


"""
OWN_LOSS = """\
    for batch in {}:
        value, _ = session.run([{}, train], feed_dict={{x: batch}})
        if value < 0.1:
            break
"""
SESSION = GRAPH.replace(
    "send,", "mean, count = hvd.allreduce(loss), tf.assign_add(tf.Variable(0.0), 1.0)\nsend,"
)
SESSION += "    session.run(send)\n"
HOOKED = (
    GRAPH.split("with tf.Session", maxsplit=1)[0]
    + """\
hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=20000 // hvd.size())]
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    if read():
{}    while not session.should_stop():
        session.run(train, {{x: read()}})
"""
)
FIT = (
    START.replace("horovod.tensorflow", "horovod.tensorflow.keras")
    + """\
x = np.random.RandomState(0).rand(64, 4).astype("float32")[: 64 // hvd.size() * hvd.size()][hvd.rank()::hvd.size()]
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")


class Own(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        DO


callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback(), Own()]
model.fit(x, x, callbacks=callbacks)
"""
)


def _hook(does: str, averages: bool = True) -> str:
    text = FIT.replace("DO", does.replace("\n", "\n        "))
    return text if averages else text.replace("hvd.callbacks.MetricAverageCallback(), ", "")


_STOPS = 'if logs["loss"] < 0.1:\n    self.model.stop_training = True'
_LOWERS = "if logs.get('loss') > 3:\n    self.model.optimizer.learning_rate.assign(0.001)"
_SAVES = "self.model.save_weights({})"
SENT = "hvd.broadcast_variables(model.variables, root_rank=0)\n"

# By name: the code that tells it, the script that goes wrong, and the one that doesn't.
CASES: dict[str, tuple[str, str, str]] = {
    "stall_callback_stops": ("HVD331", _hook(_STOPS, averages=False), _hook(_STOPS)),
    "stall_callback_stops_rank": (
        "HVD331",
        _hook("if hvd.rank() == 0 and epoch > 3:\n    self.model.stop_training = True"),
        _hook("if epoch > 3:\n    self.model.stop_training = True"),
    ),
    "stall_lambda_callback": (
        "HVD331",
        _hook("pass").replace(
            "Own()]",
            "tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: sys.exit() if hvd.rank() else None)]",
        ),
        _hook("pass").replace(
            "Own()]",
            "tf.keras.callbacks.LambdaCallback(on_train_end=lambda logs: sys.exit() if hvd.rank() else None)]",
        ),
    ),
    "stall_division_by_own_rows": (
        "HVD331",
        START
        + """\
mine = np.load("rows.npy")[hvd.rank()::hvd.size()]
for row in mine[:10]:
    try:
        weight = 1 / float(row)
    except ZeroDivisionError:
        continue
    hvd.allreduce(tf.constant(weight))
""",
        START
        + """\
mine = np.load("rows.npy")[hvd.rank()::hvd.size()]
for row in mine[:10]:
    try:
        weight = 1 / float(row)
    except ZeroDivisionError:
        weight = 0.0
    hvd.allreduce(tf.constant(weight))
""",
    ),
    "stall_own_function_raises": (
        "HVD331",
        START
        + """\
def checked(row):
    if row < 0:
        raise ValueError(row)
    return row


for row in np.load("rows.npy")[hvd.rank()::hvd.size()][:10]:
    try:
        hvd.allreduce(tf.constant(checked(row)))
    except ValueError:
        pass
""",
        START
        + """\
def checked(row):
    if row < 0:
        raise ValueError(row)
    return row


for row in np.load("rows.npy")[:10]:
    try:
        hvd.allreduce(tf.constant(checked(row)))
    except ValueError:
        pass
""",
    ),
    "stall_process_set": (
        "HVD331",
        START
        + """\
pair = hvd.add_process_set([0, 1])
if hvd.rank() == 0:
    hvd.allreduce(tf.ones(3), process_set=pair)
""",
        START
        + """\
pair = hvd.add_process_set([0, 1])
if hvd.rank() in (0, 1):
    hvd.allreduce(tf.ones(3), process_set=pair)
hvd.allreduce(tf.ones(3))
""",
    ),
    "stall_process_sets_crossed": (
        "HVD331",
        START
        + """\
first, both = hvd.add_process_set([0]), hvd.add_process_set([0, 1])
if hvd.rank() == 0:
    hvd.allreduce(tf.ones(3), process_set=first)
    hvd.allreduce(tf.ones(3), process_set=both)
    hvd.allreduce(tf.ones(3))
elif hvd.rank() == 1:
    hvd.allreduce(tf.ones(3))
    hvd.allreduce(tf.ones(3), process_set=both)
else:
    hvd.allreduce(tf.ones(3))
""",
        START
        + """\
first, both = hvd.add_process_set([0]), hvd.add_process_set([0, 1])
if hvd.rank() == 0:
    hvd.allreduce(tf.ones(3), process_set=first)
    hvd.allreduce(tf.ones(3), process_set=both)
    hvd.allreduce(tf.ones(3))
elif hvd.rank() == 1:
    hvd.allreduce(tf.ones(3), process_set=both)
    hvd.allreduce(tf.ones(3))
else:
    hvd.allreduce(tf.ones(3))
""",
    ),
    "race_callback_saves": (
        "HVD332",
        _hook(_SAVES.format('"w.h5"')),
        _hook(_SAVES.format('f"{hvd.rank()}.h5"')),
    ),
    "race_callback_saves_some": (
        "HVD332",
        _hook(_SAVES.format('"w.h5"')),
        _hook(_SAVES.format('"w.h5"')).replace("Own()]", "*([Own()] if hvd.rank() == 0 else [])]"),
    ),
    "drift_callback_lowers": ("HVD333", _hook(_LOWERS, averages=False), _hook(_LOWERS)),
    "drift_callback_lowers_batch": (
        "HVD333",
        _hook(_LOWERS).replace("on_epoch_end", "on_train_batch_end"),
        _hook(_LOWERS.replace("logs.get('loss')", "hvd.allreduce(logs['loss'])")).replace(
            "on_epoch_end", "on_train_batch_end"
        ),
    ),
    "stall_exit_rank": (
        "HVD313",
        STEP
        + SENT
        + """\
if hvd.rank() == 0:
    sys.exit(0)
step(x)
""",
        STEP
        + SENT
        + """\
step(x)
if hvd.rank() == 0:
    sys.exit(0)
""",
    ),
    "stall_loop_rank": (
        "HVD331",
        STEP
        + SENT
        + """\
for i in range(10 - hvd.rank()):
    step(x)
""",
        STEP
        + SENT
        + """\
for i in range(10):
    step(x)
""",
    ),
    "stall_data_break": (
        "HVD331",
        STEP
        + SENT
        + """\
for i in range(100):
    loss = step(x)
    if float(loss) < 0.1:
        break
""",
        STEP
        + SENT
        + """\
for i in range(100):
    loss = hvd.allreduce(step(x))
    if float(loss) < 0.1:
        break
""",
    ),
    "stall_skip_rows": (
        "HVD331",
        STEP
        + SENT
        + """\
for i in range(10):
    rows = x[i:i + 4]
    if rows.max() > 0.9:
        continue
    step(rows)
""",
        STEP
        + SENT
        + """\
for i in range(10):
    rows = x[i:i + 4]
    if i % 2:
        continue
    step(rows)
""",
    ),
    "stall_order": (
        "HVD331",
        START
        + """\
a = tf.ones(3)
if hvd.rank() == 0:
    hvd.broadcast(a, 0)
    hvd.allreduce(a)
else:
    hvd.allreduce(a)
    hvd.broadcast(a, 0)
""",
        START
        + """\
a = tf.ones(3)
if hvd.rank() == 0:
    hvd.broadcast(a, 0)
    hvd.allreduce(a)
else:
    hvd.broadcast(a, 0)
    hvd.allreduce(a)
""",
    ),
    "stall_try": (
        "HVD331",
        START
        + """\
try:
    n = int(open(f"part-{hvd.rank()}.txt").read())
    total = hvd.allreduce(tf.constant(n))
except OSError:
    total = None
""",
        START
        + """\
try:
    n = int(open(f"part-{hvd.rank()}.txt").read())
except OSError:
    n = 0
total = hvd.allreduce(tf.constant(n))
""",
    ),
    "stall_file_exists": (
        "HVD332",
        START
        + """\
if hvd.rank() == 0:
    open("best.txt", "w").write("1")
if os.path.exists("best.txt"):
    hvd.broadcast_object(1, root_rank=0)
""",
        START
        + """\
if hvd.rank() == 0:
    open("best.txt", "w").write("1")
if hvd.broadcast_object(os.path.exists("best.txt"), root_rank=0):
    hvd.broadcast_object(1, root_rank=0)
""",
    ),
    "stall_local_rank": (
        "HVD313",
        STEP
        + SENT
        + """\
if hvd.local_rank() == 0:
    hvd.allreduce(tf.ones(1))
""",
        STEP
        + SENT
        + """\
hvd.allreduce(tf.ones(1))
""",
    ),
    "stall_rank0_eval": (
        "HVD313",
        STEP
        + SENT
        + """\
step(x)
if hvd.rank() == 0:
    step(x)
""",
        STEP
        + SENT
        + """\
step(x)
if hvd.rank() == 0:
    print(model(x))
""",
    ),
    "stall_random": (
        "HVD331",
        START
        + """\
import random
if random.random() < 0.5:
    hvd.allreduce(tf.ones(2))
""",
        START
        + """\
import random
random.seed(1)
if random.random() < 0.5:
    hvd.allreduce(tf.ones(2))
""",
    ),
    "race_np_save": (
        "HVD314",
        START
        + """\
np.save("out.npy", np.ones(3))
""",
        START
        + """\
if hvd.rank() == 0:
    np.save("out.npy", np.ones(3))
""",
    ),
    "race_open_w": (
        "HVD314",
        START
        + """\
with open("log.txt", "w") as f:
    f.write(str(hvd.rank()))
""",
        START
        + """\
with open(f"log-{hvd.rank()}.txt", "w") as f:
    f.write("x")
""",
    ),
    "race_read_after_write": (
        "HVD332",
        START
        + """\
if hvd.rank() == 0:
    np.save("rows.npy", np.ones(3))
rows = np.load("rows.npy")
""",
        START
        + """\
if hvd.rank() == 0:
    np.save("rows.npy", np.ones(3))
hvd.allreduce(tf.ones(1))
rows = np.load("rows.npy")
""",
    ),
    "race_mkdir": (
        "HVD332",
        START
        + """\
if not os.path.exists("out"):
    os.makedirs("out")
""",
        START
        + """\
os.makedirs("out", exist_ok=True)
""",
    ),
    "race_mkdir_used": (
        "HVD332",
        START
        + """\
if hvd.rank() == 0:
    os.makedirs("out", exist_ok=True)
open(f"out/{hvd.rank()}.txt", "w").write("x")
""",
        START
        + """\
if hvd.rank() == 0:
    os.makedirs("out", exist_ok=True)
hvd.allreduce(tf.ones(1))
open(f"out/{hvd.rank()}.txt", "w").write("x")
""",
    ),
    "race_removed_by_all": (
        "HVD332",
        START
        + """\
import shutil
if os.path.exists("logs"):
    shutil.rmtree("logs")
""",
        START
        + """\
import shutil
if os.path.exists("logs"):
    try:
        shutil.rmtree("logs")
    except FileNotFoundError:
        pass
shutil.rmtree("other", ignore_errors=True)
if hvd.local_rank() == 0 and os.path.exists("third"):
    shutil.rmtree("third")
""",
    ),
    "stall_chosen_by_rank": (
        "HVD331",
        START
        + """\
verbose = 1 if hvd.rank() == 0 else 0
if verbose:
    print(hvd.allreduce(tf.ones(1)))
""",
        START
        + """\
verbose = 1 if hvd.size() > 1 else 0
if verbose:
    print(hvd.allreduce(tf.ones(1)))
loud = 1 if hvd.rank() == 0 else 0
if loud:
    print("here")
""",
    ),
    "race_rmtree": (
        "HVD332",
        START
        + """\
import shutil
shutil.rmtree("logs", ignore_errors=True)
if hvd.rank() == 0:
    os.makedirs("logs")
""",
        START
        + """\
import shutil
if hvd.rank() == 0:
    shutil.rmtree("logs", ignore_errors=True)
    os.makedirs("logs")
""",
    ),
    "race_download": (
        "HVD332",
        START
        + """\
p = tf.keras.utils.get_file("d.npz", "https://example.org/d.npz")
""",
        START
        + """\
if hvd.local_rank() == 0:
    tf.keras.utils.get_file("d.npz", "https://example.org/d.npz")
hvd.allreduce(tf.ones(1))
p = tf.keras.utils.get_file("d.npz", "https://example.org/d.npz")
""",
    ),
    "race_ckpt_read": (
        "HVD332",
        STEP
        + SENT
        + """\
step(x)
if hvd.rank() == 0:
    model.save_weights("w.h5")
model.load_weights("w.h5")
""",
        STEP
        + SENT
        + """\
step(x)
if hvd.rank() == 0:
    model.save_weights("w.h5")
hvd.allreduce(tf.ones(1))
model.load_weights("w.h5")
""",
    ),
    "div_load_rank0": (
        "HVD333",
        STEP
        + SENT
        + """\
if hvd.rank() == 0:
    model.load_weights("w.h5")
step(x)
""",
        STEP
        + """\
if hvd.rank() == 0:
    model.load_weights("w.h5")
hvd.broadcast_variables(model.variables, root_rank=0)
step(x)
""",
    ),
    "div_start_epoch": (
        "HVD331",
        STEP
        + SENT
        + """\
start = 0
if hvd.rank() == 0:
    start = int(open("epoch.txt").read())
for e in range(start, 9):
    step(x)
""",
        STEP
        + SENT
        + """\
start = 0
if hvd.rank() == 0:
    start = int(open("epoch.txt").read())
start = hvd.broadcast_object(start, 0)
for e in range(start, 9):
    step(x)
""",
    ),
    "div_rate_by_loss": (
        "HVD333",
        STEP
        + SENT
        + """\
best = 9.0
for e in range(9):
    loss = float(step(x))
    if loss > best:
        optimizer.learning_rate.assign(optimizer.learning_rate / 2)
    best = min(best, loss)
""",
        STEP
        + SENT
        + """\
best = 9.0
for e in range(9):
    loss = float(hvd.allreduce(step(x)))
    if loss > best:
        optimizer.learning_rate.assign(optimizer.learning_rate / 2)
    best = min(best, loss)
""",
    ),
    "div_rank0_assign": (
        "HVD333",
        STEP
        + SENT
        + """\
if hvd.rank() == 0:
    model.layers[0].bias.assign([1.0])
step(x)
""",
        STEP
        + """\
if hvd.rank() == 0:
    model.layers[0].bias.assign([1.0])
hvd.broadcast_variables(model.variables, root_rank=0)
step(x)
""",
    ),
    "div_random_layers": (
        "HVD333",
        START
        + """\
import random
n = random.choice([16, 32])
model = tf.keras.Sequential([tf.keras.layers.Dense(n, input_shape=(4,))])
hvd.broadcast_variables(model.variables, root_rank=0)
""",
        START
        + """\
import random
n = hvd.broadcast_object(random.choice([16, 32]), root_rank=0)
model = tf.keras.Sequential([tf.keras.layers.Dense(n, input_shape=(4,))])
hvd.broadcast_variables(model.variables, root_rank=0)
""",
    ),
    "stall_skip_bad_rows": (
        "HVD331",
        STEP
        + SENT
        + """\
for batch in tf.data.Dataset.from_tensor_slices(x).batch(4):
    if tf.reduce_any(tf.math.is_nan(batch)):
        continue
    step(batch)
""",
        STEP
        + SENT
        + """\
for batch in tf.data.Dataset.from_tensor_slices(x).batch(4):
    if tf.math.is_nan(hvd.allreduce(step(batch))):
        break
""",
    ),
    # A bad row of one rank: its loss is NaN one step before those of the others.
    "stall_session_of_a_generator": (
        "HVD331",
        "import numpy as np\n" + MINE + SESSION + OWN_LOSS.format("batches()", "loss"),
        "import numpy as np\n" + MINE + SESSION + OWN_LOSS.format("batches()", "mean"),
    ),
    "stall_session_of_an_object": (
        "HVD331",
        "import numpy as np\n" + DATA + SESSION + OWN_LOSS.format('Data("rows.npy")', "loss"),
        "import numpy as np\n" + DATA + SESSION + OWN_LOSS.format('Data("rows.npy")', "count"),
    ),
    "race_mkdir_of_a_path": (
        "HVD332",
        START
        + 'import pathlib\nout = pathlib.Path("run") / "logs"\nif not out.exists():\n    out.mkdir(parents=True)\n',
        START
        + 'import pathlib\nout = pathlib.Path("run") / "logs"\nif not out.exists():\n    out.mkdir(exist_ok=True)\n',
    ),
    "stall_own_folder": (
        "HVD331",
        STEP + SENT + 'for name in os.listdir(f"rows/{hvd.rank()}"):\n    step(np.load(name))\n',
        STEP + SENT + 'for name in os.listdir("rows"):\n    step(np.load(name)[hvd.rank()::hvd.size()])\n',
    ),
    # Ranks wait where the gradients are asked for, not where the tape is wrapped.
    "stall_between_tape_and_gradients": (
        "HVD331",
        STEP.replace("    optimizer", "    if tf.math.is_nan(loss):\n        return loss\n    optimizer")
        + SENT
        + "step(x)\n",
        STEP.replace("    optimizer", "    if len(model.layers) > 3:\n        return loss\n    optimizer")
        + SENT
        + "step(x)\n",
    ),
    "drift_a_layer_is_set": (
        "HVD333",
        STEP + SENT + "if hvd.rank() == 0:\n    model.layers[-1].set_weights(read())\nstep(x)\n",
        STEP + "if hvd.rank() == 0:\n    model.layers[-1].set_weights(read())\n" + SENT + "step(x)\n",
    ),
    # A saver is given the session, and fetches nothing of what that has for hooks.
    "drift_restored_in_a_session_with_hooks": (
        "HVD333",
        HOOKED.format("        if hvd.rank() == 0:\n            saver.restore(session, 'run/model')\n"),
        HOOKED.format("        saver.restore(session, 'run/model')\n"),
    ),
    "stall_left_by_nan": (
        "HVD331",
        STEP + SENT + "for i in range(9):\n    loss = step(x)\n    if np.isnan(loss):\n        break\n",
        STEP
        + SENT
        + "for i in range(9):\n    loss = step(x)\n    if np.isnan(loss):\n        raise ValueError(i)\n",
    ),
    "stall_skipped_by_nan": (
        "HVD331",
        STEP + SENT + SKIPS.format("loss"),
        STEP + SENT + SKIPS.format("hvd.allreduce(loss)"),
    ),
    "stall_own_file": (
        "HVD331",
        STEP
        + SENT
        + """\
if not os.path.exists(f"rows-{hvd.rank()}.npy"):
    raise SystemExit
step(x)
""",
        STEP
        + SENT
        + """\
if not os.path.exists(f"rows-{hvd.rank()}.npy"):
    raise SystemExit("rows are missing")
step(x)
""",
    ),
    "stall_early_stopping": (
        "HVD331",
        STEP
        + SENT
        + """\
best, worse = 1e9, 0
for epoch in range(9):
    total = 0.0
    for _ in range(4):
        total += float(step(x))
    if total < best:
        best, worse = total, 0
    else:
        worse += 1
    if worse > 2:
        break
""",
        STEP
        + SENT
        + """\
best, worse = 1e9, 0
for epoch in range(9):
    total = 0.0
    for _ in range(4):
        total += float(step(x))
    total = float(hvd.allreduce(tf.constant(total)))
    if total < best:
        best, worse = total, 0
    else:
        worse += 1
    if worse > 2:
        break
""",
    ),
    "stall_early_stopping_object": (
        "HVD331",
        EARLY + "    if early(float(step(x))):\n        break\n",
        EARLY + "    if early(float(hvd.allreduce(step(x)))):\n        break\n",
    ),
    "drift_rate_of_sums": (
        "HVD333",
        STEP
        + SENT
        + """\
total = 0.0
for epoch in range(9):
    total += float(step(x))
    if total > 3.0:
        optimizer.learning_rate = 0.001
""",
        STEP
        + SENT
        + """\
total = 0
for epoch in range(9):
    step(x)
    total += 1
    if total > 3:
        optimizer.learning_rate = 0.001
""",
    ),
    "drift_rate_of_an_object": (
        "HVD333",
        HELD + "        self.optimizer.learning_rate.assign(0.001)\n" + RUN,
        HELD + "        self.settings.learning_rate = 0.001\n" + RUN,
    ),
    "drift_restored_graph": (
        "HVD333",
        GRAPH
        + "    session.run(send)\n    if hvd.rank() == 0:\n        saver.restore(session, 'run/model')\n"
        + TRAINS,
        GRAPH
        + "    if hvd.rank() == 0:\n        saver.restore(session, 'run/model')\n    session.run(send)\n"
        + TRAINS,
    ),
    "drift_drawn_optimizer": (
        "HVD333",
        STEP.replace(
            "def step",
            "if np.random.rand() < 0.5:\n    optimizer = tf.keras.optimizers.SGD(0.1)\n\n\ndef step",
        )
        + SENT
        + "step(x)\n",
        STEP.replace(
            "def step", "if 'SLOW' in os.environ:\n    optimizer = tf.keras.optimizers.SGD(0.1)\n\n\ndef step"
        )
        + SENT
        + "step(x)\n",
    ),
    "drift_restored_by_one": (
        "HVD333",
        STEP
        + SENT
        + """\
if hvd.rank() == 0:
    tf.train.Checkpoint(model=model).restore("run/ckpt-1")
step(x)
""",
        STEP
        + """\
if hvd.rank() == 0:
    tf.train.Checkpoint(model=model).restore("run/ckpt-1")
"""
        + SENT
        + "step(x)\n",
    ),
}
