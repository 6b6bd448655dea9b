"""K4 steps of fit, G4 steps of hand-written loops."""

from __future__ import annotations

import pytest

from ..dividing import KERAS, TAPE, check, divide, unchanged
from ..pairs import doubts, plan_of

# ---------------------------------------------------------------------- K4


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("500", "500 // hvd.size()"),
        ("20", "max(1, 20 // hvd.size())"),
        ("n // 32", "max(1, n // 32 // hvd.size())"),
        ("n + 1", "max(1, (n + 1) // hvd.size())"),
        ("(n + 1)", "max(1, (n + 1) // hvd.size())"),
        ("BIG", "BIG // hvd.size()"),
        ("maybe", "maybe and max(1, maybe // hvd.size())"),
        ("None", "None"),
        ("args.steps", "args.steps and max(1, args.steps // hvd.size())"),
        ("args.n", "max(1, args.n // hvd.size())"),
    ],
)
def test_steps_are_divided_and_never_zero(before: str, after: str) -> None:
    options = "p.add_argument('--steps', type=int)\np.add_argument('--n', type=int, default=5)\nargs = p.parse_args()\n"
    head = KERAS + options + "BIG = 1000\nmaybe = None\nds = mine.dataset()\n"
    check(head, f"model.fit(ds, steps_per_epoch={before})\n", f"model.fit(ds, steps_per_epoch={after})\n")


def test_counts_of_a_divided_dataset_are_divided_already() -> None:
    check(
        KERAS,
        """
        ds = tf.data.Dataset.range(9).batch(3)
        n = len(ds)
        model.fit(ds, steps_per_epoch=n)
        """,
        """
        ds = shard_dataset(tf.data.Dataset.range(9)).batch(3)
        n = len(ds)
        model.fit(ds, steps_per_epoch=n)
        """,
    )


@pytest.mark.parametrize(
    "epochs", ["5", "800 // 100", "math.ceil(800 / len(other))", "len(ds) / len(ds)", "len(ds)"]
)
def test_epochs_stay(epochs: str) -> None:
    source = f"import math\nother = [1, 2]\nds = {{}}.batch(3)\nn = {epochs}\nmodel.fit(ds, epochs=n)\n"
    ds = "tf.data.Dataset.range(9)"
    check(KERAS, source.format(ds), source.format(f"shard_dataset({ds})"))


@pytest.mark.parametrize(
    "epochs", ["800 // len(ds)", "math.ceil(800 / len(ds))", "int(800 / float(len(ds)))"]
)
def test_epochs_that_fill_a_number_of_steps(epochs: str) -> None:
    """One rank's data set has 1/size() of the batches: the number of steps would take size() times the epochs."""
    source = f"import math\nds = {{}}.batch(3)\nn = {epochs}\nmodel.fit(ds, epochs={{}})\n"
    ds = "tf.data.Dataset.range(9)"
    check(KERAS, source.format(ds, "n"), source.format(f"shard_dataset({ds})", "max(1, n // hvd.size())"))


def test_validation_steps_go_with_other_data_on_each_rank() -> None:
    check(
        KERAS,
        """
        ds = tf.data.Dataset.range(9).repeat().batch(3)
        val = tf.data.Dataset.range(9).batch(3)
        model.fit(ds, steps_per_epoch=300, validation_data=val, validation_steps=200)
        """,
        """
        ds = tf.data.Dataset.range(9).repeat().shard(hvd.size(), hvd.rank()).batch(3)
        val = tf.data.Dataset.range(9).batch(3)
        model.fit(ds, steps_per_epoch=300 // hvd.size(), validation_data=shard_dataset(val), validation_steps=200 // hvd.size())
        """,
    )


@pytest.mark.parametrize(
    ("val", "shared"),
    [
        ("data.repeat()", "data.repeat().shard(hvd.size(), hvd.rank())"),
        ("data.repeat().prefetch(2)", "data.repeat().prefetch(2).shard(hvd.size(), hvd.rank())"),
        ("data.repeat(3)", "shard_dataset(data.repeat(3))"),
        ("data.repeat().take(400)", "shard_dataset(data.repeat().take(400))"),
        ("data.repeat() if x else data", "shard_dataset(data.repeat() if x else data)"),
        ("data.filter(f)", "shard_stream(data.filter(f))"),
        ("data.repeat() if x else None", "shard_stream(data.repeat() if x else None)"),
    ],
)
def test_validation_data_without_end_needs_no_helper(val: str, shared: str) -> None:
    source = """
        ds = tf.data.Dataset.range(9).repeat(){}.batch(3)
        data = tf.data.Dataset.range(9).batch(3)
        model.fit(ds, steps_per_epoch=300{n}, validation_data={}, validation_steps=200{n})
        """
    after = source.format(".shard(hvd.size(), hvd.rank())", shared, n=" // hvd.size()")
    check(KERAS, source.format("", val, n=""), after)


