"""C6: output that is a value: open files, summary writers, the paths of checkpoints."""

from __future__ import annotations

import pytest

from horovodize.rules.output import root_rank

from ..guarding import HEAD, Guarded, apply, check
from ..pairs import plan_of

RULES = (root_rank.RULE,)


def turns(before: str, after: str) -> Guarded:
    return check(RULES, before, after)


def test_summary_writers_do_nothing_elsewhere() -> None:
    turns(
        """
        w = tf.summary.create_file_writer("logs")
        with tf.summary.create_file_writer("logs").as_default():
            tf.summary.scalar("a", 1)
        """,
        """
        w = tf.summary.create_file_writer("logs") if hvd.rank() == 0 else tf.summary.create_noop_writer()
        with (tf.summary.create_file_writer("logs") if hvd.rank() == 0 else tf.summary.create_noop_writer()).as_default():
            tf.summary.scalar("a", 1)
        """,
    )


def test_files_that_stay_open_go_to_the_null_device() -> None:
    turns(
        """
        log = open(path, "a")
        log.write("x")
        with open("log", mode="w") as f:
            model.fit(x)
            f.write("x")
        with open("out", "w") as f:
            for row in range(3):
                f.write(str(row))
        """,
        """
        log = open(path if hvd.rank() == 0 else os.devnull, "a")
        log.write("x")
        with open("log" if hvd.rank() == 0 else os.devnull, mode="w") as f:
            model.fit(x)
            f.write("x")
        if hvd.rank() == 0:
            with open("out", "w") as f:
                for row in range(3):
                    f.write(str(row))
        """,
    )


def test_a_file_that_must_be_new_is_no_new_one_where_nothing_is_written() -> None:
    text = plan_of(
        "import tensorflow as tf\nmodel = tf.keras.Sequential([])\nlock = open('lock', 'x')\nmodel.fit(x)\n"
    ).text
    assert "open('lock' if hvd.rank() == 0 else '/dev/null', 'x' if hvd.rank() == 0 else 'w')" in text


@pytest.mark.parametrize(
    "program",
    [
        "f = h5py.File('a', 'w')\nf['x'] = 1\n",
        "f = h5py.File('a', 'w')\nrows = f.create_dataset('x', (3,))\n",
        "f = h5py.File('a', 'w')\nkeep(f)\n",
    ],
)
def test_a_file_that_can_not_be_redirected_is_refused(program: str) -> None:
    result = apply(HEAD + "import h5py\n" + program, *RULES)
    assert len(result.reasons) == 1
    assert "h5py.File" in result.reasons[0]


def test_a_file_whose_methods_alone_are_called() -> None:
    head, silent = "import imageio\n", " if hvd.rank() == 0 else SilentWriter()"
    named = " if hvd.rank() == 0 else types.SimpleNamespace(append_data=lambda *args: None, close=lambda *args: None)"
    rest = "while not done:\n    done = play()\n    video.append_data(frame())\nvideo.close()\n"
    made = "video = imageio.get_writer('a.mp4', fps=30)"
    turns(f"{head}{made}\n{rest}", f"{head}{made}{named}\n{rest}")
    rest = "    for x in data:\n        model.fit(x)\n        video.append_data(frame())\n"
    opened = "imageio.get_writer('a.mp4')"
    turns(f"{head}with {opened} as video:\n{rest}", f"{head}with {opened}{silent} as video:\n{rest}")


@pytest.mark.parametrize(
    ("made", "after"),
    [
        (
            "zipfile.ZipFile('a.zip', 'w')",
            "zipfile.ZipFile('a.zip' if hvd.rank() == 0 else os.devnull, 'w')",
        ),
        (
            "cv2.VideoWriter('a', 0, 9.0, s)",
            "cv2.VideoWriter('a' if hvd.rank() == 0 else os.devnull, 0, 9.0, s)",
        ),
    ],
)
def test_an_archive_or_video_that_is_handed_on_is_written_to_the_null_device(made: str, after: str) -> None:
    head = "import cv2, zipfile\n"
    turns(f"{head}out = {made}\nfill(out)\n", f"{head}out = {after}\nfill(out)\n")


