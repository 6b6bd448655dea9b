"""C6: the ranks wait for rank 0 before they read what it wrote."""

from __future__ import annotations

import textwrap

import pytest

from horovodize.rules.output import root_rank

from ..guarding import HEAD, Guarded, apply, check
from ..pairs import TF, plan_of

RULES = (root_rank.RULE,)
WAIT = 'hvd.broadcast(0, root_rank=0, name="saved")  # wait until rank 0 has written it'


def turns(before: str, after: str) -> Guarded:
    return check(RULES, before, after)


def test_the_ranks_wait_before_they_read_what_rank_0_wrote() -> None:
    turns(
        """
        model.load_weights("m.h5")
        model.save_weights("m.h5")
        if os.path.exists("m.h5"):
            model.load_weights("m.h5")
        """,
        f"""
        model.load_weights("m.h5")
        if hvd.rank() == 0:
            model.save_weights("m.h5")
        {WAIT.replace(chr(10), chr(10) + " " * 8)}
        if os.path.exists("m.h5"):
            model.load_weights("m.h5")
        """,
    )


def test_a_checkpoint_callback_writes_while_fit_runs() -> None:
    turns(
        """
        model.fit(x, callbacks=[tf.keras.callbacks.ModelCheckpoint("best-{epoch}.h5")])
        def test():
            return tf.keras.models.load_model("best-3.h5")
        test()
        """,
        f"""
        model.fit(x, callbacks=[tf.keras.callbacks.ModelCheckpoint("best-{{epoch}}.h5")])
        def test():
            return tf.keras.models.load_model("best-3.h5")
        {WAIT.replace(chr(10), chr(10) + " " * 8)}
        test()
        """,
    )


def test_a_log_that_keras_writes_is_waited_for_where_all_read_it() -> None:
    fit = 'log = tf.keras.callbacks.CSVLogger("log.csv")\nmodel.fit(x, callbacks=[log])\n'
    read = 'rows = np.loadtxt("{}.csv")\nmodel.fit(rows)\n'
    turns(fit + read.format("log"), f"{fit}{WAIT}\n{read.format('log')}")
    turns(fit + read.format("rows"), fit + read.format("rows"))


def test_what_only_rank_0_shows_of_a_file_it_alone_reads() -> None:
    fit = 'log = tf.keras.callbacks.CSVLogger("log.csv")\nmodel.fit(x, callbacks=[log])\n'
    shown = 'print("last", open("log.csv").read().split()[-1])\n'
    turns(fit + shown, f"{fit}if hvd.rank() == 0:\n    {shown}")
    kept = 'f = open("log.csv")\n'  # a later line of it may be read by all ranks
    lifted = 'result = f.readline()\nif hvd.rank() == 0:\n    print("first", result)\n'
    turns(f'{fit}{kept}print("first", f.readline())\n', f"{fit}{WAIT}\n{kept}{lifted}")


def test_what_all_ranks_run_of_what_rank_0_shows_is_waited_for() -> None:
    """`load_model` is taken out of what is printed: the other ranks found no file."""
    turns(
        "model.save('m.h5')\nprint(tf.keras.models.load_model('m.h5').name)\n",
        f"if hvd.rank() == 0:\n    model.save('m.h5')\n{WAIT}\nresult = tf.keras.models.load_model('m.h5')\n"
        "if hvd.rank() == 0:\n    print(result.name)\n",
    )


def test_no_wait_goes_by_a_test_that_becomes_another() -> None:
    """Ranks waited by the count of one process, and not where the file is written."""
    source = """
        import numpy as np
        import tensorflow as tf
        def keep(path, x):
            np.save(path, x)
        def kept(path):
            return np.load(path)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        opt = tf.keras.optimizers.SGD(0.1)
        for step in range(1000):
            k = np.random.choice(900, 8)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(rows[k]) ** 2)
            opt.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables))
            if step % 100 == 0:
                keep('a.npy', loss)
            for i in range(2):
                keep('b.npy', loss)
                a = kept('b.npy')
        """
    text = plan_of(textwrap.dedent(source)).text
    assert "step % 100" not in text
    assert "keep('b.npy', loss)\n        hvd.broadcast(0, root_rank=0, name='saved')\n" in text