def test_sequences_are_shared() -> None:
    head = KERAS + "class Mine(tf.keras.utils.Sequence):\n    pass\n"
    check(head, "model.fit(Mine(), epochs=2)\n", "model.fit(ShardedSequence(Mine()), epochs=2)\n")
    check(
        head,
        "g = gen.flow_from_directory('d')\nmodel.fit_generator(g, steps_per_epoch=len(g))\n",
        "g = gen.flow_from_directory('d')\n"
        "model.fit_generator(ShardedFlow(g), steps_per_epoch=max(1, len(g) // hvd.size()))\n",
    )


def test_a_generator_that_yields_the_same_everywhere_is_dealt_out() -> None:
    generator = "def batches():\n    while True:\n        yield {}, 1\n"
    check(
        KERAS + generator.format("rows[3]"),
        "model.fit(batches(), steps_per_epoch=400)\n",
        "model.fit(shard_batches(batches()), steps_per_epoch=400 // hvd.size())\n",
    )
    check(  # draws differ on each rank
        KERAS + generator.format("np.random.rand(3)"),
        "model.fit(batches(), steps_per_epoch=400)\n",
        "model.fit(batches(), steps_per_epoch=400 // hvd.size())\n",
    )
    check(  # but not with a seed
        KERAS + generator.format("np.random.rand(3)") + "np.random.seed(1)\n",
        "model.fit(batches(), steps_per_epoch=400)\n",
        "model.fit(shard_batches(batches()), steps_per_epoch=400 // hvd.size())\n",
    )


# ---------------------------------------------------------------------- G4: left alone


def test_epochs_and_loops_that_only_look_are_left() -> None:
    check(
        TAPE,
        """
        ds = tf.data.Dataset.range(9).batch(3)
        for epoch in range(500):
            for x in ds:
                step(x, x)
            for i in range(200):
                print(i)
        """,
        """
        ds = shard_dataset(tf.data.Dataset.range(9)).batch(3)
        for epoch in range(500):
            for x in ds:
                step(x, x)
            for i in range(200):
                print(i)
        """,
    )


def test_rounds_on_one_batch_and_trials_of_rates_are_left() -> None:
    check(
        TAPE,
        """
        rates = [0.1, 0.01]
        for lr in rates:
            for x in tf.data.Dataset.range(9).batch(3):
                for _ in range(200):
                    step(x, x)
        """,
        """
        rates = [0.1, 0.01]
        for lr in rates:
            for x in shard_dataset(tf.data.Dataset.range(9)).batch(3):
                for _ in range(200):
                    step(x, x)
        """,
    )


def test_a_step_that_another_module_drives_is_said() -> None:
    assert "not in this file" in unchanged(TAPE, "").notes[0]


def test_a_count_made_from_a_divided_dataset_is_left() -> None:
    check(
        TAPE,
        """
        ds = tf.data.Dataset.range(9).batch(3)
        it = iter(ds)
        for _ in range(len(ds)):
            step(next(it), 0)
        """,
        """
        ds = shard_dataset(tf.data.Dataset.range(9)).batch(3)
        it = iter(ds)
        for _ in range(len(ds)):
            step(next(it), 0)
        """,
    )


# ---------------------------------------------------------------------- G4


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ds.take(1000)", "ds.take(1000 // hvd.size())"),
        ("ds.take(count=STEPS)", "ds.take(count=max(1, STEPS // hvd.size()))"),
        ("tqdm(ds.take(1000))", "tqdm(ds.take(1000 // hvd.size()))"),
    ],
)
def test_take_counts_steps(before: str, after: str) -> None:
    head = TAPE + "from tqdm import tqdm\nSTEPS = int('7')\n"
    check(
        head + "ds = ",
        f"tf.data.Dataset.range(9).repeat().batch(3)\nfor x in {before}:\n    step(x, x)\n",
        f"tf.data.Dataset.range(9).repeat().shard(hvd.size(), hvd.rank()).batch(3)\nfor x in {after}:\n    step(x, x)\n",
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("range(n)", "range(max(1, n // hvd.size()))"),
        ("range(1000)", "range(1000 // hvd.size())"),
        ("range(1, n + 1)", "range(1, max(1, n // hvd.size()) + 1)"),
        ("range(1, 1001)", "range(1, 1 + max(1, 1000 // hvd.size()))"),
        ("range(0, n)", "range(0, max(1, n // hvd.size()))"),
        ("range(first, n)", "range(first, n, hvd.size())"),
        ("range(first, a - b)", "range(first, a - b, hvd.size())"),
        ("range(first, first + n)", "range(first, first + n, hvd.size())"),
        (
            "range(first, a if b else c)",
            "range(first, a if b else c, hvd.size())",
        ),
        ("range(1, n, 2)", "shard(range(1, n, 2))"),
        ("trange(1000)", "trange(1000 // hvd.size())"),
        ("trange(1000, desc='s', leave=False)", "trange(1000 // hvd.size(), desc='s', leave=False)"),
        ("trange(1, n + 1, desc='s')", "trange(1, max(1, n // hvd.size()) + 1, desc='s')"),
        ("tqdm(range(1000), desc='train')", "tqdm(range(1000 // hvd.size()), desc='train')"),
    ],
)
@pytest.mark.parametrize(
    "draw", ["x, y = draw(32)", "k = np.random.randint(0, 9, 3); x, y = a[k], b[k]", "x, y = a, b"]
)
def test_loops_that_draw_their_batches_are_shortened(before: str, after: str, draw: str) -> None:
    head = TAPE + "from tqdm import tqdm, trange\n"
    body = f":\n    {draw}\n    step(x, y)\n"
    check(head, f"for i in {before}{body}", f"for i in {after}{body}")