def test_an_archive_that_is_added_to_is_refused() -> None:
    result = apply(HEAD + "import zipfile\nout = zipfile.ZipFile('a.zip', 'a')\nfill(out)\n", *RULES)
    assert len(result.reasons) == 1


UPDATED = """
with open("list.txt", "r+") as f:
    lines = f.readlines()
    f.seek(0)
    for line in lines:
        f.write(line.lower())
    f.truncate()
"""


def test_a_file_that_is_read_and_written_again() -> None:
    """Nothing can be read from the null device, and it can't be cut off."""
    guarded = "if hvd.rank() == 0:\n" + "".join(f"    {line}\n" for line in UPDATED.strip().splitlines())
    turns(UPDATED.lstrip(), guarded)
    result = apply(HEAD + UPDATED + "keep(lines)\n", *RULES)
    assert "read this file and write it" in result.reasons[0]
    result = apply(HEAD + "import json\nf = open('a', 'r+')\nstate = json.load(f)\n", *RULES)
    assert "read this file and write it" in result.reasons[0]


def test_a_file_that_might_be_read_but_is_only_written() -> None:
    head = "f = open('a', 'a+')\n"
    rest = "f.seek(0)\nf.write('x')\nkeep(x, file=f)\nf.close()\n"
    turns(head + rest, head.replace("'a',", "'a' if hvd.rank() == 0 else os.devnull,") + rest)


def test_wandb_and_logging() -> None:
    turns(
        "import logging, wandb\nwandb.init(project='p')\nwandb.log({})\nlogging.basicConfig(filename='l')\n",
        "import logging, wandb\nwandb.init(project='p', mode=None if hvd.rank() == 0 else \"disabled\")\nwandb.log({})\n"
        "logging.basicConfig(filename='l' if hvd.rank() == 0 else os.devnull)\n",
    )


def test_the_path_of_a_checkpoint() -> None:
    head = "ckpt = tf.train.Checkpoint(model=model)\n"
    turns(
        f"{head}path = ckpt.save('c')\nprint(path)\n",
        f"{head}path = ckpt.save('c') if hvd.rank() == 0 else None\nif hvd.rank() == 0:\n    print(path)\n",
    )
    turns(
        f"{head}path = ckpt.save('c')\nckpt.restore(path)\n",
        f"{head}path = hvd.broadcast_object(ckpt.save('c') if hvd.rank() == 0 else None)\nckpt.restore(path)\n",
    )
    turns(
        f"{head}def keep():\n    return ckpt.save('c')\nckpt.restore(keep())\n",
        f"{head}def keep():\n    return hvd.broadcast_object(ckpt.save('c') if hvd.rank() == 0 else None)\n"
        "ckpt.restore(keep())\n",
    )


def test_a_path_kept_under_a_condition_of_the_ranks_own_is_told_where_it_is_used() -> None:
    turns(
        """
        ckpt = tf.train.Checkpoint(model=model)
        best = 9.0
        for i in range(3):
            valid = float(model(x))
            if valid < best:
                best = valid
                path = ckpt.save("c")
        ckpt.restore(path)
        """,
        """
        ckpt = tf.train.Checkpoint(model=model)
        best = 9.0
        for i in range(3):
            valid = float(model(x))
            if valid < best:
                best = valid
                path = ckpt.save("c") if hvd.rank() == 0 else None
        ckpt.restore(hvd.broadcast_object(path))
        """,
    )


def test_what_reads_is_left_alone() -> None:
    head = "import h5py\n"
    turns(
        f"{head}f = h5py.File('a', 'r')\ng = open('b')\n", f"{head}f = h5py.File('a', 'r')\ng = open('b')\n"
    )
    turns(
        "with open('a') as f:\n    print(f.read())\n",
        "if hvd.rank() == 0:\n    with open('a') as f:\n        print(f.read())\n",
    )


