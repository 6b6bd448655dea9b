"""Rules at the ends of cells and beside a notebook's commands."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Refusal
from horovodize.summary import summarize
from tests.rules.pairs import FIT, MODEL, STEP, TF, refused
from tests.source.notebooks import document, sources

COMPILED = MODEL + "model.compile(o.SGD(0.1))"


def result(*cells: str) -> Plan | Refusal:
    made = distribute(summarize(document(*cells)), Options(comments=False, output="guard"))
    assert isinstance(made, (Plan, Refusal))
    return made


def distributed(*cells: str) -> list[str]:
    """The cells after distributing."""
    plan = result(*cells)
    assert isinstance(plan, Plan), plan.reasons
    return list(sources(plan.document.edited(plan.edits)))


def test_a_guard_ends_with_its_cell() -> None:
    cells = distributed(
        COMPILED, "print(1)\nprint(2)", "print(3)\n\nprint(4)\n", FIT, "print(5)", "%cd x\nprint(6)"
    )
    assert cells[1] == "if hvd.rank() == 0:\n    print(1)\n    print(2)"
    assert cells[2] == "if hvd.rank() == 0:\n    print(3)\n\n    print(4)\n"
    assert cells[4] == "if hvd.rank() == 0:\n    print(5)"
    assert cells[5] == "%cd x\nif hvd.rank() == 0:\n    print(6)"


def test_commands_between_outputs_stay_where_they_are() -> None:
    cells = distributed(COMPILED, FIT, "print(1)\n!ls\nprint(2)")
    assert cells[2] == "if hvd.rank() == 0:\n    print(1)\n!ls\nif hvd.rank() == 0:\n    print(2)"


def test_the_head_goes_to_the_imports_and_ends_no_cell_with_blank_lines() -> None:
    build = "model = tf.keras.Sequential([])\nmodel.compile('sgd')\n"
    cells = distributed("import os", TF + "%matplotlib inline\nimport sys", build + FIT)
    head = TF + "import horovod.tensorflow.keras as hvd\n%matplotlib inline\nimport sys\n\nhvd.init()\n"
    assert cells[0] == "import os"
    assert cells[1].startswith(head)
    assert cells[1] == cells[1].rstrip()


def test_a_fit_behind_a_command_is_distributed_in_its_line() -> None:
    (cell,) = distributed(COMPILED, "%time history = model.fit(x, y, verbose=0)")[1:]
    assert cell.startswith("%time history = model.fit(shard(x), shard(y), verbose=0, callbacks=[hvd.")
    assert "\n" not in cell


def test_a_step_behind_a_command_that_needs_more_lines_is_refused() -> None:
    step = "def step(x):\n" + "".join(f"    {line}\n" for line in STEP.splitlines())
    setup = MODEL + "opt = o.SGD(0.1)\n" + step
    made = result(setup, "for x in data:\n    %time step(x)")
    assert isinstance(made, Refusal)
    assert {str(made.document.place(r.span.start)).split(":")[0] for r in made.reasons} == {"cell 2"}


def test_a_deleted_line_leaves_no_empty_one() -> None:
    cells = distributed("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'", COMPILED, FIT)
    assert cells[0] == "import os"


@pytest.mark.parametrize("command", ["%env CUDA_VISIBLE_DEVICES=0", "%set_env CUDA_VISIBLE_DEVICES 1,2"])
def test_a_command_that_chooses_gpus_is_told(command: str) -> None:
    plan = result(f"%env A=1\n{command}", COMPILED, FIT)
    assert isinstance(plan, Plan)
    (note,) = [n for n in plan.notes if n.rule == "C3"]
    assert command in note.message
    assert str(plan.document.place(note.span.start)) == "cell 1:2:1"


OWN = """\
class Descent:
    def apply_gradients(self, pairs):
        for gradient, variable in pairs:
            move(variable, gradient)
"""
DERIVED = """\
class Mine(tf.keras.optimizers.SGD):
    def apply_gradients(self, pairs):
        return super().apply_gradients(pairs)
"""


@pytest.mark.parametrize(
    "made",
    [
        "opt = Descent()\n" + STEP,
        "class Faster(Descent):\n    pass\nopt = Faster()\n" + STEP,
        "def train(opt):\n" + "".join(f"    {line}\n" for line in STEP.splitlines()) + "train(Descent())\n",
    ],
)
def test_an_optimizer_of_the_users_own_making_is_refused(made: str) -> None:
    refused(MODEL + OWN + made, "HVD006", "a class of this file that is no TensorFlow optimizer")


def test_a_derived_optimizer_with_a_method_of_that_name_is_none_of_these() -> None:
    loop = "for x in data:\n" + "".join(f"    {line}\n" for line in STEP.splitlines())
    made = result(MODEL + DERIVED + "opt = Mine(0.1)\n" + loop)
    assert not (isinstance(made, Refusal) and any("is an object of" in r.message for r in made.reasons))