def test_a_range_whose_keyword_says_how_it_counts_is_not_taken_for_one_by_ones() -> None:
    loop = TAPE + "for i in tf.range(1, n, delta=2):\n    x, y = draw(32)\n    step(x, y)\n"
    assert "tf.range(1, n, delta=2)" in plan_of(loop).text


@pytest.mark.parametrize(
    "body",
    [
        "step(a[i * 3 : (i + 1) * 3], b[i * 3 : (i + 1) * 3])",
        "start = i * 3\n    end = start + 3\n    step(a[start:end], b[start:end])",
        "x, y = next_batch(i)\n    step(x, y)",
        "run(i)",
    ],
)
def test_loops_whose_variable_selects_the_batch_take_every_nth(body: str) -> None:
    head = TAPE + "def run(k):\n    step(a[k], b[k])\n"
    check(
        head,
        f"for i in range(0, n, 3):\n    {body}\n",
        f"for i in shard(range(0, n, 3)):\n    {body}\n",
    )


def test_the_outer_loop_counts_where_steps_stand_beside_an_inner_one() -> None:
    check(
        TAPE,
        """
        it = iter(tf.data.Dataset.range(9).batch(3).repeat())
        for i in range(1000):
            for _ in range(5):
                step(next(it), 0)
            step(next(it), 1)
        """,
        """
        it = iter(shard_dataset(tf.data.Dataset.range(9)).batch(3).repeat())
        for i in range(1000 // hvd.size()):
            for _ in range(5):
                step(next(it), 0)
            step(next(it), 1)
        """,
    )


def test_iterators_are_followed_into_functions() -> None:
    check(
        TAPE,
        """
        @tf.function
        def advance(iterator):
            step(next(iterator), 0)
        iterator = iter(tf.data.Dataset.range(9).batch(3).repeat())
        for i in range(1000):
            advance(iterator)
        """,
        """
        @tf.function
        def advance(iterator):
            step(next(iterator), 0)
        iterator = iter(shard_dataset(tf.data.Dataset.range(9)).batch(3).repeat())
        for i in range(1000 // hvd.size()):
            advance(iterator)
        """,
    )


def test_a_loop_is_found_through_functions() -> None:
    check(
        TAPE,
        """
        def epoch(ds):
            for x in ds:
                step(x, x)
        def main():
            ds = tf.data.Dataset.range(9).batch(3)
            for e in range(300):
                epoch(ds)
        main()
        """,
        """
        def epoch(ds):
            for x in ds:
                step(x, x)
        def main():
            ds = shard_dataset(tf.data.Dataset.range(9)).batch(3)
            for e in range(300):
                epoch(ds)
        main()
        """,
    )


def test_other_batches_are_dealt_out() -> None:
    check(
        TAPE,
        "for x, y in zip(xs, ys):\n    step(x, y)\n",
        "for x, y in shard_batches(zip(xs, ys)):\n    step(x, y)\n",
    )
    result = check(
        TAPE,
        "def train(loader):\n    for x, y in loader:\n        step(x, y)\n",
        "def train(loader):\n    for x, y in shard_batches(loader):\n        step(x, y)\n",
    )
    assert result.doubts


def test_a_while_that_counts() -> None:
    check(
        TAPE,
        "i = 0\nwhile i < 1000:\n    step(*draw())\n    i += 1\n",
        "i = 0\nwhile i < 1000 // hvd.size():\n    step(*draw())\n    i += 1\n",
    )
    undivided = check(
        TAPE, "while busy():\n    step(*draw())\n", "while any_rank(busy()):\n    step(*draw())\n"
    )
    assert undivided.notes


