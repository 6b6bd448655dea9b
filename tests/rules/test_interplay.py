"""Rules at one place: what each writes must stand where it means what it says."""

from __future__ import annotations

import ast
import textwrap

import pytest

from .pairs import MODEL, TF, doubts, plan_of

STEP = MODEL + (
    "opt = o.SGD(0.1)\ndef train_step(x):\n    with tf.GradientTape() as tape:\n        cost = model(x)\n"
    "    opt.apply_gradients(zip(tape.gradient(cost, model.trainable_variables), model.trainable_variables))\n    return cost\n"
)


def loop_of(text: str) -> ast.For:
    """The last loop at module level of a distributed program."""
    return [s for s in ast.parse(text).body if isinstance(s, ast.For)][-1]


def test_a_step_inside_a_print_is_lifted_and_what_follows_is_not_swallowed_by_the_first_broadcast() -> None:
    body = 'print("loss", train_step(x))\nif n % 5 == 0:\n    model.save("m")\nn += 1\n'
    plan = plan_of(STEP + "n = 0\nfor x in data:\n" + textwrap.indent(body, "    "))
    statements = [ast.unparse(s) for s in loop_of(plan.text).body]
    assert statements[0] == "loss = train_step(x)"
    assert statements[1] == "if hvd.rank() == 0:\n    print('loss', loss)"
    assert statements[2].startswith("if first_batch:")
    assert statements[2].count("\n") == 2
    assert statements[3] == "if n % max(1, 5 // hvd.size()) == 0 and hvd.rank() == 0:\n    model.save('m')"
    assert statements[4] == "n += 1"


def test_several_outputs_after_a_lifted_one_without_a_step_share_its_guard() -> None:
    source = MODEL + "model.compile('sgd')\nmodel.fit(x, y)\nprint(model.evaluate(x))\nprint('done')\n"
    text = plan_of(source).text
    assert text.count("if hvd.rank() == 0:") == 1
    assert text.endswith("if hvd.rank() == 0:\n    print(evaluation)\n    print('done')\n")


def test_statistics_come_after_a_fit_and_before_what_is_printed() -> None:
    source = MODEL + "model.add(tf.keras.layers.BatchNormalization())\nmodel.compile('sgd')\n"
    text = plan_of(source + "h = model.fit(x, y)\nprint(h.history)\nmodel.save('m')\n").text
    assert (
        text.index("h = model.fit(")
        < text.index("hvd.broadcast_variables(")
        < text.index("if hvd.rank() == 0:\n    print")
    )


def test_an_optimizer_made_in_an_argument_is_scaled_inside_its_wrapper() -> None:
    text = plan_of(MODEL + "model.compile(o.SGD(a + b), 'mse')\nmodel.fit(x, y)\n").text
    assert "model.compile(hvd.DistributedOptimizer(o.SGD((a + b) * hvd.size())), 'mse')" in text


def test_a_schedule_in_an_optimizer_in_compile_gets_all_three() -> None:
    text = plan_of(MODEL + "model.compile(o.SGD(o.schedules.CosineDecay(r, 100)))\nmodel.fit(x, y)\n").text
    inner = "o.schedules.CosineDecay(r * hvd.size(), 100 / hvd.size())"
    assert f"model.compile(hvd.DistributedOptimizer(o.SGD({inner})))" in text


def test_the_first_broadcast_stands_after_what_the_step_prints_and_before_the_next_statement() -> None:
    plan = plan_of(STEP + "for x in data:\n    loss = train_step(x)  # one step\n    print(loss)\n")
    body = loop_of(plan.text).body
    assert isinstance(body[1], ast.If)
    assert ast.unparse(body[1].test) == "first_batch"
    assert "    loss = train_step(x)  # one step\n    if first_batch:" in plan.text


def test_the_flag_of_an_inner_loop_stands_before_the_outer_one_and_its_output_stays_guarded() -> None:
    plan = plan_of(
        STEP
        + "for e in range(3):\n    print(e)\n    for x in data:\n        train_step(x)\n    print('end')\n"
    )
    assert "first_batch = True\nfor e in range(3):\n    if hvd.rank() == 0:\n        print(e)\n" in plan.text
    assert "            first_batch = False\n    if hvd.rank() == 0:\n        print('end')\n" in plan.text


def test_a_game_whose_rewards_are_kept_in_a_list_ends_on_all_ranks_together() -> None:
    body = (
        "rewards = []\nwhile not over:\n    state, reward, over = env.step(act(state))\n    rewards.append(reward)\n"
        "train_step(state)\nmean = 0.9 * mean + 0.1 * sum(rewards)\nif mean > 195:\n    break\n"
    )
    plan = plan_of(STEP + "mean = 0\nfor episode in range(400):\n" + textwrap.indent(body, "    "))
    assert "    if any_rank(mean > 195):\n" in plan.text
    assert doubts(plan, "G4")


def test_a_loop_that_awaits_its_batches_is_not_given_to_a_plain_generator() -> None:
    source = MODEL + (
        "model.compile('sgd')\nasync def train(batches):\n    async for x, y in batches:\n        model.train_on_batch(x, y)\n"
        "import asyncio\nasyncio.run(train(stream()))\n"
    )
    plan = plan_of(source)
    assert "    async for x, y in batches:\n" in plan.text
    assert [n for n in plan.notes if n.rule == "G4"]


@pytest.mark.parametrize("unit", ["  ", "    ", "\t"], ids=["two", "four", "tab"])
def test_everything_inserted_has_the_files_indentation(unit: str) -> None:
    source = TF + (
        "model = tf.keras.Sequential([])\nmodel.compile('sgd')\ndef main():\n    for e in range(3):\n"
        "        model.fit(x, y)\n        print(e)\n        model.save('m')\nmain()\n"
    )
    text = plan_of(source.replace("    ", unit)).text
    for line in text.splitlines():
        white = line[: len(line) - len(line.lstrip())]
        assert white == unit * (len(white) // len(unit)), line