def test_a_writer_that_only_writes() -> None:
    turns(
        """
        import glob, imageio
        with imageio.get_writer("a.gif", mode="I") as writer:
            names = sorted(glob.glob("*.png"))
            for name in names:
                writer.append_data(imageio.imread(name))
        """,
        """
        import glob, imageio
        if hvd.rank() == 0:
            with imageio.get_writer("a.gif", mode="I") as writer:
                names = sorted(glob.glob("*.png"))
                for name in names:
                    writer.append_data(imageio.imread(name))
        """,
    )


def test_records_go_to_the_null_device() -> None:
    turns(
        "writer = tf.io.TFRecordWriter('a')\nwriter.write(x)\n",
        "writer = tf.io.TFRecordWriter('a' if hvd.rank() == 0 else os.devnull)\nwriter.write(x)\n",
    )


def test_the_null_device_by_its_name_where_os_is_no_name() -> None:
    head = "import tensorflow as tf\nm = tf.keras.Sequential()\nm.fit(1)\n"
    check(
        RULES,
        "f = open('a', 'w')\nf.write('b')\n",
        "f = open('a' if hvd.rank() == 0 else '/dev/null', 'w')\nf.write('b')\n",
        head,
    )


@pytest.mark.parametrize(
    "rest", ["keep(book)\n", "folder = book.logdir\n", "where = book.add_scalar('a', 1)\n"]
)
def test_a_writer_that_has_no_other_place_is_refused(rest: str) -> None:
    result = apply(HEAD + "import tensorboardX\nbook = tensorboardX.SummaryWriter('a')\n" + rest, *RULES)
    assert len(result.reasons) == 1


def test_a_writer_of_another_library_is_told_nothing_elsewhere() -> None:
    made, rest = (
        "book = tensorboardX.SummaryWriter('a')",
        "for x in data:\n    book.add_scalar('a', look(x))\n",
    )
    turns(
        f"import tensorboardX\n{made}\n{rest}",
        f"import tensorboardX\n{made} if hvd.rank() == 0 else types.SimpleNamespace(add_scalar=lambda *args: None)\n"
        "for x in data:\n    if hvd.rank() == 0:\n        book.add_scalar('a', look(x))\n",
    )


TABLES = """\
import sqlite3
db = sqlite3.connect("losses.db")
db.execute("create table if not exists losses (step int, loss real)")
for i in range(9):
    db.execute("insert into losses values (?, ?)", (i, epoch(i)))
    {}
db.commit()
"""


def test_tables_are_written_by_rank_0_and_kept_in_memory_elsewhere() -> None:
    before = TABLES.format("pass")
    check(
        (root_rank.RULE,),
        before,
        before.replace('"losses.db"', '"losses.db" if hvd.rank() == 0 else ":memory:"'),
    )


def test_tables_that_are_read_too_are_refused_and_those_that_are_only_read_left() -> None:
    read = 'print(db.execute("select max(loss) from losses").fetchone())'
    assert any(
        "read this file and write it" in r for r in apply(HEAD + TABLES.format(read), root_rank.RULE).reasons
    )
    only = 'import sqlite3\ndb = sqlite3.connect("rows.db")\nrows = db.execute("select x from rows").fetchall()\n'
    check((root_rank.RULE,), only, only)


@pytest.mark.parametrize(
    ("call", "alone"),
    [
        ('x.tofile("x.bin")', True),
        ('frame.to_json("x.json")', True),
        ("text = frame.to_json()", False),
        ('tf2onnx.convert.from_keras(model, output_path="m.onnx")', True),
        ("converted = tf2onnx.convert.from_keras(model)", False),
        ("frame.to_html(io.StringIO())", False),
    ],
)
def test_what_writes_where_it_is_told_a_file(call: str, alone: bool) -> None:
    head = "import io\nimport pandas as pd\nimport tf2onnx\nx = np.ones(9)\nframe = pd.DataFrame(x)\n"
    after = f"if hvd.rank() == 0:\n    {call}\n" if alone else f"{call}\n"
    check((root_rank.RULE,), head + call + "\n", head + after)


def test_a_file_that_is_opened_under_another_name() -> None:
    head = "write_to = open\nf = {}('a', 'w')\nf.write('b')\n"
    before = head.format("write_to")
    turns(before, before.replace("'a'", "'a' if hvd.rank() == 0 else os.devnull"))
    other = "from mine import open_it as write_to\nf = write_to('a', 'w')\n"
    turns(other, other)


