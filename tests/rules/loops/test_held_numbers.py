"""G4 and S5: loops that select their rows by a number of steps which an object or a dictionary holds."""

from __future__ import annotations

import textwrap

import pytest

from ..pairs import TF, plan_of

HEAD = (
    TF
    + "import json, os\nimport numpy as np\n"
    + """
x = np.random.RandomState(0).rand(400, 3)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)


def train(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


"""
)
LOAD = """\
def load():
    if not os.path.exists("state.json"):
        return {"step": 0, "best": None}
    with open("state.json") as f:
        return json.load(f)
"""
SAVE = 'with open("state.json", "w") as f:\n    json.dump(state, f)\n'


def distributed(body: str) -> str:
    """What becomes of a program, without anything being asked."""
    plan = plan_of(HEAD + textwrap.dedent(body).lstrip("\n"))
    asked = [c.doubt for c in plan.to_confirm]
    assert asked == [], asked
    assert not [n.message for n in plan.notes if "every rank trains on all of it" in n.message]
    return plan.text


def own_rows(body: str) -> list[str]:
    return [line.strip() for line in distributed(body).splitlines() if "own_" in line]


@pytest.mark.parametrize("made", ['{"step": 0}', 'dict(step=0) if False else {"step": 0}'])
def test_an_item_of_a_dictionary(made: str) -> None:
    text = distributed(f"""
        state = {made}
        while state["step"] < 100:
            train(x[state["step"] * 4 : state["step"] * 4 + 4])
            state["step"] += 1
        """)
    assert 'while state["step"] < 100 // hvd.size():\n' in text
    assert '    own_step = state["step"] * hvd.size() + hvd.rank()\n' in text
    assert "    train(x[own_step * 4 : own_step * 4 + 4])\n" in text


def test_a_field() -> None:
    assert own_rows("""
        class Run:
            def __init__(self):
                self.step = 0
            def go(self):
                while self.step < 100:
                    i = self.step
                    train(x[i * 4 : i * 4 + 4])
                    self.step += 1
        Run().go()
        """) == ["own_step = self.step * hvd.size() + hvd.rank()", "i = own_step"]


def test_one_that_goes_on_from_a_file_is_that_of_all_ranks() -> None:
    """It goes on by size(), so a rank's own is as far on from it as there are ranks before this one."""
    text = distributed(
        LOAD
        + """
state = load()
while state["step"] < 100:
    lo = state["step"] * 4
    train(x[lo : lo + 4])
    state["step"] += 1
"""
        + SAVE
    )
    assert '    own_step = min(state["step"] + hvd.rank(), 99)\n    lo = own_step * 4\n' in text
    assert '    state["step"] += hvd.size()\n' in text
    assert 'while state["step"] < 100:\n' in text


@pytest.mark.parametrize("start", ['load()["step"]', "int(open('step.txt').read())"])
def test_a_name_that_begins_where_a_file_says(start: str) -> None:
    """What the number selects by, and what goes by it, is told apart."""
    text = distributed(
        LOAD
        + f"""
step = {start}
while step < 100:
    i = step
    opt.learning_rate.assign(0.1 if i < 50 else 0.01)
    train(x[i * 4 : i * 4 + 4])
    step += 1
    if step % 10 == 0:
        with open("state.json", "w") as f:
            json.dump({{"step": step}}, f)
        open("step.txt", "w").write(str(step))
"""
    )
    assert "    own_step = min(step + hvd.rank(), 99)\n    i = step\n    own_i = own_step\n" in text
    assert "    train(x[own_i * 4 : own_i * 4 + 4])\n" in text
    assert "    step += hvd.size()\n    if step % 10 < hvd.size()" in text