def test_train_on_batch() -> None:
    check(
        KERAS,
        "for i in range(1000):\n    k = np.random.randint(0, 9, 3)\n    model.train_on_batch(x[k], y[k])\n",
        "for i in range(1000 // hvd.size()):\n    k = np.random.randint(0, 9, 3)\n    model.train_on_batch(x[k], y[k])\n",
    )


# ---------------------------------------------------------------------- ranks leave together


def test_a_loop_that_a_loss_ends_is_left_together() -> None:
    check(
        TAPE,
        """
        for i in range(1000):
            loss = step(*draw())
            if i % 10 == 0:
                if loss < 0.1:
                    break
        """,
        """
        for i in range(1000 // hvd.size()):
            loss = step(*draw())
            if i % 10 == 0:
                if any_rank(loss < 0.1):
                    break
        """,
    )


def test_a_loop_that_a_counter_ends() -> None:
    loop = "i = 0\nwhile True:\n    step(*draw())\n    i += 1\n    if {}:\n        break\n"
    check(TAPE, loop.format("i > 900"), loop.format("i > 900 // hvd.size()"))
    unchanged(TAPE, loop.format("i > 900 and ready"))


GAME = """
for episode in range(1000):
    state = env.reset()
    for t in range(200):
        state, reward, done, _ = env.step(act(state))
        if done:
            break
        step(state, reward)
"""


def test_a_game_that_each_rank_plays_ends_on_all_of_them() -> None:
    result = check(TAPE, GAME, GAME.replace("if done", "if any_rank(done)"))
    assert any("all of them now end when one of them does" in doubt for doubt in result.doubts)
    assert sum("plays as many games" in doubt for doubt in result.doubts) == 1


@pytest.mark.parametrize("head", ["", "class Game:\n    def reset(self):\n        self.t = 0\n    def step(self, action):\n"
                                  "        self.t += 1\n        return rows(), 1.0, self.t > 20\nenv = Game()\n"])  # fmt: skip
def test_a_game_that_begins_anew_in_each_turn_is_not_divided_either(head: str) -> None:
    once = GAME.replace(
        "        step(state, reward)\n",
        "    step(state, reward)\n    if episode % 50 == 0:\n        note(1)\n",
    )
    plan = plan_of(TAPE + head + once)
    assert "range(1000)" in plan.text
    assert "range(200)" in plan.text
    assert "episode % 50 == 0" in plan.text
    assert "// hvd.size()" not in plan.text
    assert "* hvd.size()" not in plan.text
    assert sum("plays as many games" in doubt for doubt in doubts(plan, "G4")) == 1


def test_the_length_of_a_game_and_the_end_of_one_stay() -> None:
    played = """
EP_LEN = 200
for episode in range(1000):
    state = env.reset()
    for t in range(EP_LEN):
        state, reward, done, _ = env.step(act(state))
        if (t + 1) % 32 == 0 or t == EP_LEN - 1:
            step(state, reward)
"""
    plan = plan_of(TAPE + played)
    assert "hvd.size()" not in plan.text
    assert any("plays as many games" in doubt for doubt in doubts(plan, "G4"))


def test_rows_of_a_game_that_fit_trains_on_are_a_ranks_own() -> None:
    played = """
for episode in range(1000):
    state = env.reset()
    for t in range(200):
        state, reward, done, _ = env.step(act(state))
        memory.append(state)
    states = np.vstack(memory)
    model.fit(states, states, batch_size=8)
"""
    plan = plan_of(KERAS + played)
    assert "shard(" not in plan.text
    assert "* hvd.size()" not in plan.text
    assert any("plays as many games" in doubt for doubt in doubts(plan, "K4"))


def test_a_game_behind_an_agent_s_own_step_is_one() -> None:
    """`agent.step(state)` chooses, `env.step(action)` plays: what is gathered of fixed lengths is no batch to be dealt out."""
    played = """
class Agent:
    def step(self, state):
        return tf.argmax(model(state), 1)
class Runner:
    def __init__(self, env, agent):
        self.env, self.agent, self.state = env, agent, env.reset()
    def run(self):
        states, gains = [], []
        for _ in range(5):
            action = self.agent.step(self.state)
            states.append(self.state)
            self.state, gain, done, _ = self.env.step(action)
            gains.append(gain)
        return np.asarray(states), np.asarray(gains)
runner = Runner(make_env(4), Agent())
for update in range(1, total // 20 + 1):
    states, gains = runner.run()
    step(states, gains)
    if update % 100 == 0:
        model.save("m")
"""
    plan = plan_of(TAPE + played)
    assert "range(1, total // 20 + 1)" in plan.text
    assert "update % 100 == 0" in plan.text
    assert "* hvd.size()" not in plan.text
    assert any("plays as many games" in doubt for doubt in doubts(plan, "G4"))