def test_a_manager_tells_the_others_what_it_has_saved() -> None:
    head = "ckpt = tf.train.Checkpoint()\nmanager = tf.train.CheckpointManager(ckpt, 'c', 3)\n"
    first = f"{head}ckpt.restore(manager.latest_checkpoint)\nfor i in range(3):\n    epoch(i)\n    "
    turns(
        f"{first}manager.save()\nckpt.restore(manager.latest_checkpoint)\n",
        f"{first}if hvd.rank() == 0:\n        manager.save()\n"
        "ckpt.restore(hvd.broadcast_object(manager.latest_checkpoint))\n",
    )


@pytest.mark.parametrize(
    "program",
    [
        "model.load_weights('pretrained.h5')\nmodel.save_weights('m.h5')\n",
        "if train:\n    model.save_weights('m.h5')\nelse:\n    model.load_weights('m.h5')\n",
        "model.save_weights('m.h5')\nmodel.load_weights('pretrained.h5')\n",
        "np.save('a.npy', x)\ny = np.load('b.npy')\n",
    ],
)
def test_no_wait_for_other_files_or_none_written_before(program: str) -> None:
    assert "broadcast" not in apply(HEAD + program, *RULES).text


def test_no_wait_where_not_every_rank_comes() -> None:
    result = apply(
        HEAD + "def back():\n    if float(model(x)) < 1:\n        model.save_weights('m.h5')\n"
        "        model.load_weights('m.h5')\nback()\n",
        *RULES,
    )
    assert "broadcast" not in result.text
    assert len(result.notes) == 1


def test_where_not_every_rank_comes_a_manager_is_not_asked_but_the_disk() -> None:
    head = (
        "ckpt = tf.train.Checkpoint()\nmanager = tf.train.CheckpointManager(ckpt, 'c', 3)\nmanager.save()\n"
    )
    result = apply(
        HEAD + head + "if float(model(x)) < 1:\n    ckpt.restore(manager.latest_checkpoint)\n", *RULES
    )
    assert "    ckpt.restore(tf.train.latest_checkpoint(manager.directory))\n" in result.text
    assert 'name="saved")  # wait until rank 0 has written it\nif float(model(x)) < 1:' in result.text


def test_folders_that_rank_0_arranges_are_read_after_it() -> None:
    turns(
        """
        import shutil
        for name in sorted(names):
            shutil.move(name, "train")
        data = tf.keras.utils.image_dataset_from_directory("train")
        """,
        f"""
        import shutil
        if hvd.rank() == 0:
            for name in sorted(names):
                shutil.move(name, "train")
        {WAIT.replace(chr(10), chr(10) + " " * 8)}
        data = tf.keras.utils.image_dataset_from_directory("train")
        """,
    )


def test_a_wait_inside_a_loop_for_what_the_turn_before_wrote() -> None:
    turns(
        """
        for i in range(3):
            if i:
                model.load_weights("m.h5")
            epoch(i)
            model.save_weights("m.h5")
        """,
        f"""
        for i in range(3):
            if i:
                {WAIT}
                model.load_weights("m.h5")
            epoch(i)
            if hvd.rank() == 0:
                model.save_weights("m.h5")
        """,
    )


def test_what_is_read_in_every_turn_and_written_in_few_is_waited_for_when_it_is_written() -> None:
    turns(
        """
        for i in range(300):
            rows = np.load("rows-%d.npy" % i)
            epoch(rows)
            if i % 100 == 0:
                np.save("rows-%d.npy" % (i + 1000), rows)
        """,
        f"""
        for i in range(300):
            rows = np.load("rows-%d.npy" % i)
            epoch(rows)
            if i % 100 == 0 and hvd.rank() == 0:
                np.save("rows-%d.npy" % (i + 1000), rows)
            if i % 100 == 0:
                {WAIT}
        """,
    )


