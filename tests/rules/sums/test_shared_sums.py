"""G5: sums of what each step gives, by which something happens, is computed or begins again, are those of all ranks."""

from __future__ import annotations

import textwrap

import pytest

from ..pairs import TF, doubts, plan_of

HEAD = (
    TF
    + """
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
def step(x, y, weight=1.0):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y) * weight
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
def save():
    model.save_weights("model.h5")
total, since, last, due = 0, 0, 0, 500
state = {"total": 0, "due": 500}
for epoch in range(9):
    for x, y in ds:
        loss = step(x, y)
        n = int(tf.reduce_sum(tf.cast(y > 0, tf.int32)))
"""
)
SUM = "sum_over_ranks"
DUE = "if total >= due:\n    save()\n    due += 500\n"
SINCE = "since += n\nif since >= 500:\n    save()\n    since = 0\n"
ITEM = "state['total'] += n\nif state['total'] >= state['due']:\n    save()\n    state['due'] += 500\n"


def text_of(turn: str, head: str = HEAD) -> str:
    plan = plan_of(head + textwrap.indent(turn, "        "))
    assert not doubts(plan, "G5", "C5", "G4")
    return plan.text


@pytest.mark.parametrize(
    "turn",
    [
        "total += n\n" + DUE,
        "total = total + n\n" + DUE,
        SINCE,
        SINCE.replace("since = 0", "since -= 500"),
        ITEM,
        "total += n\nif int(total) >= due:\n    save()\n    due += 500\n",
        "before = total\ntotal += n\nif total // 500 > before // 500:\n    save()\n",
        "opt.learning_rate.assign(0.1 * (1 - total / 9000))\ntotal += n\n",
        "total += n\nstep(x, y, min(1.0, total / 9000))\n",
        "total += len(str(n))\n" + DUE,
    ],
)
def test_what_is_added_is_that_of_all_ranks(turn: str) -> None:
    text = text_of(turn)
    assert text.count(f"{SUM}(") == 2  # with its definition
    assert f"+= {SUM}(n)" in text or f"+ {SUM}(n)" in text or f"+= {SUM}(len(str(n)))" in text
    assert "any_rank" not in text
    assert "* hvd.size() >=" not in text


def test_what_has_a_name_for_nothing_else_is_added_up_once() -> None:
    text = text_of(
        "total += n\nsince += n\nprint(n)\n"
        + DUE
        + SINCE.partition("\n")[2]
        + "if total % 700 < n:\n    save()\n"
    )
    assert f"n = {SUM}(int(" in text
    assert text.count(f"{SUM}(") == 2


@pytest.mark.parametrize("width", ["n", "64"])
def test_a_window_is_as_wide_as_what_all_ranks_add(width: str) -> None:
    text = text_of(f"y = y * n\ntotal += n\nif total % 700 < {width}:\n    save()\n")
    assert f"if total % 700 < {'sum_over_ranks(n)' if width == 'n' else '64 * hvd.size()'}" in text


def test_a_mean_by_such_a_sum_is_of_sums_of_all_ranks() -> None:
    turn = "last += float(loss) * n\ntotal += n\nif total >= 500:\n    print(last / total)\n    save()\n"
    turn += "    last, total = 0.0, 0\n"
    text = text_of(turn)
    assert f"last += {SUM}(float(loss) * n)" in text
    assert f"total += {SUM}(n)" in text


def test_a_loop_that_ends_by_it_needs_no_other_agreement() -> None:
    head = HEAD.replace("for epoch in range(9):", "while total < 9000:")
    text = text_of("total += n\n" + DUE, head)
    assert "while total < 9000:" in text
    assert f"total += {SUM}(n)" in text