@pytest.mark.parametrize(
    ("before", "within"),
    [
        ("", "    schedule.step(epoch)\n"),  # no game: nothing begins anew, and it tells nothing
        ("", "    with_profiler.step()\n"),
        # batches of a dataset from before: the game only tests
        ("", "    state = env.reset()\n    state, reward, done, _ = env.step(act(state))\n"),
    ],
)
def test_what_is_no_game_or_only_a_test_leaves_loops_over_data_divided(before: str, within: str) -> None:
    data = "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
    loop = f"{before}for epoch in range(9):\n    for x, y in ds:\n        step(x, y)\n{within}"
    plan = plan_of(TAPE + data + loop)
    assert "shard" in plan.text
    assert not any("games" in doubt for doubt in doubts(plan, "G4"))


@pytest.mark.parametrize(
    ("beside", "dealt", "asked"),
    [("cycle(more)", "shard_batches(cycle(more))", False), ("weights", "shard_batches(weights)", True)],
)
def test_what_goes_beside_a_divided_data_set_is_dealt_out_alone(beside: str, dealt: str, asked: bool) -> None:
    """Divided as a whole, each rank would train on 1/size() of its share."""
    data = (
        "from itertools import cycle\nds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
        "more = tf.data.Dataset.from_tensor_slices(c).batch(4)\n"
    )
    loop = f"for e in range(9):\n    for (x, y), other in zip(ds, {beside}):\n        step(x, y + other)\n"
    plan = plan_of(TAPE + data + loop)
    assert f"in zip(ds, {dealt}):" in plan.text
    assert "shard_dataset(tf.data.Dataset.from_tensor_slices((a, b)))" in plan.text
    assert any("belong together" in doubt for doubt in doubts(plan, "G4")) == asked


META = """
for i in range(100):
    {before}
    for k in range(50):
        step(np.random.rand(8), np.random.rand(8))
    {after}
"""


def test_steps_whose_weights_are_set_back_by_what_they_came_to_are_refused() -> None:
    """Divided, Reptile's inner steps would be fewer, or a single one; and what a rank kept before the first was its own."""
    meta = META.format(before="old = model.get_weights()", after="model.set_weights(mix(old, model))")
    assert [r.code for r in divide(TAPE + meta).draft.reasons] == ["HVD006"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.set_weights(first)", "print(i)"),  # each turn is a training of its own
        ("pass", "if better(model):\n        best = model.get_weights()"),
        (
            "pass",
            "now = model.get_weights()\n    model.set_weights(mean)\n    test(model)\n    model.set_weights(now)",
        ),
        ("pass", "other.set_weights(model.get_weights())"),
        ("old = model.get_weights()", "if worse(model):\n        model.set_weights(old)"),
    ],
)
def test_weights_that_are_set_otherwise_leave_steps_divided(before: str, after: str) -> None:
    text = plan_of(TAPE + META.format(before=before, after=after)).text
    assert "50 // hvd.size()" in text
    assert "* hvd.size()" in text


OWN_GAME = """
memory = collections.deque(maxlen=1000)
for episode in range(1000):
    state = np.random.rand(8)
    for t in range(200):
        action = {action}
        following = np.clip(state + action, 0, 1)
        memory.append((state, action, following))
        state = following
        xs, actions, ys = map(np.array, zip(*random.sample(memory, 32)))
        step(xs, ys)
"""
MOVES = """
for episode in range(1000):
    state, over = game.begin(), False
    while not over:
        state = game.state()
        reward, over = game.move({action})
        memory.append((state, reward))
        step(*random.sample(memory, 1)[0])
"""


@pytest.mark.parametrize("game", [OWN_GAME, MOVES])
@pytest.mark.parametrize("action", ["np.argmax(model(state[None]))", "act(state)", "player.act(state)"])
def test_a_game_without_a_step_is_not_divided_either(game: str, action: str) -> None:
    act = "def act(seen):\n    q = model.predict(seen[None])\n    return q[0].argmax()\n"
    act += (
        "class Player:\n    def act(self, seen):\n        return act(self.last or seen)\nplayer = Player()\n"
    )
    plan = plan_of(TAPE + act + game.format(action=action))
    assert "// hvd.size()" not in plan.text
    assert "* hvd.size()" not in plan.text
    assert "alike(" not in plan.text
    assert sum("plays as many games" in doubt for doubt in doubts(plan, "G4")) == 1