def test_the_wait_stands_with_the_writing_where_all_ranks_come_to_it() -> None:
    """Not in each turn, though the reading stands under a condition of its own; and the condition isn't tested again."""
    turns(
        """
        for i in range(300):
            if kind == "files":
                rows = np.load("rows-%d.npy" % i)
            epoch(rows)
            if np.mod(i, 100) == 0:
                seen = model.evaluate(rows, rows)
                np.save("rows-%d.npy" % (i + 1000), seen)
        """,
        f"""
        for i in range(300):
            if kind == "files":
                rows = np.load("rows-%d.npy" % i)
            epoch(rows)
            if np.mod(i, 100) == 0:
                seen = model.evaluate(rows, rows)
                if hvd.rank() == 0:
                    np.save("rows-%d.npy" % (i + 1000), seen)
                {WAIT}
        """,
    )


def test_a_writing_of_rank_0_alone_is_no_place_to_wait() -> None:
    """Neither is one in a function that some ranks leave before."""
    loop = """
        for i in range(300):
            if kind == "files":
                {}rows = np.load("rows-%d.npy" % i)
            epoch(rows)
            if np.mod(i, 100) == 0{}:
                np.save("rows-%d.npy" % (i + 1000), rows)
                """
    again = f"{WAIT}{chr(10)}{' ' * 16}"
    turns(loop.format("", ""), loop.format(again, " and hvd.rank() == 0"))


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ('"data/part-%d.tfrecord" % i', 'tf.data.Dataset.list_files("data/part-*.tfrecord")'),
        ('f"data/{i}.tfrecord"', 'tf.data.TFRecordDataset("data/3.tfrecord")'),
        ('os.path.join("data", str(i))', 'tf.data.Dataset.list_files("data/*")'),
        ('"data/{:03d}".format(i)', 'os.listdir("data")'),
        ('FOLDER + "/x"', 'tf.data.TFRecordDataset(os.path.join("data", "x"))'),
    ],
)
def test_paths_that_begin_alike_may_be_the_same(path: str, read: str) -> None:
    """A writer in a function, its path put together by its caller."""
    head = (
        'FOLDER = "data"\ndef write(path):\n    with tf.io.TFRecordWriter(path) as w:\n        w.write(b"")\n'
        f"for i in range(4):\n    write({path})\n"
    )
    assert WAIT + f"\nrecords = {read}" in apply(HEAD + head + f"records = {read}\n", *RULES).text


@pytest.mark.parametrize(
    "read",
    ['tf.data.Dataset.list_files("other/*")', "tf.data.Dataset.list_files(pattern)", 'open("other.csv")'],
)
def test_paths_that_begin_otherwise_or_vary_are_not(read: str) -> None:
    text = f'with open("data/x.csv", "w") as f:\n    f.write("")\nrecords = {read}\n'
    assert "Wait until" not in apply(HEAD + text, *RULES).text


PATH = "import datetime, tempfile, time, uuid\nfolder = {}\nmodel.save_weights(folder + '/m.h5')\nmodel.load_weights({})\n"


@pytest.mark.parametrize(
    "own", ["time.strftime('%H%M%S')", "str(uuid.uuid4())", "tempfile.mkdtemp()", "'a%d' % time.time()"]
)
def test_a_name_that_each_process_makes_for_itself_is_rank_0s(own: str) -> None:
    inner = own.removeprefix("str(").replace("4())", "4()").removeprefix("'a%d' % ")
    told = own.replace(inner, f"hvd.broadcast_object({inner})")
    result = apply(HEAD + PATH.format(own, "folder + '/m.h5'"), *RULES, comments=False)
    assert f"folder = {told}\n" in result.text