STORED = """\
import lmdb
import pandas as pd
import shelve
a = shelve.open("a"{0})
a["w"] = model.get_weights()
b = pd.HDFStore("b.h5"{0})
b["x"] = frame
c = lmdb.open("c"{0}, map_size=1 << 20)
with c.begin(write=True) as rows:
    rows.put(b"k", b"v")
"""


def test_a_store_is_written_by_rank_0_whatever_it_is_opened_for() -> None:
    own = " if hvd.rank() == 0 else tempfile.mkdtemp() + '/own'"
    text = apply(HEAD + STORED.format(""), root_rank.RULE).text
    for path in ("a", "b.h5", "c"):
        assert f'("{path}"{own}' in text.replace('"/own"', "'/own'")


@pytest.mark.parametrize(
    "line",
    [
        'a = shelve.open("a")\nw = a["w"]\n',
        'a = shelve.open("a", "r")\n',
        'a = lmdb.open("a", readonly=True)\n',
    ],
)
def test_a_store_that_is_only_read_is_opened_by_all(line: str) -> None:
    head = "import lmdb\nimport shelve\n"
    check(RULES, head + line, head + line)


def test_a_store_that_is_read_and_written_is_refused() -> None:
    source = 'import shelve\na = shelve.open("a")\nprint(a["w"])\na["w"] = model.get_weights()\n'
    assert any("read this file and write it" in r for r in apply(HEAD + source, root_rank.RULE).reasons)


@pytest.mark.parametrize(
    ("opened", "guarded"),
    [
        ("open(os.devnull, 'wb')", False),
        ("open('/dev/null', 'w')", False),
        ("open(os.path.join(d, 'log'), 'w')", True),
    ],
)
def test_what_goes_nowhere_needs_no_rank(opened: str, guarded: bool) -> None:
    made = f"with {opened} as nowhere:\n    call(['git'], stdout=nowhere)\n"
    text = plan_of("import os\nimport tensorflow as tf\nmodel = tf.keras.Sequential([])\nmodel.compile('sgd', 'mse')\n"
                   + made + "model.fit(x, x)\n").text  # fmt: skip
    assert (opened in text) is not guarded


EXPERIMENT = HEAD + "import mlflow, imageio\n"


def test_what_is_gone_on_with_is_not_none_on_other_ranks() -> None:
    """`None.experiment_id` failed on all ranks but the first."""
    text = EXPERIMENT + 'run = mlflow.set_experiment("a")\nwhere = [run.experiment_id]\nmodel.fit(x)\n'
    after = apply(text, *RULES)
    assert "else None" not in after.text
    assert any("starts a run" in n for n in after.notes)
    text = EXPERIMENT + 'made = imageio.imsave("a.png", x)\nname = made.name\nmodel.fit(x)\n'
    assert apply(text, *RULES).reasons


@pytest.mark.parametrize("rest", ["", "print(run)\n", "print(run.name)\n"])
def test_what_is_not_looked_into_may_be_none_there(rest: str) -> None:
    text = EXPERIMENT + f'run = mlflow.set_experiment("a")\nmodel.fit(x)\n{rest}'
    assert "else None" in apply(text, *RULES).text


def test_a_game_that_is_recorded_is_played_unrecorded_elsewhere() -> None:
    turns(
        """
        import gym
        from gym.wrappers import Monitor, RecordVideo, TimeLimit
        env = Monitor(gym.make("CartPole-v1"), directory="videos", resume=True)
        env = RecordVideo(env, "videos")
        env = TimeLimit(env, 500)
        """,
        """
        import gym
        from gym.wrappers import Monitor, RecordVideo, TimeLimit
        env = Monitor(gym.make("CartPole-v1"), directory="videos", resume=True) if hvd.rank() == 0 else gym.make("CartPole-v1")
        env = RecordVideo(env, "videos") if hvd.rank() == 0 else env
        env = TimeLimit(env, 500)
        """,
    )