@pytest.mark.parametrize(
    "loop",
    [
        OWN_GAME.format(action="np.sin(state)"),  # a sequence that no model decides about
        # what a model makes of given rows, gathered, is no game
        "for i in range(1000):\n    memory.append(model(a[i * 8 : i * 8 + 8]))\n    step(a[i * 8 : i * 8 + 8], memory[-1])\n",
        # a library's own step
        "cell = tf.keras.layers.LSTMCell(8)\nfor i in range(1000):\n    o, s, done = cell.step(a)\n"
        "    step(a[i * 8 : i * 8 + 8], 1.0)\n",
        # boosting asks no model about the weights that it goes on with
        "w = np.ones(8000)\nfor i in range(1000):\n    step(a[i * 8 : i * 8 + 8], w[i * 8 : i * 8 + 8])\n"
        "    wrong = model(a)[:, 0]\n    memory.append(np.sum(w * wrong))\n    w = w * np.exp(wrong)\n",
        # what ends training is no move of a game
        "for i in range(1000):\n    better, over = patience.update(model(a[:9]))\n    if over:\n        break\n"
        "    step(a[i * 8 : i * 8 + 8], 1.0)\n",
    ],
)
def test_what_no_model_moves_on_is_no_game(loop: str) -> None:
    plan = plan_of(TAPE + "a = np.random.rand(8000, 3)\nmemory = []\n" + loop)
    assert not any("games" in doubt for doubt in doubts(plan, "G4"))
    assert "* hvd.size()" in plan.text


def test_a_loop_that_ends_when_an_object_turns_false_by_the_clock_is_refused() -> None:
    """Ranks would stop at different steps; rank 0's clock can't be sent around from a method that Python calls."""
    budget = (
        "import time\nclass Budget:\n    def __bool__(self):\n        return time.time() < 9\nb = Budget()\n"
    )
    loop = "it = iter(mine.batches())\nwhile b:\n    step(*next(it))\n"
    assert [r.code for r in divide(TAPE + budget + loop).draft.reasons] == ["HVD205"]


def test_games_that_end_in_a_tangled_way_are_refused() -> None:
    tangled = GAME.replace("if done:", "if done and t > 3:\n            pass\n        elif done:")
    assert [r.code for r in divide(TAPE + tangled).draft.reasons] == ["HVD006"]


def test_rows_that_the_model_makes_anew_are_refused() -> None:
    play = "def play(f):\n    return mine.play(f)\nfor i in range(9):\n    rows, goals = play(lambda b: model.predict(b))\n"
    assert [r.code for r in divide(KERAS + play + "    model.fit(rows, goals)\n").draft.reasons] == ["HVD006"]


@pytest.mark.parametrize(
    ("loop", "ended", "codes"),
    [
        ("while True", "break", ["HVD006"]),
        ("for _ in range(9)", "break", ["HVD006"]),
        ("for _ in range(9)", "env.reset()", []),
    ],
)
def test_rows_that_a_function_gathers_until_a_game_ends_are_refused(
    loop: str, ended: str, codes: list[str]
) -> None:
    play = f"""def play(predict):
    rows = []
    {loop}:
        rows.append(predict(rows))
        if env.done:
            {ended}
    return np.asarray(rows), np.asarray(rows)
def predict(rows):
    return model.predict(rows)
for i in range(9):
    x, y = play(predict)
    model.fit(x, y)
"""
    assert [r.code for r in divide(KERAS + play).draft.reasons] == codes


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("from mine import load\nbatches = load(32)\n", True),
        ("import mine.data\nbatches = mine.data.Batches(32)\n", True),
        ("def load(n):\n    return [open(f) for f in names]\nbatches = load(32)\n", False),
        ("import numpy as np\nbatches = np.load('batches.npy')\n", False),
    ],
)
def test_batches_that_a_module_makes_which_is_not_read(made: str, said: bool) -> None:
    """Where it shuffles, ranks would take every size()-th of different orders."""
    result = divide(TAPE + made + "for x, y in batches:\n    step(x, y)\n")
    assert "shard_batches(batches)" in result.text
    assert any("in which order this gives its batches" in n for n in result.notes) == said


# ---------------------------------------------------------------------- iterators that are not seen

NEXT = "{}\nfor turn in range(2000):\n    x, y = {}\n    step(x, y)\n"
UNSEEN = "in which order this gives its batches"


@pytest.mark.parametrize(
    ("feed", "draw"),
    [
        ("feed = tf.keras.preprocessing.image.ImageDataGenerator().flow(a, b, 8)", "next(feed)"),  # shuffles for itself
        ("feed = iter(tf.data.Dataset.from_tensor_slices((a, b)).repeat().batch(8))", "next(feed)"),  # divided there
        ("ds = tf.data.Dataset.from_tensor_slices((a, b)).shuffle(99).batch(8)", "next(iter(ds))"),
    ],
)  # fmt: skip
def test_iterators_that_give_each_rank_its_own(feed: str, draw: str) -> None:
    plan = plan_of(TAPE + NEXT.format(feed, draw))
    assert "size())][hvd.rank()]" not in plan.text
    assert not [n for n in plan.notes if UNSEEN in n.message]