SESSION = """\
import time
import tensorflow.compat.v1 as tf
x = tf.placeholder(tf.float32, [None, 1])
loss = tf.reduce_mean(tf.layers.dense(x, 1))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
saver = tf.train.Saver()
prefix = "./run_" + str(int(time.time())) + "/model"
best = 0
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(4):
        for i in range(20):
            sess.run(train, {x: [[i]]})
        best = epoch
        saver.save(sess, prefix, global_step=epoch)
"""


@pytest.mark.parametrize("restored", ["prefix", "prefix + '-' + str(best)", "save_path=f'{prefix}-{best}'"])
def test_a_session_restores_by_the_name_that_rank_0_gave(restored: str) -> None:
    result = apply(f"{SESSION}    saver.restore(sess, {restored})\n", *RULES)
    assert 'prefix = "./run_" + str(int(from_root(time.time()))) + "/model"\n' in result.text


@pytest.mark.parametrize("restored", ["", "    saver.restore(sess, './best')\n"])
def test_a_name_by_which_no_session_restores_is_each_process_s_own(restored: str) -> None:
    assert "from_root(time.time())" not in apply(SESSION + restored, *RULES).text


@pytest.mark.parametrize(
    "program",
    [
        PATH.format("'fixed'", "folder + '/m.h5'") + "started = time.time()\n",
        PATH.format("time.strftime('%H')", "'other.h5'").replace(
            "folder + '/m.h5'", "'mine.h5'"
        ),  # not of what is read
        "import time\nmodel.save_weights(time.strftime('%H') + '.h5')\n",  # never read
    ],
)
def test_the_clock_is_each_process_s_own_otherwise(program: str) -> None:
    assert "broadcast_object" not in apply(HEAD + program, *RULES).text


def test_a_name_that_not_every_rank_makes_is_reported() -> None:
    program = "def back():\n    if float(model(x)) < 1:\n        p = time.strftime('%H')\n        model.save_weights(p)\n"
    result = apply(HEAD + "import time\n" + program + "        model.load_weights(p)\nback()\n", *RULES)
    assert "broadcast_object" not in result.text
    assert any("did not write" in note for note in result.notes)


@pytest.mark.parametrize("written", ["f'data/train/{i}.png'", "str(root / kind / f'{i}.png')"])
@pytest.mark.parametrize(
    ("folder", "waits"),
    [
        ("'data/train'", True),
        ("'data/other'", False),
        ("root", True),
        ("pathlib.Path('data') / 'other'", False),
    ],
)
def test_a_folder_whose_files_rank_0_writes(written: str, folder: str, waits: bool) -> None:
    source = f"""\
import pathlib
import tensorflow as tf
root = pathlib.Path('data/train')
for i in range(9):
    tf.io.write_file({written}, make(i))
ds = tf.keras.utils.image_dataset_from_directory({folder}, batch_size=8)
model = tf.keras.Sequential([])
model.compile('sgd', 'mse')
model.fit(ds)
"""
    plan = plan_of(source)
    assert ("hvd.broadcast(0, root_rank=0" in plan.text) is waits


HOOKS = """\
import tensorflow as tf
class Best(tf.keras.callbacks.{}):
    def on_epoch_end(self, epoch, logs=None):
        self.model.save_weights({})
    def on_train_end(self, logs=None):
        self.model.load_weights('b.h5')
model = tf.keras.Sequential([])
model.compile('sgd', 'mse')
model.fit(x, y, callbacks=[Best()])
"""


@pytest.mark.parametrize(
    ("base", "path", "waits"),
    [
        ("Callback", "'b.h5'", True),
        ("Callback", "'other/c.h5'", False),
        ("ModelCheckpoint", "'b.h5'", False),  # on rank 0 alone: it would wait forever
    ],
)
def test_what_a_callback_writes_in_one_hook_and_reads_in_another(base: str, path: str, waits: bool) -> None:
    text = plan_of(HOOKS.format(base, path)).text
    wait = "        hvd.broadcast(0, root_rank=0, name='saved')\n        self.model.load_weights('b.h5')\n"
    assert (wait in text) is waits