def test_a_field_that_a_method_computes_a_rate_by() -> None:
    source = TF + textwrap.dedent("""
        class Trainer:
            def __init__(self):
                self.model = tf.keras.Sequential([])
                self.opt = tf.keras.optimizers.SGD(0.1)
                self.seen = 0
            def rate(self, seen):
                if seen < 500:
                    return 0.1 * seen / 500
                return 0.1
            def fit(self, ds):
                done = False
                while not done:
                    for x, y in ds:
                        self.opt.learning_rate.assign(self.rate(self.seen))
                        with tf.GradientTape() as tape:
                            loss = tf.reduce_mean(self.model(x) - y)
                        v = self.model.trainable_variables
                        self.opt.apply_gradients(zip(tape.gradient(loss, v), v))
                        self.seen += int(tf.reduce_sum(tf.cast(y > 0, tf.int32)))
                        if self.seen >= 9000:
                            done = True
                            break
        Trainer().fit(tf.data.Dataset.from_tensor_slices((a, b)).batch(4))
        """)
    plan = plan_of(source)
    assert not doubts(plan)
    assert f"self.seen += {SUM}(int(" in plan.text
    assert "if seen < 500:" in plan.text
    assert "assign(self.rate(self.seen) * hvd.size())" in plan.text
    assert "if self.seen >= 9000:" in plan.text


# ---------------------------------------------------------------------- near misses


@pytest.mark.parametrize(
    "turn",
    [
        "total += n\n",
        "total += n\nprint(total)\n",
        "total += n\nif total % 700 < n:\n    print(total)\n",  # what is only shown
        "total += n\nif total >= 9000:\n    break\n",  # scaled where it is compared
        "total += float(loss)\nprint(total / 10)\n",
        "total += 4\n" + DUE,  # counts steps
        "total += n\nif n >= 3:\n    save()\n",
    ],
)
def test_sums_that_nothing_more_goes_by(turn: str) -> None:
    assert SUM not in text_of(turn)


def test_a_sum_that_begins_again_with_each_epoch_is_none() -> None:
    """What an epoch has measured is averaged there."""
    source = (
        HEAD.replace("    for x, y in ds:", "    total = 0.0\n    for x, y in ds:")
        + "        total += float(loss)\n"
    )
    text = plan_of(
        source + "    if total < last:\n        opt.learning_rate.assign(0.01)\n    last = total\n"
    ).text
    assert SUM not in text


@pytest.mark.parametrize(
    "turn",
    [
        "if n > 2:\n    total += n\n" + DUE,
        "if loss != loss:\n    continue\ntotal += n\n" + DUE,
        "total += n\nif total % 700 == 0:\n    save()\n",
        "total += n\nmean = last / total\n" + DUE,
    ],
)
def test_sums_that_can_not_be_told_are_asked_about(turn: str) -> None:
    plan = plan_of(HEAD + textwrap.indent(turn, "        "))
    assert SUM not in plan.text
    assert any("this sum is of a rank's own steps" in doubt for doubt in doubts(plan, "G5"))


def test_what_is_not_divided_is_whole() -> None:
    plan = plan_of(HEAD + textwrap.indent("total += n\n" + DUE, "        "), split_data=False)
    assert SUM not in plan.text


PATIENT = HEAD.replace("for epoch in range(9):", "bad, best = 0, 1e9\nwhile bad < 3:")
CHECKED = "    mean = float(tf.reduce_mean(model(a) - b))\n    if mean < best:\n"
CHECKED += "        best, bad = mean, 0\n    else:\n        bad += 1\n"
RATE = "opt.learning_rate.assign(0.1 * 0.5 ** ({read} / 5000))\n"


@pytest.mark.parametrize(
    ("begun", "read", "adds"),
    [
        ("rows = 0", "rows", "rows += {}"),
        ("rows = tf.Variable(0)", "float(rows)", "rows.assign_add({})"),
        ("rows = tf.Variable(0)", "int(rows.numpy())", "rows.assign_add({})"),
    ],
)
@pytest.mark.parametrize("amount", ["len(x)", "int(tf.shape(x)[0])", "n"])
def test_a_rate_by_what_ranks_may_count_differently(begun: str, read: str, adds: str, amount: str) -> None:
    """A rank's last batch may be smaller: the rate was refused where the loop ends by what is measured."""
    turn = RATE.format(read=read) + adds.format(amount) + "\n"
    plan = plan_of(
        PATIENT.replace("bad, best", begun + "\nbad, best", 1) + textwrap.indent(turn, "        ") + CHECKED
    )
    assert adds.format(f"{SUM}({amount})") in plan.text
    assert f"({read} / 5000) * hvd.size())" in plan.text