def test_rows_of_a_method_that_go_by_where_a_run_goes_on_are_asked_about() -> None:
    """All ranks go on from rank 0's number, and the method reads no other: it can't be told a rank's own."""
    body = """
class Run:
    def __init__(self):
        self.step = 0
    def load(self):
        if os.path.exists("state.json"):
            self.step = json.load(open("state.json"))["step"]
    def batch(self):
        return x[self.step * 4 % 400 :][:4]
    def go(self):
        while self.step < 100:
            train(self.batch())
            self.step += 1
            json.dump({"step": self.step}, open("state.json", "w"))
run = Run()
run.load()
run.go()
"""
    asked = [c.doubt for c in plan_of(HEAD + body).to_confirm]
    assert any(d.startswith("all ranks are given the same rows here") for d in asked)


def test_the_last_number_is_the_bound_where_that_counts() -> None:
    """`<=`; by a name, which may be another number each time"""
    body = LOAD + 'LAST = int(os.environ["LAST"])\nstate = load()\nwhile state["step"] {} LAST:\n    '
    body += 'train(x[state["step"] * 4 : state["step"] * 4 + 4])\n    state["step"] += 1\n' + SAVE
    assert 'own_step = min(state["step"] + hvd.rank(), LAST)' in own_rows(body.replace("{}", "<="))
    assert 'own_step = min(state["step"] + hvd.rank(), LAST - 1)' in own_rows(body.replace("{}", "<"))


def test_what_counts_by_it_goes_by_the_steps_of_all_ranks() -> None:
    text = distributed("""
        state = {"step": 0}
        while state["step"] < 100:
            i = state["step"]
            opt.learning_rate.assign(0.1 if i < 50 else 0.01)
            train(x[i * 4 : i * 4 + 4])
            state["step"] += 1
            if state["step"] % 10 == 0:
                print(state["step"])
        """)
    assert "    own_i = own_step\n" in text
    assert "    train(x[own_i * 4 : own_i * 4 + 4])\n" in text
    assert "if i < 50 // hvd.size() else" in text or "i * hvd.size() < 50" in text
    assert 'if state["step"] % max(1, 10 // hvd.size()) == 0' in text


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    "body",
    [
        # it begins elsewhere
        'state = {"step": 7}\nwhile state["step"] < 100:\n    train(x[state["step"] * 4 :][:4])\n    state["step"] += 1\n',
        # a name that begins elsewhere, at what no file says
        "import random\nstep = random.randint(0, 9)\nwhile step < 100:\n    train(x[step * 4 :][:4])\n    step += 1\n",
        # moved on before it selects
        'state = {"step": 0}\nwhile state["step"] < 99:\n    state["step"] += 1\n    train(x[state["step"] * 4 :][:4])\n',
        # not in every turn
        'state = {"step": 0}\nwhile state["step"] < 99:\n    loss = train(x[state["step"] * 4 :][:4])\n    if loss < 1:\n'
        '        state["step"] += 1\n',
        # by two
        'state = {"step": 0}\nwhile state["step"] < 100:\n    train(x[state["step"] * 4 :][:4])\n    state["step"] += 2\n',
        # a number that a file gives, in a loop that shows no last number
        LOAD
        + 'state = load()\nwhile True:\n    train(x[state["step"] * 4 :][:4])\n    state["step"] += 1\n'
        + '    if state["step"] >= 100:\n        break\n'
        + SAVE,
    ],
)
def test_others_are_left_whole_and_said(body: str) -> None:
    plan = plan_of(HEAD + body)
    said = [n.message for n in plan.notes] + [c.doubt for c in plan.to_confirm]
    assert "own_" not in plan.text
    assert any("all of it" in s or "the same rows" in s for s in said), said


def test_a_number_that_selects_no_rows() -> None:
    text = distributed("""
        state = {"step": 0, "name": 0}
        names = ["a", "b"]
        for rows in tf.data.Dataset.from_tensor_slices(x).batch(4):
            train(rows)
            state["step"] += 1
            if state["step"] % 50 == 0:
                print(names[state["step"] // 50 - 1])
        """)
    assert "own_" not in text