BESIDE = """\
import tensorflow as tf
class Best({base}):
    def __init__(self, path):
        super().__init__()
        self.path = path
    def on_epoch_end(self, epoch, logs=None):
        if logs['loss'] < 1:
            self.keep()
    def keep(self):
        self.model.save_weights(self.path)
model = tf.keras.Sequential([])
model.compile('sgd', 'mse')
{before}model.fit(x, y{callbacks})
{after}"""
KERAS_CALLBACK = "tf.keras.callbacks.Callback"
GIVEN = ", callbacks=[Best('best.h5')]"


@pytest.mark.parametrize(
    ("base", "callbacks", "before", "after"),
    [
        (KERAS_CALLBACK, GIVEN, "model.load_weights('best.h5')\n", ""),
        (KERAS_CALLBACK, GIVEN, "", "model.load_weights('pretrained.h5')\n"),
        (KERAS_CALLBACK, "", "", "model.load_weights('best.h5')\n"),
        ("object", GIVEN, "", "model.load_weights('best.h5')\n"),
        (KERAS_CALLBACK, GIVEN, "", "print(model.evaluate(x, y))\n"),
    ],
)
def test_what_no_callback_has_written_before_is_not_waited_for(
    base: str, callbacks: str, before: str, after: str
) -> None:
    text = plan_of(BESIDE.format(base=base, callbacks=callbacks, before=before, after=after)).text
    assert "hvd.broadcast(0" not in text


@pytest.mark.parametrize(
    "read", ["model.load_weights('best.h5')", "best = tf.keras.models.load_model('best.h5')"]
)
def test_what_a_callback_of_ones_own_writes_is_waited_for_after_the_fit(read: str) -> None:
    text = plan_of(BESIDE.format(base=KERAS_CALLBACK, callbacks=GIVEN, before="", after=read + "\n")).text
    assert f"\nhvd.broadcast(0, root_rank=0, name='saved')\n{read}\n" in text


def test_what_is_written_before_a_fit_and_read_by_a_callback_is_waited_for_before_it() -> None:
    source = BESIDE.format(
        base=KERAS_CALLBACK, callbacks=GIVEN, before="model.save_weights('first.h5')\n", after=""
    )
    source = source.replace("Best('best.h5')", "Best('first.h5')").replace(
        "save_weights(self", "load_weights(self"
    )
    assert "\nhvd.broadcast(0, root_rank=0, name='saved')\nmodel.fit(" in plan_of(source).text


@pytest.mark.parametrize(
    "called", ["run()", "print(run())", "print(f'end: {run():.3f}')", "scores.append(run())"]
)
def test_what_is_run_for_what_is_printed_waits_too(called: str) -> None:
    """The call is taken out of the print: all ranks run it."""
    source = TF + (
        "scores = []\ndef run():\n    m = tf.keras.Sequential([])\n    m.compile('sgd', 'mse')\n    m.fit(x, y)\n"
        "    m.save('last.h5')\n    again = tf.keras.models.load_model('last.h5')\n    return again.evaluate(x, y)\n"
    )
    text = plan_of(source + called + "\n").text
    assert text.index("m.save(") < text.index("'saved')") < text.index("again =")


PHASES = """
options = parser.parse_args()
if options.phase == 'train':
    model.save_weights('m.h5')
if options.phase == {}:
    model.load_weights('m.h5')
"""


@pytest.mark.parametrize(("phase", "waits"), [("'test'", False), ("'train'", True), ("mine.phase", True)])
def test_ranks_wait_only_where_one_run_writes_and_reads(phase: str, waits: bool) -> None:
    assert ("name='saved'" in apply(HEAD + PHASES.format(phase), *RULES).text) is waits