def test_a_variable_that_is_set_to_something_else_is_no_sum() -> None:
    turn = "rows.assign_add(n)\nif int(rows) >= due:\n    save()\n    due += 500\n    rows.assign(n)\n"
    assert (
        SUM
        not in plan_of(
            HEAD.replace("total, since", "rows = tf.Variable(0)\ntotal, since", 1)
            + textwrap.indent(turn, "        ")
        ).text
    )


LOSSES = "last += float(loss)\nif n % 2:\n    {}\n    last = 0.0\n"


@pytest.mark.parametrize(
    "then",
    [
        # the least of such sums is as large on each rank as they are
        "if last < best:\n        best = last\n        save()",
        "best = min(best, last)\n    if last <= best:\n        save()",
        "mean = last / 100\n    if mean < best:\n        best = mean\n        save()",
    ],
)
def test_losses_that_are_compared_with_the_least_so_far_stay(then: str) -> None:
    head = HEAD.replace("total, since", "best = 1e9\ntotal, since", 1)
    plan = plan_of(head + textwrap.indent(LOSSES.format(then), "        "))
    assert SUM not in plan.text
    assert not doubts(plan, "G5")


def test_a_mean_of_losses_by_a_ranks_steps_stays_one() -> None:
    turn = "last += float(loss)\nsince += 1\nif last > 100:\n    save()\n    print(last / since)\n    last, since = 0.0, 0\n"
    plan = plan_of(HEAD + textwrap.indent(turn, "        "))
    assert SUM not in plan.text
    assert any("this sum is of a rank's own steps" in doubt for doubt in doubts(plan, "G5"))


@pytest.mark.parametrize(
    ("begun", "shared"),
    [
        ("total, losses, due = 0, [], 500", True),
        ("total, due = int(saved['total']), 500", True),
        ("total, due = read(), 500", False),  # near misses: what may be an array
        ("total, due = np.zeros(2), 500", False),
    ],
)
def test_what_a_sum_begins_with(begun: str, shared: bool) -> None:
    head = HEAD.replace("total, since, last, due = 0, 0, 0, 500", begun)
    text = plan_of(head + textwrap.indent("total += n\n" + DUE, "        ")).text
    assert (f"total += {SUM}(n)" in text) is shared


def test_the_parts_of_one_steps_loss_are_no_sum_of_steps() -> None:
    """Summed over ranks, its gradients would be those of all ranks, size() times."""
    before = "        loss = tf.reduce_mean(model(x) - y) * weight\n"
    parts = (
        "        loss = one = two = 0\n        for k in range(3):\n            found = measure(x, y, k)\n"
        "            one += found[0]\n            two += found[1]\n        loss = one + two\n"
    )
    measure = (
        "def measure(x, y, k):\n    return tf.reduce_mean(model(x) - y), tf.reduce_mean(model(x) + y) * k\n"
    )
    head = HEAD.replace("def step(", measure + "def step(").replace(before, parts)
    assert before not in head
    assert SUM not in plan_of(head).text


def test_nor_are_those_that_a_function_adds_up_for_the_tape() -> None:
    before = "        loss = tf.reduce_mean(model(x) - y) * weight\n"
    measure = (
        "def measure(x, y):\n    total = 0\n    if FLAG:\n        for k in range(3):\n"
        "            total += tf.reduce_mean(model(x) - y) * k\n    return total\n"
    )
    head = HEAD.replace("def step(", measure + "def step(").replace(before, "        loss = measure(x, y)\n")
    plan = plan_of(head)
    assert SUM not in plan.text
    assert not doubts(plan, "G5")


def test_what_begins_again_with_each_step_is_of_that_step() -> None:
    turn = "since = 0\nfor k in range(3):\n    since += n\n" + SINCE.split("\n", 1)[1].replace(
        "    since = 0\n", ""
    )
    assert SUM not in plan_of(HEAD + textwrap.indent(turn, "        ")).text


