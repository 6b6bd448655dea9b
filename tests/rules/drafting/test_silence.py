"""C6 where much is printed: one statement silences the other ranks, and only what writes files is guarded."""

from __future__ import annotations

import ast

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = "import os\nimport sys\nimport tensorflow as tf\nimport matplotlib.pyplot as plt\nmodel = tf.keras.Sequential([])\n"
FIT = "model.compile(tf.keras.optimizers.SGD(0.1), 'mse')\nmodel.fit(x, y, epochs=3)\n"
MUCH = "".join(f"print({n})\nlook({n})\n" for n in range(4))
SILENT = "sys.stdout = sys.stdout if hvd.rank() == 0 else open(os.devnull, 'w', errors='replace')\n"


def made(body: str, output: str = "auto", head: str = HEAD) -> str:
    """A program after distributing."""
    plan = distribute(summarize(Document(head + FIT + body)), Options(comments=False, output=output))
    assert isinstance(plan, Plan)
    ast.parse(plan.text)
    return plan.text


def is_silenced(text: str) -> bool:
    return "sys.stdout = sys.stdout if hvd.rank() == 0 else open(" in text or "    sys.stdout = open(" in text


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    "body",
    [
        "print(1)\nprint(2)\nprint(3)\n",
        "".join(f"f.write('{n}')\n" for n in range(9)),  # no output of its own
        "".join(f"print({n}, file=sys.stderr)\n" for n in range(9)),
        "".join(f"tf.print({n})\n" for n in range(9)),
        "print(1,\n      2,\n      3,\n      4,\n      5)\n",  # a guard moves six lines
        "if x:\n    print(1,\n          2,\n          3)\nif y:\n    print(4,\n          5,\n          6)\n",  # in the tests
        MUCH + "sys.stdout = Tee('log')\n",
        MUCH + "plt.switch_backend('TkAgg')\nplt.show()\n",
        MUCH + "plt.imshow(plt.imread('made.png'))\nplt.show()\n",
        "def show():\n" + "".join(f"    logging.info({n})\n" for n in range(9)),
    ],
)
def test_these_are_not_silenced(body: str) -> None:
    assert not is_silenced(made(body))


@pytest.mark.parametrize(
    "body",
    [
        "print(1,\n      2,\n      3)\nlook(1)\nprint(4,\n      5,\n      6)\n",
        "for i in range(3):\n    look(i)\n    print(i,\n          1,\n          2,\n          3,\n          4,\n          5)\n",
    ],
)
def test_few_statements_of_many_lines_are_silenced_since_guards_would_move_each_line(body: str) -> None:
    assert is_silenced(made(body))
    assert not is_silenced(made(body, "guard"))


def test_each_statement_is_guarded_where_the_user_wants_it() -> None:
    text = made(MUCH, "guard")
    assert not is_silenced(text)
    assert text.count("if hvd.rank() == 0:\n    print(") == 4


def test_what_only_rank_0_may_have_is_read_by_it_alone() -> None:
    text = made(
        MUCH + "model.save('a.h5')\nlook(1)\nprint(os.path.getsize('a.h5'))\nlook(2)\nprint(look(3))\n"
    )
    assert is_silenced(text)
    assert "if hvd.rank() == 0:\n    print(os.path.getsize('a.h5'))\nlook(2)\nprint(look(3))\n" in text


def test_what_goes_elsewhere_is_still_guarded() -> None:
    text = made(MUCH + "print(5, file=sys.stderr)\nmodel.save('a.h5')\nmodel.summary(print_fn=log.write)\n")
    assert is_silenced(text)
    for line in ("print(5, file=sys.stderr)", "model.save('a.h5')", "model.summary(print_fn=log.write)"):
        assert f"    {line}\n" in text, line
    assert "\nprint(1)\n" in text


# ---------------------------------------------------------------------- what is written