@pytest.mark.parametrize(
    ("feed", "seen"),
    [
        ("from feeds import load\nfeed = iter(load(32))", False),
        ("feed = tf.keras.preprocessing.image.ImageDataGenerator().flow(a, b, 8, shuffle=False)", False),
        ("import itertools\nfeed = itertools.cycle([(a, b), (b, a)])", True),
        ("feed = iter(zip(a, b))", True),
        ("def rows():\n    for i in range(9):\n        yield a[i], b[i]\nfeed = rows()", True),
    ],
)
def test_what_other_iterators_give_is_dealt_out(feed: str, seen: bool) -> None:
    plan = plan_of(TAPE + NEXT.format(feed, "next(feed)"))
    assert "x, y = [next(feed) for _ in range(hvd.size())][hvd.rank()]\n" in plan.text
    assert (not [n for n in plan.notes if UNSEEN in n.message]) is seen


# ---------------------------------------------------------------------- generators that each step begins

BEGUN = """\
class Data:
    def __init__(self):
        self.rows, self.at, self.kept = a, 0, None
    def next_batch(self, n):
{body}
    def wrapped(self, n):
        return self.next_batch(n)
data = Data()
"""
CHOSEN = "        yield self.rows[np.random.choice(500, n)]\n"
MOVED = "        self.at = (self.at + n) % 480\n        yield self.rows[self.at : self.at + n], 0\n"
SLICED = "        for i in range(0, 480, n):\n            yield self.rows[i : i + n], 0\n"
FIRST = "this begins the generator again in each step, and takes its first batch"


@pytest.mark.parametrize("body", [CHOSEN, "        while True:\n    " + CHOSEN])
@pytest.mark.parametrize("draw", ["next(data.next_batch(8))", "next(data.wrapped(8))"])
def test_a_generator_that_each_step_begins_and_that_draws_is_left_alone(body: str, draw: str) -> None:
    """Whatever other numbers are drawn by a seed: it is a function that draws."""
    plan = plan_of(
        TAPE + "a = np.random.RandomState(0).rand(500, 4)\n" + NEXT.format(BEGUN.format(body=body), draw)
    )
    assert f"    x, y = {draw}\n" in plan.text
    assert "size())][hvd.rank()]" not in plan.text
    assert FIRST not in str(doubts(plan, "G4"))


def test_a_generator_that_is_begun_once_is_asked_again() -> None:
    plan = plan_of(TAPE + NEXT.format(BEGUN.format(body=SLICED) + "feed = data.next_batch(8)", "next(feed)"))
    assert "x, y = [next(feed) for _ in range(hvd.size())][hvd.rank()]\n" in plan.text
    assert not doubts(plan, "G4")


@pytest.mark.parametrize(
    ("draw", "body"), [("next(data.next_batch(8))", MOVED), ("next(data.wrapped(n=8), None)", MOVED)]
)
def test_what_a_generator_deals_that_each_step_begins_is_dealt_out(draw: str, body: str) -> None:
    """Asked twice, one that yields once would end."""
    plan = plan_of(TAPE + NEXT.format(BEGUN.format(body=body), draw))
    assert f"    x, y = [{draw} for _ in range(hvd.size())][hvd.rank()]\n" in plan.text
    assert not doubts(plan, "G4")


def test_an_unseen_call_that_may_begin_a_generator_is_made_for_each_draw() -> None:
    plan = plan_of(TAPE + NEXT.format("from feeds import data", "next(data.next_batch(8))"))
    assert "x, y = [next(data.next_batch(8)) for _ in range(hvd.size())][hvd.rank()]\n" in plan.text


def test_a_generator_that_gives_its_first_batch_in_each_step_is_asked_about() -> None:
    plan = plan_of(TAPE + NEXT.format(BEGUN.format(body=SLICED), "next(data.next_batch(8))"))
    assert any(FIRST in doubt for doubt in doubts(plan, "G4"))


FALLING = """\
batches = iter(tf.data.Dataset.from_tensor_slices((a, b)).batch(4).repeat())
rate = 0.1
opt.learning_rate = rate
while rate > 1e-3:
    step(*next(batches))
    {moves}
    opt.learning_rate = {given}
"""


@pytest.mark.parametrize(
    ("moves", "given", "asked"),
    [
        ("rate *= 0.98", "rate", False),  # it falls as fast for the rows that are seen
        ("rate = measure(rate)", "0.1", True),
        ("rate *= 0.98", "0.1", True),  # no rate: nothing makes it fall faster
    ],
)
def test_a_loop_that_ends_by_what_falls_faster_is_not_asked_about(
    moves: str, given: str, asked: bool
) -> None:
    plan = plan_of(TAPE + FALLING.format(moves=moves, given=given))
    assert any("as many as before" in c.doubt for c in plan.changes) is asked