FOLDER = (
    "import glob, os\nimport numpy as np\nimport tensorflow as tf\n"
    "def write(folder):\n    for i in range(4):\n        np.save({}, rows)\n"
    "def train(args):\n    write(args.data)\n    x = [np.load(f) for f in glob.glob({})]\n"
    "    model = tf.keras.Sequential([])\n    model.compile('sgd', 'mse')\n    model.fit(np.concatenate(x), y)\n"
    "train(options())\n"
)


@pytest.mark.parametrize(
    ("written", "read", "waits"),
    [
        ('os.path.join(args.data, f"{i}.npy")', 'os.path.join(args.data, "*.npy")', True),
        ('f"{args.data}/{i}.npy"', 'args.data + "/*.npy"', True),
        ('args.data / f"{i}.npy"', 'f"{args.data}/*.npy"', True),
        ('os.path.join(args.data, f"{i}.npy")', 'os.path.join(args.other, "*.npy")', False),
        ('os.path.join(args.data, "rows.npy")', 'os.path.join(args.data, "images*.npy")', False),
        ('os.path.join("data", f"{i}.npy")', 'os.path.join(args.data, "*.npy")', False),
    ],
)
def test_a_folder_that_is_only_named_is_waited_for(written: str, read: str, waits: bool) -> None:
    text = plan_of(FOLDER.format(written, read)).text
    assert ("name='saved'" in text) is waits


PASSED = """
import h5py
def write(target):
    with open(target, "w") as f:
        f.write("1 2 3")
def read(source):
    with open(source) as f:
        return f.read()
{}
x = read({})
"""


@pytest.mark.parametrize(
    ("made", "read"),
    [
        ("ids = folder + '/rows' + tag\nwrite(ids)", "ids"),
        ("def prepare(folder):\n    ids = folder + tag\n    write(ids)\n    return ids, 3\nids, n = prepare(folder)", "ids"),
        # the same name, in folders that are written in two ways
        ("write(os.path.join(os.getcwd(), 'made/rows.txt'))", "os.path.join('./{}'.format(folder), 'rows.txt')"),
        ("write(folder + '/rows.txt')", "f'{place}/rows.txt'"),
    ],
)  # fmt: skip
def test_a_path_that_functions_are_passed_is_followed(made: str, read: str) -> None:
    text = apply(HEAD + PASSED.format(made, read), *RULES).text
    assert f"\n{WAIT}\nx = read(" in text


@pytest.mark.parametrize(
    ("made", "read"),
    [
        ("write(folder + '/rows.txt')", "folder + '/other.txt'"),
        ("write(os.path.join(folder, 'rows.txt'))", "os.path.join(folder, 'rows.csv')"),
        ("write(folder + tag)", "place"),
        ("write(folder + '.txt')", "place + '.txt'"),  # only how their names end
    ],
)
def test_other_paths_that_functions_are_passed_need_no_wait(made: str, read: str) -> None:
    assert "broadcast" not in apply(HEAD + PASSED.format(made, read), *RULES).text


def test_paths_that_begin_with_what_varies_are_not_taken_for_one() -> None:
    """Nothing is known of where either is: files of training data would be waited for in each epoch."""
    program = "np.save(f'./{folder}/{epoch}.npy', x)\ny = np.load('./data/{}/rows.npy'.format(name))\n"
    assert "broadcast" not in apply(HEAD + program, *RULES).text


HOOK = """
import numpy as np
import tensorflow as tf
x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
class Export(tf.keras.callbacks.Callback):
    def __init__(self, path):
        super().__init__()
        self.path = path
    def {hook}(self, number, logs=None):
        {body}
saver = {saver}
model.fit(x, x, callbacks=[saver, Export("m.h5")])
"""
SAVER = 'tf.keras.callbacks.ModelCheckpoint("m.h5")'


