"""G4: steps that all ranks take or none, where functions and outer loops decide about them."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import plan_of

HEAD = """\
import gym, random
import numpy as np
import tensorflow as tf

env = gym.make("CartPole-v1")
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
opt = tf.keras.optimizers.Adam()
memory = []


def train():
    x = tf.stack(random.sample(memory, 8))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


def play():
    state, done, length, score = env.reset(), False, 0, 0
    while not done:
        state, reward, done, _ = env.step(int(tf.argmax(model(state[None])[0])))
        memory.append(state)
        length += 1
        score += reward
    return length, score


"""


def lines(source: str) -> list[str]:
    return plan_of(HEAD + source).text.splitlines()


@pytest.mark.parametrize(
    "source",
    [
        "def learn(n):\n    if n < 8:\n        return\n    train()\n\nfor e in range(9):\n    play()\n    learn(64)\n",
        "def learn():\n    if not model.built:\n        return\n    train()\n\n"
        "for e in range(9):\n    play()\n    learn()\n",
        # another function's `return`, and one that comes after the step
        "def learn():\n    def few():\n        return len(memory)\n    train()\n    if len(memory) > 9:\n        return\n"
        "    few()\n\n"
        "for e in range(9):\n    play()\n    learn()\n",
        "for e in range(9):\n    play()\n    if e > 3:\n        for i in range(4):\n            train()\n",
        "for e in range(9):\n    play()\n    for i in range(4):\n        train()\n",
        # as many games as before
        "lengths = []\nfor e in range(9):\n    lengths.append(play()[0])\n    for i in range(len(lengths)):\n        train()\n",
    ],
)
def test_what_all_ranks_decide_alike_is_left(source: str) -> None:
    text = plan_of(HEAD + source).text
    assert "any_rank" not in text
    assert "broadcast_object" not in text


def test_a_function_that_trains_once_enough_is_gathered() -> None:
    learn = "def learn():\n    if len(memory) < 8:\n        return\n    train()\n\n"
    loop = "for e in range(9):\n    play()\n    learn()\n"
    assert "    if any_rank(len(memory) < 8):" in lines(learn + loop)


def test_a_guard_around_a_loop_of_steps() -> None:
    loop = "for e in range(9):\n    play()\n    if len(memory) > 8:\n        for i in range(4):\n            train()\n"
    assert "    if not any_rank(not (len(memory) > 8)):" in lines(loop)


@pytest.mark.parametrize(
    ("test", "all_of_them"),
    [
        ("len(memory) >= 8", True),
        ("8 <= len(memory)", True),
        ("len(memory) >= 8 and len(memory) > n", True),
        ("len(memory) >= 8 or s > 3", False),
        ("s > 3", False),
        ("len(memory) < 500", False),
    ],
)
def test_a_rank_that_has_gathered_too_little_is_waited_for(test: str, all_of_them: bool) -> None:
    loop = f"for e in range(9):\n    n, s = play()\n    if {test}:\n        train()\n"
    assert (f"not any_rank(not ({test}))" if all_of_them else f"if any_rank({test})") in plan_of(
        HEAD + loop
    ).text


def test_a_turn_without_steps() -> None:
    loop = "for e in range(9):\n    n, s = play()\n    if s > 100:\n        continue\n    for i in range(4):\n        train()\n"
    assert "    if any_rank(s > 100):" in lines(loop)


def test_a_function_that_trains_under_a_condition() -> None:
    learn = "def learn(s):\n    if s < 100:\n        train()\n\nfor e in range(9):\n    n, s = play()\n    learn(s)\n"
    assert "    if any_rank(s < 100):" in lines(learn)


def test_as_many_steps_as_a_game_was_long() -> None:
    plan = plan_of(
        HEAD + "for e in range(9):\n    length, s = play()\n    for i in range(length):\n        train()\n"
    )
    assert "    length = least(length)\n    for i in range(length):\n" in plan.text
    assert any("as many steps as its own game gives" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    "source",
    [
        # each rank another model's step
        "def learn(s):\n    if s < 100:\n        train()\n    else:\n        train()\n\n"
        "for e in range(9):\n    n, s = play()\n    learn(s)\n",
        "def learn(s, n):\n    if n > 3:\n        if s < 100:\n            return\n    train()\n\n"
        "for e in range(9):\n    n, s = play()\n    learn(s, n)\n",
        # what is gone through is a rank's own
        "def game():\n    states = []\n    while not env.over:\n        state, reward, done, _ = env.step(1)\n"
        "        states.append(state)\n        if done:\n            break\n    return states\n\n"
        "for e in range(9):\n    memory = game()\n    for state in memory:\n        train()\n",
    ],
)
def test_what_cannot_be_agreed_on_is_refused(source: str) -> None:
    result = distribute(summarize(Document(HEAD + source)))
    assert isinstance(result, Refusal)
    assert {r.code for r in result.reasons} & {"HVD205", "HVD006"}


def test_a_test_of_what_training_on_draws_gives_is_taken_together() -> None:
    """The rows are drawn by each rank, and what training on them gives shows it: that is no reason to refuse."""
    plan = plan_of(
        "import numpy as np\nimport tensorflow as tf\nx = np.load('x.npy')\n"
        "d = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nd.compile('adam', 'mse', ['accuracy'])\nright = 0\n"
        "for i in range(100):\n    rows = x[np.random.randint(0, 100, 8)] + np.random.normal(0, 0.1, (8, 4))\n"
        "    if right < 90:\n        loss = d.train_on_batch(rows, np.ones((8, 1)))\n"
        "    else:\n        loss = d.test_on_batch(rows, np.ones((8, 1)))\n    right = 100 * loss[1]\n"
    )
    assert "if any_rank(right < 90):" in plan.text
    assert any("values of its own" in c.doubt for c in plan.changes)


ROWS = """\
import gym
import numpy as np
import tensorflow as tf