def test_a_name_that_a_dealing_call_reads_is_not_hidden() -> None:
    """The turn of the draws gets another name than `_`, if the call reads that."""
    loop = "_ = 7\nfor i in range(1000):\n    x, y = data.next_batch(_)\n    step(x, y)\n"
    text = plan_of(TAPE + "from feed import data\n" + loop).text
    assert "x, y = [data.next_batch(_) for turn in range(hvd.size())][hvd.rank()]" in text


# ---------------------------------------------------------------------- functions that go through batches

SOURCE = """\
class Source:
    def __init__(self, rows):
        self.rows, self.at = rows, 0
    def next_batch(self, n):
        self.at += n
        return self.rows[self.at - n : self.at], self.rows[self.at - n : self.at]
train, others = Source(np.load("a.npy")), Source(np.load("b.npy"))
def pick(source):
    x, y = source.next_batch(8)
    return x, y
def measure(source):
    x, y = source.next_batch(64)
    return float(tf.reduce_mean(model(x) - y))
"""
DEALT = " for _ in range(hvd.size())][hvd.rank()]"


def test_a_function_that_only_measures_is_called_once() -> None:
    """It was called size() times, each rank taking another of its results."""
    loop = "for i in range(1000):\n    x, y = pick(train)\n    step(x, y)\n"
    loop += "    if i % 100 == 0:\n        print(measure(others))\n"
    text = plan_of(TAPE + SOURCE + loop).text
    assert f"x, y = [pick(train){DEALT}" in text
    assert f"[measure(others){DEALT}" not in text


@pytest.mark.parametrize(
    ("before", "fed"),
    [
        ("    batch = pick(train)\n    x = batch[0]\n", "x, x"),
        ("    box.batch = pick(train)\n", "*box.batch"),
    ],
)
def test_what_a_function_gives_to_a_step_by_any_name_is_dealt_out(before: str, fed: str) -> None:
    loop = f"for i in range(1000):\n{before}    step({fed})\n"
    assert DEALT in plan_of(TAPE + SOURCE + "class Box: pass\nbox = Box()\n" + loop).text


ROUND = """\
import numpy as np
import tensorflow as tf
critic, gan = tf.keras.Sequential([]), tf.keras.Sequential([])
critic.compile(tf.keras.optimizers.Adam(1e-4), "mse")
gan.compile(tf.keras.optimizers.Adam(1e-4), "mse")
def train_one(x, y):
    for _ in range({times}):
        critic.train_on_batch(x, y)
{beside}
"""


@pytest.mark.parametrize(
    ("times", "beside", "divided"),
    [
        ("n_critic", "    gan.train_on_batch(x, y)", False),
        ("n_critic", "", True),  # a near miss: nothing beside it
        ("len(x) // 32", "    gan.train_on_batch(x, y)", True),  # counts batches
        ("n_critic", "    gan.train_on_batch(x, y)\ntrain_one(1, 2)", True),  # called once, from here
    ],
)
def test_how_often_a_critic_is_trained_in_a_round_stays(times: str, beside: str, divided: bool) -> None:
    """Where the loop of the rounds is in another file, `for _ in range(5):` became a turn on five ranks."""
    text = plan_of("n_critic = 5\n" + ROUND.format(times=times, beside=beside)).text
    assert (f"    for _ in range({times}):\n" not in text) is divided
    assert ("Adam(1e-4 * hvd.size())" in text) is divided


@pytest.mark.parametrize("loaded", ["feed.valid()", "loader.load(rows)"])
def test_validation_data_that_cant_be_divided_are_gone_through_whole(loaded: str) -> None:
    """Of fewer steps on the same data all ranks took the same first ones, and early stopping went by those."""
    data = "ds = tf.data.Dataset.range(9).repeat().batch(3)\n"
    fit = f"model.fit(ds, steps_per_epoch=300, validation_data={loaded}, validation_steps=200)\n"
    plan = plan_of(KERAS + data + fit)
    assert f"validation_data={loaded}, validation_steps=200" in plan.text
    assert "steps_per_epoch=300 // hvd.size()" in plan.text


@pytest.mark.parametrize(
    ("last", "added"),
    [
        ("    epochs=3 # rounds\n", "    {}\n    epochs=3 # rounds\n"),
        ("    epochs=3, # rounds\n", "    {}\n    epochs=3, # rounds\n"),
        ("    epochs=3\n", "    epochs=3,\n    {}"),
        ("    epochs=3,\n", "    epochs=3,\n    {}"),
    ],
)
def test_a_comment_stays_beside_its_argument(last: str, added: str) -> None:
    """What is added to a call stands before a last argument that a comment belongs to, or after the last."""
    source = KERAS + "x = np.zeros((900, 4))\nmodel.fit(\n    x,\n    x,\n" + last + ")\n"
    text = plan_of(source).text
    verbose = "verbose=1 if hvd.rank() == 0 else 0"
    callbacks = "callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()],\n    "
    end = "," if "rounds" in last else ""
    assert added.format(callbacks + verbose + end) in text
