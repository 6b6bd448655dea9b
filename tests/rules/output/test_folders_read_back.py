"""C6: the ranks wait before they look which files rank 0 has written into a folder, and before they read a path's text."""

from __future__ import annotations

import pytest

from horovodize.python.paths_of_files import may_be_in

from ..pairs import TF, plan_of

HEAD = (
    "import glob, json, os\nimport numpy as np\nfrom pathlib import Path\n"
    + TF
    + "x, y = np.ones((960, 3)), np.ones(960)\nout = Path('out')\n"
    "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
)
WAIT = 'hvd.broadcast(0, root_rank=0, name="saved")'
KEPT = "model.fit(x, y, callbacks=[tf.keras.callbacks.ModelCheckpoint({}, save_weights_only=True)])\n"


def waits_at(program: str, reading: str) -> bool:
    """Whether the line before a reading waits for rank 0."""
    lines = plan_of(HEAD + program).text.replace("'", '"').splitlines()
    at = next(i for i, line in enumerate(lines) if reading in line)
    return WAIT in lines[at - 1]


@pytest.mark.parametrize(
    ("program", "reading"),
    [
        (
            "for i in range(8):\n    np.save(out / f'p{i}.npy', x)\nnames = sorted(out.glob('*.npy'))\n",
            "out.glob",
        ),
        (
            "for i in range(8):\n    np.save(out / f'p{i}.npy', x)\nnames = list(out.iterdir())\n",
            "out.iterdir",
        ),
        (
            "for i in range(8):\n    (out / f'{i}.txt').write_text('a')\nnames = os.listdir(out)\n",
            "os.listdir",
        ),
        ("(out / 'mean.json').write_text('1')\nx -= float((out / 'mean.json').read_text())\n", ".read_text"),
        (
            "out.joinpath('a').write_bytes(b'1')\nrows = tf.keras.utils.text_dataset_from_directory(out)\n",
            "rows =",
        ),
        (
            KEPT.format("out / 'w-{epoch}.h5'")
            + "last = sorted(out.glob('*.h5'))[-1]\nmodel.load_weights(last)\n",
            "last =",
        ),
        (
            KEPT.format("'out/w-{epoch}.h5'")
            + "last = max(glob.glob('out/w-*.h5'))\nmodel.load_weights(last)\n",
            "last =",
        ),
        (
            "model.fit(x, y)\nmodel.save_weights('out/w-1.h5')\nfor name in os.listdir('out'):\n"
            "    model.load_weights(os.path.join('out', name))\n",
            "for name in",
        ),
    ],
)
def test_the_ranks_wait_before_they_look_into_the_folder(program: str, reading: str) -> None:
    assert waits_at(program + "model.fit(x, y)\n", reading)


@pytest.mark.parametrize(
    ("program", "reading"),
    [
        ("np.save('out/a.npy', x)\nnames = os.listdir('data')\n", "os.listdir"),
        ("(out / 'a.txt').write_text('1')\nnames = sorted(Path('other').iterdir())\n", ".iterdir"),
        (
            "names = sorted(out.glob('*.npy'))\nnp.save(out / 'a.npy', x)\n",
            "out.glob",
        ),  # read before it is written
        ("(out / 'a.json').write_text('1')\nx -= float((out / 'b.json').read_text())\n", ".read_text"),
        ("np.save(out / 'a.npy', x)\nnames = {'glob': list}['glob'](out)\n", "names ="),
    ],
)
def test_they_do_not_for_other_folders_and_files(program: str, reading: str) -> None:
    assert not waits_at(program + "model.fit(x, y)\n", reading)


@pytest.mark.parametrize(
    ("written", "folder", "is_in"),
    [
        ("out/a.npy", "out", True),
        ("out/a.npy", "out/", True),
        ("./out/a.npy", "out", True),
        ("out/sub/a.npy", "out", True),
        ("a.npy", ".", True),
        ("out/{", "out/*.h5", True),
        ("out{", "out/sub", True),
        ("out/w-{", "out/w-*.h5", True),
        ("/data/a.npy", ".", False),
        ("outer/a.npy", "out", False),
        ("out", "out/sub", False),
        ("out/a.npy", "out/w-*.h5", False),
    ],
)
def test_what_may_be_in_a_folder(written: str, folder: str, is_in: bool) -> None:
    assert may_be_in(written, folder) is is_in


KEEPER = """\
class Keep(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.save_weights(f'out/{epoch}.h5')
        names = sorted(glob.glob('out/*.h5'))
        FIRST
        for old in names[:-2]:
            os.remove(old)
model.fit(x, y, callbacks=[Keep()])
"""


def test_what_only_rank_0_removes_is_not_waited_for() -> None:
    text = plan_of(HEAD + KEEPER.replace("FIRST", "print(names)")).text.replace("'", '"')
    assert "if hvd.rank() == 0:\n            print(names)\n            for old in names[:-2]:" in text
    assert WAIT not in text
    assert waits_at(KEEPER.replace("FIRST", "self.model.load_weights(names[0])"), "names = ")