@pytest.mark.parametrize("hook", ["on_epoch_end", "on_epoch_begin"])
def test_a_callback_waits_for_what_fit_has_kept(hook: str) -> None:
    """The others came before the file was complete, or there."""
    body = "self.model.load_weights(self.path)"
    text = plan_of(HOOK.format(hook=hook, body=body, saver=SAVER)).text
    waited = '        hvd.broadcast(0, root_rank=0, name="saved")\n'
    assert f"{waited}        {body}" in text


@pytest.mark.parametrize(
    ("hook", "body", "saver"),
    [
        ("on_epoch_end", 'self.model.load_weights("other.h5")', SAVER),
        ("on_epoch_end", "self.model.load_weights(self.path)", "tf.keras.callbacks.EarlyStopping()"),
        ("on_epoch_end", "self.model.save_weights(self.path)", SAVER),
    ],
)
def test_a_callback_that_reads_nothing_of_it_does_not(hook: str, body: str, saver: str) -> None:
    assert 'name="saved"' not in plan_of(HOOK.format(hook=hook, body=body, saver=saver)).text


_SUBMITS = """\
import pandas as pd
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile('adam', 'mse')
{0}model.fit(x, y)
{1}submission['count'] = model.predict(x)
submission.to_csv('{2}.csv')
"""
_READS = "submission = pd.read_csv('submission.csv')\n"
_WAITS = 'hvd.broadcast(0, root_rank=0, name="read")'


def test_rank_0_writes_again_when_all_ranks_have_read() -> None:
    lines = plan_of(_SUBMITS.format("", _READS, "submission")).text.replace("'", '"').splitlines()
    (waits,) = [i for i, line in enumerate(lines) if line.startswith(_WAITS)]
    assert lines[waits - 1].startswith("submission = ")


@pytest.mark.parametrize(
    "source",
    [_SUBMITS.format(_READS, "", "submission"), _SUBMITS.format("", _READS, "other")],
    ids=["they train together between", "another file"],
)
def test_nothing_waits_where_no_rank_reads_late(source: str) -> None:
    assert _WAITS not in plan_of(source).text.replace("'", '"')


GRAPH = """\
import os
import tensorflow as tf
FILE = 'rows.tfrecords'
def write():
    with tf.python_io.TFRecordWriter(FILE) as f:
        for i in range(100):
            f.write(b'....')
if not os.path.exists(FILE):
    write()
{}
x = tf.decode_raw(record, tf.float32)
train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.layers.dense(x, 1)))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    tf.train.start_queue_runners(sess)
    for i in range(100):
        sess.run(train)
"""
READER = "\n_, one = tf.TFRecordReader().read(queue)\nrecord = tf.train.batch([one], 8)"
WAITING = "name='saved'))"


@pytest.mark.parametrize(
    ("reads", "waits"),
    [
        ("queue = tf.train.string_input_producer([FILE])" + READER, True),
        ("names = [FILE, 'more.tfrecords']\nrecord = tf.data.TFRecordDataset(names).make_one_shot_iterator().get_next()", True),
        ("queue = tf.train.string_input_producer(['given.tfrecords'])" + READER, False),
        ("record = next(tf.python_io.tf_record_iterator(FILE))", True),
    ],
)  # fmt: skip
def test_queues_and_lists_of_files_are_waited_for(reads: str, waits: bool) -> None:
    """The others read a part of it, or ended as it was not there."""
    assert (WAITING in plan_of(GRAPH.format(reads)).text) is waits