env = gym.make("CartPole-v1")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")


def episode():
    states, rewards = [], []
    state, done = env.reset(), False
    {}:
        states.append(state)
        state, reward, done, _ = env.step(env.action_space.sample())
        rewards.append(reward)
    return np.array(states), np.array(rewards)


def build(found):
    return np.concatenate([f["x"] for f in found]), np.concatenate([f["y"] for f in found])


def fit(x, y):
    model.fit(x, y, epochs=3{})


for i in range(30):
    found = []
    for k in range(5):
        x, y = episode()
        found.append({{"x": x, "y": y}})
    x, y = build(found)
    fit(x, y)
"""


def outcome(turns: str, size: str = "", source: str = ROWS) -> object:
    return distribute(summarize(Document(source.format(turns, size))))


def test_rows_of_games_as_long_as_each_rank_plays_are_no_data_of_a_fit() -> None:
    """Ranks would take different numbers of steps."""
    refusal = outcome("while not done", source=ROWS.replace("y = build(found)", "y = episode()"))
    assert isinstance(refusal, Refusal)
    assert [r.code for r in refusal.reasons] == ["HVD006"]


@pytest.mark.parametrize(
    ("turns", "size"), [("for t in range(200)", ""), ("while not done", ", batch_size=len(x)")]
)
def test_games_of_so_many_turns_or_all_rows_in_one_step_are(turns: str, size: str) -> None:
    assert not isinstance(outcome(turns, size), Refusal)


@pytest.mark.parametrize("made", ["{'step': 0}", "dict(step=0)", "{k: 0 for k in ('step',)}"])
def test_a_dictionary_that_has_a_method_of_the_same_name_trains_nothing(made: str) -> None:
    """`self.state.update(saved)` is no `update` of the class around it."""
    source = f"""\