def test_one_statement_after_horovod_is_initialised() -> None:
    text = made(MUCH)
    assert text.count("hvd.rank() == 0") == 1
    assert SILENT in text
    assert text.index("hvd.init()") < text.index(SILENT) < text.index("model = ")
    assert "model.fit(x, y, epochs=3" not in text or "verbose" not in text


def test_the_user_may_silence_a_single_line() -> None:
    assert is_silenced(made("print(1)\n", "silence"))
    assert not is_silenced(made("look(1)\n", "silence"))


def test_what_is_missing_is_imported() -> None:
    text = made(MUCH, head="import tensorflow as tf\nmodel = tf.keras.Sequential([])\n")
    assert "import sys\nimport horovod" in text
    assert " else open('/dev/null', 'w', errors='replace')\n" in text  # Horovod runs where it is called so
    taken = made(MUCH, head="import tensorflow as tf\nmodel = tf.keras.Sequential([])\nsys = 3\n")
    assert "import sys as hvd_sys\n" in taken
    assert "\nhvd_sys.stdout = hvd_sys.stdout if hvd.rank() == 0 else open('/dev/null'" in taken


def test_an_import_that_comes_later_does_not_count() -> None:
    text = made(MUCH + "import sys\n", head="import tensorflow as tf\nmodel = tf.keras.Sequential([])\n")
    assert text.index("import sys") < text.index("sys.stdout")


def test_windows_are_not_opened_elsewhere() -> None:
    drawn = "plt.plot(x)\nplt.title('t')\nplt.legend()\nplt.show()\n"
    drawing = made(drawn)
    assert "if hvd.rank() != 0:\n    sys.stdout = open(" in drawing
    assert "    plt.switch_backend('Agg')\n" in drawing
    assert "Agg" not in made(MUCH)
    other = "import tensorflow as tf\nmodel = tf.keras.Sequential([])\n"
    assert "    matplotlib.use('Agg')\n" in made(
        "from matplotlib import pyplot\n" + MUCH + "pyplot.show()\n", head=other
    )


def test_nobody_waits_at_a_window() -> None:
    text = made(MUCH + "plt.pause(1)\nplt.waitforbuttonpress()\n")
    assert "if hvd.rank() == 0:\n    plt.pause(1)\n    plt.waitforbuttonpress()\n" in text
    assert "if hvd.rank() == 0:\n    plt.pause(1)\n" in made("plt.pause(1)\n")


def test_a_training_step_in_a_print_stays_there() -> None:
    text = made(MUCH + "print(model.train_on_batch(x, y))\n")
    assert "\nprint(model.train_on_batch(" in text


def test_writers_share_a_guard_with_what_is_said_between_them() -> None:
    text = made(MUCH + "model.save('a.h5')\nprint('saved')\nmodel.save('b.h5')\nprint('both')\n")
    assert (
        "if hvd.rank() == 0:\n    model.save('a.h5')\n    print('saved')\n    model.save('b.h5')\nprint('both')\n"
        in text
    )


def test_a_path_that_only_rank_0_has_may_be_printed_by_all() -> None:
    saved = "path = ckpt.save('x')\nprint('saved to %s' % path)\n"
    text = made("ckpt = tf.train.Checkpoint(model=model)\n" + MUCH + saved)
    assert "path = ckpt.save('x') if hvd.rank() == 0 else None\nprint('saved to %s' % path)\n" in text


def test_an_if_that_also_saves_is_guarded_as_a_whole() -> None:
    text = made(MUCH + "if a:\n    print(1)\n    model.save('a.h5')\n")
    assert "if a and hvd.rank() == 0:\n    print(1)\n    model.save('a.h5')\n" in text


def test_bars_on_standard_error_are_still_off_elsewhere() -> None:
    text = made("from tqdm import tqdm\n" + MUCH + "for i in tqdm(range(3)):\n    look(i)\n")
    assert "disable=hvd.rank() != 0" in text