ESTIMATED = """\
import os
import tensorflow as tf
def convert(rows, path):
    with tf.python_io.TFRecordWriter(path) as f:
        for row in rows:
            f.write(row)
def reader(path, is_training):
    def input_fn(params):
        rows = tf.data.TFRecordDataset(path)
        return (rows.shuffle(100).repeat() if is_training else rows).map(parse).batch(params['batch_size'])
    return input_fn
def rows_of(path):
    return tf.data.TFRecordDataset(path).repeat().map(parse).batch(8)
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1))
    train_op = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
def main():
    estimator = tf.estimator.Estimator(model_fn, params={{'batch_size': 8}})
    train_file = os.path.join('out', 'train.tf_record')
    convert(train_rows(), train_file)
    {0}
    test_file = os.path.join('out', 'test.tf_record')
    {1}
    result = estimator.evaluate(input_fn=reader(test_file, False))
main()
"""
DIRECT = "estimator.train(input_fn=reader(train_file, True), max_steps=100)"
NAMED = (
    "train_input_fn = reader(train_file, True)\n    estimator.train(input_fn=train_input_fn, max_steps=100)"
)
LAMBDA = "estimator.train(lambda: rows_of(train_file), max_steps=100)"


@pytest.mark.parametrize("train", [DIRECT, NAMED, LAMBDA])
def test_what_an_input_function_reads_is_waited_for_before_the_estimator_runs_it(train: str) -> None:
    text = plan_of(ESTIMATED.format(train, "convert(test_rows(), test_file)")).text
    assert text.count(WAITING) == 2
    assert "name='read'" not in text  # it is another file
    after = text[text.rindex(WAITING) :].split("\n")[1]
    assert after.strip() == "result = estimator.evaluate(input_fn=reader(test_file, False))"


def test_what_an_input_function_reads_of_others_is_not_waited_for() -> None:
    """The near miss: the program writes no test file."""
    assert plan_of(ESTIMATED.format(DIRECT, "pass")).text.count(WAITING) == 1


def test_the_path_of_a_temporary_file_is_rank_0s() -> None:
    """The file that `mkstemp` opens is a process's own: only the path is sent."""
    source = TF + (
        "import tempfile\nimport numpy as np\n"
        'model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile("sgd", "mse")\n'
        "{}\nmodel.save_weights(path)\nmodel.fit(np.load('x.npy'), np.load('y.npy'))\nmodel.load_weights(path)\n"
    )
    assert (
        "path = hvd.broadcast_object(tempfile.mkstemp()[1])\n"
        in plan_of(source.format("path = tempfile.mkstemp()[1]")).text
    )
    plan = plan_of(source.format("handle, path = tempfile.mkstemp()"))
    assert "handle, path = tempfile.mkstemp()\n" in plan.text
    assert any("look for a file that rank 0 did not write" in note.message for note in plan.notes)


@pytest.mark.parametrize(
    ("read", "kept", "waits"),
    [
        ("args.data_list", "args.out", False),
        ("args.out", "args.out", True),
        ("args.list", "args.list_2", False),
    ],
)
def test_options_of_one_parser_name_a_file_each(read: str, kept: str, waits: bool) -> None:
    """`args.data_list` isn't `args` with a suffix."""
    source = f"""\\
import numpy as np
import pandas as pd
import tensorflow as tf
from settings import args
x = pd.read_csv({read}).values
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile('adam', 'mse')
np.savetxt({kept}, x)
model.fit(x, x)
"""
    assert ('name="read")' in plan_of(source).text.replace("'", '"')) is waits


SHOWN = """\
import matplotlib.pyplot as plt
def show(path{default}, fixed=False):
    plt.savefig(path)
for epoch in range(9):
    fit(epoch)
    show('results/random_' + str(epoch) + '.png')
    show(path='{folder}/fixed_' + str(epoch) + '.png', fixed=True)
for epoch in range(9):
    frames.append(plt.imread('results/fixed_' + str(epoch) + '.png'))
"""


@pytest.mark.parametrize("default", ["", "='result.png'"])
@pytest.mark.parametrize(("folder", "waits"), [("results", True), ("shown", False)])
def test_one_of_several_paths_that_a_function_writes_is_waited_for(
    default: str, folder: str, waits: bool
) -> None:
    text = apply(HEAD + SHOWN.format(default=default, folder=folder), *RULES).text
    assert ("wait until rank 0 has written it" in text) is waits