import json, os
import numpy as np
import tensorflow as tf
x, y = np.random.RandomState(0).rand(96, 4), np.random.RandomState(1).rand(96, 1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.SGD(0.1)
class Trainer:
    def __init__(self):
        self.state = {made}
    def update(self, rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x[rows]) - y[rows]) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    def run(self):
        if os.path.exists("state.json"):
            self.state.update(json.load(open("state.json")))
        for i in range(0, 96, 8):
            self.update(slice(i, i + 8))
Trainer().run()
"""
    assert "tape = hvd.DistributedGradientTape(tape)" in plan_of(source).text


# ---------------------------------------------------------------------- datasets of what games have given

PLAYED = """
def game(n):
    states = []
    state, done = env.reset(), False
    {turn}
        states.append(state)
        state, reward, done, _ = env.step(int(tf.argmax(model(state[None])[0])))
    return np.array(states)


for e in range(9):
    rows = game(200)
    data = tf.data.Dataset.from_tensor_slices({given}).shuffle(200){batches}
    for x in {loop}:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
UNTIL_DONE, FOR_LONG = "while not done:", "for _ in range(n):"


@pytest.mark.parametrize(
    ("turn", "given", "batches", "loop", "after"),
    [
        (UNTIL_DONE, "rows", ".batch(8)", "data", "together(data)"),
        (UNTIL_DONE, "(rows, rows)", ".repeat(3).batch(8)", "enumerate(data)", "enumerate(together(data))"),
        (UNTIL_DONE, "(rows, rows)", ".repeat().batch(8)", "data.take(5)", "data.take(5)"),
        (FOR_LONG, "rows", ".batch(8)", "data", "data"),
    ],
)
def test_all_of_a_game_is_a_ranks_own(turn: str, given: str, batches: str, loop: str, after: str) -> None:
    """Divided, most of it was played for nothing; where games differ in length, ranks waited for batches of others."""
    code = HEAD.split("def train", maxsplit=1)[0] + PLAYED.format(
        turn=turn, given=given, batches=batches, loop=loop
    )
    plan = plan_of(code)
    assert f"    data = tf.data.Dataset.from_tensor_slices({given}).shuffle(200){batches}\n" in plan.text
    assert f"    for x in {after}:\n" in plan.text
    assert any("stop where one has no batch left" in c.doubt for c in plan.changes) is ("together" in after)


def test_other_data_is_divided() -> None:
    """A near miss: rows of a file, in a script that makes a game and doesn't play it."""
    code = HEAD.split("def train", maxsplit=1)[0] + PLAYED.format(
        turn=FOR_LONG, given="rows", batches=".batch(8)", loop="data"
    )
    code = code.replace("rows = game(200)", "rows = np.load('rows.npy')")
    assert "shard_dataset(tf.data.Dataset.from_tensor_slices(rows))" in plan_of(code).text


# ---------------------------------------------------------------------- other games than Gym's

OTHER_GAME = """
for t in range(1000):
    {play}
    memory.append(state)
    if len(memory) > 8:
        train()
"""


@pytest.mark.parametrize(
    ("play", "is_game"),
    [
        (
            "reward = game.make_action([1, 0])\n    if reward < 0: game.new_episode()\n    state = game.get_state()",
            True,
        ),
        (
            "game.set_action([1])\n    game.advance_action(4)\n    state = game.get_state()\n    game.new_episode()",
            True,
        ),
        ("state, reward, over = game.frame_step([1, 0])", True),
        ("reward, over, score = game.play_step(2)\n    state = game.look()", True),
        ("state = camera.make_action(3)", False),  # never begins again, tells one thing
    ],
)
def test_games_that_move_on_by_other_names(play: str, is_game: bool) -> None:
    plan = plan_of(HEAD.replace('env = gym.make("CartPole-v1")\n', "") + OTHER_GAME.format(play=play))
    assert any("plays as many games as one process did" in c.doubt for c in plan.changes) is is_game
    assert ("Adam(learning_rate=0.001 * hvd.size())" in plan.text) is not is_game