def test_a_variable_that_losses_are_made_with_is_changed_once() -> None:
    """It is averaged where it is set; both changes of one expression were no valid Python."""
    head = HEAD.replace("* weight", "* (weight + penalty)").replace(
        "total, since", "penalty = tf.Variable(0.0)\ntotal, since", 1
    )
    text = plan_of(head + "        penalty.assign_add(0.01 * tf.reduce_mean(model(x)))\n").text
    assert "penalty.assign_add(hvd.allreduce(0.01 * tf.reduce_mean(model(x)) * hvd.size()))" in text


BASELINE = (
    "{}\nmean = total / (k + 1)\nwith tf.GradientTape() as tape:\n"
    "    again = tf.reduce_mean(model(x)) * (float(loss) - mean)\nw = model.trainable_variables\n"
    "opt.apply_gradients(zip(tape.gradient(again, w), w))\n"
)


@pytest.mark.parametrize("adds", ["total += float(loss)", "r = float(loss)\ntotal += r", "total += n"])
@pytest.mark.parametrize("begun", ["", "total = 0.0\n"])
def test_a_mean_by_the_steps_of_a_rank_is_of_its_own_sum(adds: str, begun: str) -> None:
    """Of the sum of all ranks it would be size() times as large."""
    head = HEAD.replace("for x, y in ds:", "for k, (x, y) in enumerate(ds):").replace(
        "for epoch", begun + "for epoch"
    )
    plan = plan_of(head + textwrap.indent(BASELINE.format(adds), "        "))
    assert SUM not in plan.text
    assert doubts(plan, "G2", "G5")


# ---------------------------------------------------------------------- in a traced step

TRACED = (
    TF
    + """
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
tokens = tf.Variable(0, dtype=tf.int64, trainable=False)
due = 500
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    tokens.assign_add(tf.reduce_sum(tf.cast(y > 0, tf.int64)))
    return loss
for epoch in range(9):
    for x, y in ds:
        loss = step(x, y)
"""
)
SHARED = f"tokens.assign_add({SUM}(tf.reduce_sum(tf.cast(y > 0, tf.int64))))"
SAVES = "    model.save_weights('model.h5')\n"


@pytest.mark.parametrize(
    ("turn", "after"),
    [
        (f"if int(tokens) >= due:\n{SAVES}    due += 500\n", "if int(tokens) >= due and hvd.rank() == 0:"),
        (f"if int(tokens) % 700 < 64:\n{SAVES}", "if int(tokens) % 700 < 64 * hvd.size()"),
        (f"if tokens.numpy() % 700 < 64:\n{SAVES}", "if tokens.numpy() % 700 < 64 * hvd.size()"),
        (
            "opt.learning_rate.assign(0.1 * (1 - int(tokens) / 9000))\n",
            "(0.1 * (1 - int(tokens) / 9000) * hvd.size())",
        ),
    ],
)
def test_a_variable_that_a_traced_step_adds_to(turn: str, after: str) -> None:
    text = text_of(turn, TRACED)
    assert SHARED in text
    assert after in text


@pytest.mark.parametrize("read", ["tokens", "int(tokens)", "tokens.numpy()"])
def test_a_number_that_it_is_compared_with_alone_is_for_a_ranks_own_sum(read: str) -> None:
    text = text_of(f"if {read} >= 9000:\n    break\n", TRACED)
    assert SUM not in text
    assert f"if any_rank({read} * hvd.size() >= 9000):" in text


ADDING = "tokens.assign_add(tf.reduce_sum(tf.cast(y > 0, tf.int64)))"
NAMED = f"""def add():
        {ADDING}
        return tokens
    def wait():
        return tokens
    tf.cond(loss < 2.0, add, wait)"""


@pytest.mark.parametrize(
    "adding",
    [
        f"if loss < 2.0:\n        {ADDING}",
        f"if tf.reduce_any(y > 2):\n        {ADDING}",
        f"tf.cond(loss < 2.0, lambda: {ADDING}, lambda: tokens)",
        NAMED,
    ],
)
def test_what_a_traced_step_adds_by_its_rows_alone_is_asked_about(adding: str) -> None:
    plan = plan_of(
        TRACED.replace(ADDING, adding)
        + textwrap.indent(f"if int(tokens) >= due:\n{SAVES}    due += 500\n", "        ")
    )
    assert SUM not in plan.text
    assert any("this sum is of a rank's own steps" in doubt for doubt in doubts(plan, "G5"))


def test_what_is_added_in_other_loops_too_is_no_sum_of_steps() -> None:
    """Validation without a step: not all ranks go through the same number of batches there."""
    head = TRACED.replace(ADDING, "count(y)").replace(
        "@tf.function", f"@tf.function\ndef count(y):\n    {ADDING}\n@tf.function"
    )
    turn = textwrap.indent(f"if int(tokens) >= due:\n{SAVES}    due += 500\n", "        ")
    assert SHARED in plan_of(head + turn).text
    plan = plan_of(head.replace("for epoch", "for x, y in held:\n    count(y)\nfor epoch") + turn)
    assert SUM not in plan.text


# ---------------------------------------------------------------------- where ranks could wait for each other

COUNT = """\
def count(n):
    global total, due
    total += n
    if total >= due:
        due += 500
        return True
    return False
"""


@pytest.mark.parametrize(
    "turn",
    [
        "for row in y[y > 2]:\n    total += int(row)\n" + DUE,  # of some ranks more rows
        "for row in y:\n    total += int(row)\n" + DUE,  # a last batch may be smaller
        "k = n\nwhile k > 0:\n    total += n\n    k -= 3\n" + DUE,
        "if float(loss) < 2 and count(n):\n    save()\n",
        "if count(n) if float(loss) < 2 else False:\n    save()\n",
    ],
)
def test_what_ranks_add_up_a_different_number_of_times_is_asked_about(turn: str) -> None:
    head = HEAD.replace("total, since", COUNT + "total, since") if "count(n)" in turn else HEAD
    plan = plan_of(head + textwrap.indent(turn, "        "))
    assert SUM not in plan.text
    assert any("this sum is of a rank's own steps" in doubt for doubt in doubts(plan, "G5"))


def test_a_loop_of_as_many_turns_on_all_ranks_is_none_of_them() -> None:
    assert f"total += {SUM}(n)" in text_of("for part in range(3):\n    total += n\n" + DUE)


@pytest.mark.parametrize("rows", ["len(x)", "int(x.shape[0])"])
@pytest.mark.parametrize(
    "then", ["print(last / total)\n    save()", "if last / total > 0.9:\n        save()"]
)
def test_rows_that_a_mean_is_of_are_those_of_all_ranks_where_an_event_goes_by_them(
    rows: str, then: str
) -> None:
    """The event came after size() times as many rows."""
    turn = f"total += {rows}\nlast += int(tf.reduce_sum(tf.cast(tf.abs(y - 3) < 1, tf.int32)))\n"
    text = text_of(turn + f"if total >= 500:\n    {then}\n    total, last = 0, 0\n")
    assert f"total += {SUM}({rows})" in text
    assert f"last += {SUM}(int(" in text
    assert "if total >= 500" in text


@pytest.mark.parametrize("added", ["float(loss) - 1", "-n", "n - 3", "0.1 * (n - total)"])
def test_what_may_go_back_is_no_sum(added: str) -> None:
    plan = plan_of(HEAD + textwrap.indent(f"total += {added}\n" + DUE, "        "))
    assert SUM not in plan.text


@pytest.mark.parametrize("turn", ["y = y + 0.5 * model(x)", "y += table[n]", "x = x + table[n]"])
def test_a_batch_that_is_added_to_is_no_sum(turn: str) -> None:
    head = HEAD.replace("        loss = step", f"        {turn}\n        loss = step").replace(
        "total, since", "table = tf.zeros(9)\nn, total, since", 1
    )
    text = plan_of(
        head.replace("n, total, since, last, due = 0, 0,", "n, total, since, last, due = 0, 0, 0,")
    ).text
    assert "sum_over_ranks" not in text
    assert f"        {turn}\n" in text
