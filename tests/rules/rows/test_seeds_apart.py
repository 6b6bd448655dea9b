"""D3: by a seed of its own each rank draws batches of its own."""

from __future__ import annotations

import pytest

from ..pairs import doubts, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
{}
data = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
LOOP = "for epoch in range(2):\n    for i in range(1000):\n        step(data[{}(0, 900, 16)])\n"
GENERATOR = """\
def batches(seed):
    rng = np.random.RandomState(seed)
    while True:
        {}
        yield data[i]
gen = batches(3)
for step_number in range(1000):
    step(next(gen))
"""


@pytest.mark.parametrize(
    ("maker", "draw"),
    [
        ("rng = np.random.RandomState(3)", "rng.randint"),
        ("rng = np.random.default_rng(3)", "rng.integers"),
    ],
)
def test_a_generator_that_only_the_batches_draw_from_is_seeded_by_rank(maker: str, draw: str) -> None:
    plan = plan_of(HEAD.format(maker) + LOOP.format(draw))
    assert maker[:-1] + " + hvd.rank())" in plan.text
    assert not doubts(plan, "D3")


def test_a_seed_of_all_is_given_again_before_the_outermost_loop() -> None:
    plan = plan_of(HEAD.format("np.random.seed(7)\nw = np.random.rand(3)") + LOOP.format("np.random.randint"))
    assert "np.random.seed(7)\nw =" in plan.text
    again = "if hvd.size() > 1:\n    np.random.seed(7 + hvd.rank())\n"
    assert again in plan.text
    assert plan.text.index(again) < plan.text.index("for epoch in range(2):")
    assert not doubts(plan, "D3")


NUMBERED = "{}\nfor n in range(1000):\n    step(get_batch({}))\n    if n % 100 == 0:\n        print(n)\n"
TOLD = """\
def length(n):
    return min(4 + n // 15, 10)
def get_batch(n):
    {}
"""


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("i = rng.randint(0, 900, 16)\n    return data[i]", "n"),
        ("return data[rng.randint(0, 900, 16)] * min(1.0, n / 500)", "n"),
        ("return rng.rand(16, n).sum(1)", "length(n)"),
    ],
)
def test_what_is_told_the_number_of_a_step_and_draws_draws_apart(body: str, given: str) -> None:
    plan = plan_of(HEAD.format("rng = np.random.RandomState(3)") + NUMBERED.format(TOLD.format(body), given))
    assert "rng = np.random.RandomState(3 + hvd.rank())" in plan.text
    assert f"get_batch({given.replace('n)', 'own_n)') if '(' in given else 'own_n'})" in plan.text
    assert not doubts(plan, "D3")


@pytest.mark.parametrize(
    "body",
    [
        "i = n * 16 % 900\n    return data[i : i + 16] + rng.rand(16, 3)",  # noise on rows that the number selects
        "return np.random.RandomState(n).rand(16, 3)",
        "np.random.seed(n)\n    return data[rng.randint(0, 900, 16)]",
        "return rng.choice(np.load('%d.npy' % n), 16)",
        "return rng.permutation(parts.get(n))",
    ],
)
def test_what_the_number_selects_is_drawn_alike(body: str) -> None:
    plan = plan_of(HEAD.format("rng = np.random.RandomState(3)") + NUMBERED.format(TOLD.format(body), "n"))
    assert "rng = np.random.RandomState(3)\n" in plan.text
    assert "get_batch(own_n)" in plan.text


COUNTED = "{}    step(data[np.random.randint(0, 900, 16)])\n"


@pytest.mark.parametrize(
    "loop",
    [
        "n = 0\nwhile n < 500:\n    n += 1\n",
        "n = 0\nwhile True:\n    n += 1\n    if n > 500:\n        break\n",
        "import itertools\nfor n in itertools.count():\n    if n == 500:\n        break\n",
        "from itertools import count\nfor n in count(1):\n    if n >= 500:\n        break\n",
    ],
)
def test_so_it_is_however_the_steps_are_counted(loop: str) -> None:
    plan = plan_of(HEAD.format("np.random.seed(7)") + COUNTED.format(loop))
    assert "    np.random.seed(7 + hvd.rank())\n" in plan.text
    assert "500 // hvd.size()" in plan.text
    assert "any_rank" not in plan.text
    assert not doubts(plan, "D3")


@pytest.mark.parametrize("made", ["", "rates = (0.3, 0.1, 0.03, 0.01)\n"])
def test_numbers_that_are_written_out_bring_no_rows(made: str) -> None:
    loop = f"{made}for rate in {'rates' if made else '[0.3, 0.1, 0.03, 0.01]'}:\n    optimizer.learning_rate = rate\n"
    plan = plan_of(HEAD.format("np.random.seed(7)") + COUNTED.format(loop))
    assert "    np.random.seed(7 + hvd.rank())\n" in plan.text
    assert not doubts(plan, "D3")


def test_rows_that_are_written_out_are_dealt() -> None:
    loop = "for rows in [[1, 2], [3, 4], [5, 6], [7, 8]]:\n    step(data[rows])\n    np.random.randint(0, 900, 16)\n"
    plan = plan_of(HEAD.format("np.random.seed(7)") + loop)
    assert "+ hvd.rank()" not in plan.text


def test_a_while_loop_over_epochs_leaves_the_order_alike() -> None:
    epochs = "n = 0\nwhile n < 9:\n    order = np.random.permutation(900)\n    n += 1\n"
    inner = "    for i in range(0, 900, 16):\n        step(data[order[i : i + 16]])\n"
    plan = plan_of(HEAD.format("np.random.seed(7)") + epochs + inner)
    assert "+ hvd.rank()" not in plan.text


@pytest.mark.parametrize(
    ("seed", "loop"),
    [
        # What ranks decide by must be drawn alike.
        (
            "np.random.seed(7)",
            LOOP.format("np.random.randint") + "        if np.random.rand() < 0.5:\n            continue\n",
        ),
        (
            "np.random.seed(7)",
            "for epoch in range(9):\n    if np.random.rand() < 0.1:\n        break\n    for i in range(500):\n"
            "        step(data[np.random.randint(0, 900, 16)])\n",
        ),
        # What is drawn later would differ, too.
        ("np.random.seed(7)", LOOP.format("np.random.randint") + "later = np.random.randint(3, 9)\n"),
        # Called in a loop, it would begin anew each time.
        (
            "np.random.seed(7)",
            "def train():\n    for i in range(500):\n        step(data[np.random.randint(0, 900, 16)])\n"
            "for epoch in range(2):\n    train()\n",
        ),
        ("kw = {'seed': 7}\nnp.random.seed(**kw)", LOOP.format("np.random.randint")),
    ],
)
def test_where_that_would_be_wrong_it_is_asked(seed: str, loop: str) -> None:
    plan = plan_of(HEAD.format(seed) + loop)
    asked = ("seed each rank differently", "draw the batches by a generator of their own")
    assert any(words in doubt for doubt in doubts(plan, "D3") for words in asked)
    assert "hvd.size() > 1" not in plan.text


@pytest.mark.parametrize("draw", ["rng.randint(0, 900, 16)", "rng.choice(900, 16)"])
def test_an_endless_generator_draws_by_a_seed_of_each_rank(draw: str) -> None:
    text = plan_of(HEAD.format("") + GENERATOR.format(f"i = {draw}")).text
    assert "np.random.RandomState(seed + hvd.rank())" in text
    assert "step(next(gen))" in text


@pytest.mark.parametrize(
    "body",
    [
        "order = rng.permutation(900)\n        i = order[:16]",  # each pass deals out all rows
        "i = rng.randint(0, 900, 16)\n        if rng.rand() < 0.1:\n            return",  # ranks would end apart
    ],
)
def test_a_generator_that_deals_or_decides_is_dealt_out(body: str) -> None:
    text = plan_of(HEAD.format("") + GENERATOR.format(body)).text
    assert "np.random.RandomState(seed)" in text
    assert "[next(gen) for _ in range(hvd.size())][hvd.rank()]" in text


def test_what_a_rank_decides_by_its_own_batch_all_decide_together() -> None:
    source = HEAD.format("") + GENERATOR.format("i = rng.randint(0, 900, 16)")
    skipping = "    batch = next(gen)\n    if batch.mean() > 2:\n        continue\n    step(batch)\n"
    text = plan_of(source.replace("    step(next(gen))\n", skipping)).text
    assert "if any_rank(batch.mean() > 2):" in text


def test_the_number_of_a_step_is_no_batch() -> None:
    source = HEAD.format("import itertools\nnumbers = itertools.count()") + GENERATOR.format(
        "i = rng.randint(0, 900, 16)"
    )
    text = plan_of(
        source.replace("    step(next(gen))\n", "    if next(numbers) > 2:\n        step(next(gen))\n")
    ).text
    assert "any_rank" not in text
    # dealt out like batches, each rank would count by itself, and wait for the others
    assert "if next(numbers) > max(1, 2 // hvd.size()):" in text


NAMED = """\
import numpy as np
import tensorflow as tf
{made}
rows = rng.normal(size=(900, 4))
{held}
model = tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
for i in range(600):
    step(rows[{drawn}])
{after}
"""
MADE, DRAWN = "rng = np.random.default_rng(11)", "rng.integers(0, 900, 32)"


def test_a_generator_that_made_the_rows_is_made_again_before_the_loop() -> None:
    plan = plan_of(NAMED.format(made=MADE, held="", drawn=DRAWN, after=""))
    assert "if hvd.size() > 1:\n    rng = np.random.default_rng(11 + hvd.rank())\n" in plan.text
    assert f"\n{MADE}\n" in plan.text
    assert all(c.sure for c in plan.changes)


@pytest.mark.parametrize(
    ("made", "held", "drawn", "after"),
    [
        (MADE, "again = rng", "again.integers(0, 900, 32)", ""),  # held by another name
        (MADE, "", DRAWN, "print(rng.integers(9))"),  # drawn from later
        ("rng = np.random.default_rng(seed_of('rows'))", "", DRAWN, ""),
    ],
)
def test_a_generator_that_is_held_elsewhere_is_asked_about(
    made: str, held: str, drawn: str, after: str
) -> None:
    plan = plan_of(NAMED.format(made=made, held=held, drawn=drawn, after=after))
    assert "    rng = np.random.default_rng(" not in plan.text


OPTIONS = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--seed', type=int)\nargs = p.parse_args()\n{}"


@pytest.mark.parametrize(
    ("seeded", "again"),
    [
        ("if args.seed is not None:\n    np.random.seed(args.seed)\n", " and args.seed is not None"),
        ("if args.seed:\n    np.random.seed(args.seed)\n", " and args.seed"),
        ("if args.fixed:\n    np.random.seed(7)\n", " and args.fixed"),
        ("if args.fixed or args.test:\n    np.random.seed(7)\n", " and (args.fixed or args.test)"),
        ("if __name__ == '__main__':\n    np.random.seed(7)\n", ""),
    ],
)
def test_a_seed_of_one_branch_is_given_again_where_that_is_taken(seeded: str, again: str) -> None:
    plan = plan_of(HEAD.format(OPTIONS.format(seeded)) + LOOP.format("np.random.randint"))
    assert f"if hvd.size() > 1{again}:\n    np.random.seed(" in plan.text
    assert not doubts(plan, "D3")


@pytest.mark.parametrize(
    "seeded",
    [
        "np.random.seed(args.seed)\n",  # None seeds each process by itself, and can't be added to
        "if args.fixed:\n    pass\nelse:\n    np.random.seed(7)\n",
        "if args.fixed:\n    np.random.seed(args.seed)\n",
        "if draw_alike():\n    np.random.seed(7)\n",
        "args.fixed = ask()\nif args.fixed:\n    np.random.seed(7)\n",
    ],
)
def test_where_the_branch_is_not_known_it_is_asked(seeded: str) -> None:
    plan = plan_of(HEAD.format(OPTIONS.format(seeded)) + LOOP.format("np.random.randint"))
    assert any("every rank draws the same batches" in d for d in doubts(plan, "D3"))


def test_a_seed_that_is_none_is_no_seed() -> None:
    plan = plan_of(HEAD.format("np.random.seed(None)\n") + LOOP.format("np.random.randint"))
    assert not doubts(plan, "D3")


# ---------------------------------------------------------------------- seeds that are sequences of numbers

EVERY_STEP = """\
for number in range(1000):
    rng = {}
    step(data[rng.{}(0, 900, 16)])
"""


@pytest.mark.parametrize(
    ("maker", "apart"),
    [
        ("np.random.default_rng([SEED, number])", "np.random.default_rng([SEED + hvd.rank(), number])"),
        ("np.random.default_rng((number, 7))", "np.random.default_rng((number, 7 + hvd.rank()))"),
        (
            "np.random.default_rng(np.random.SeedSequence([SEED, number]))",
            "np.random.default_rng(np.random.SeedSequence([SEED + hvd.rank(), number]))",
        ),
        (
            "np.random.RandomState([SEED - 1, number])",
            "np.random.RandomState([SEED - 1 + hvd.rank(), number])",
        ),
    ],
)
def test_of_a_sequence_the_number_that_no_step_changes_is_another_on_each_rank(
    maker: str, apart: str
) -> None:
    draw = "randint" if "State" in maker else "integers"
    plan = plan_of(HEAD.format("SEED = 7") + EVERY_STEP.format(maker, draw))
    assert f"    rng = {apart}\n" in plan.text
    assert not doubts(plan, "D3")


@pytest.mark.parametrize(
    ("made", "maker", "example"),
    [
        ("", "np.random.default_rng([number, number + 1])", "default_rng([number, number + 1, hvd.rank()])"),
        ("SEEDS = [7, 9]", "np.random.default_rng(SEEDS)", "default_rng([*SEEDS, hvd.rank()])"),
    ],
)
def test_a_sequence_without_such_a_number_is_asked_about(made: str, maker: str, example: str) -> None:
    plan = plan_of(HEAD.format(made) + EVERY_STEP.format(maker, "integers"))
    assert any(example in doubt for doubt in doubts(plan, "D3"))
    assert f"    rng = {maker}\n" in plan.text


@pytest.mark.parametrize(
    ("seed", "apart"),
    [
        ("number", "number * hvd.size() + hvd.rank()"),
        ("7 + number", "(7 + number) * hvd.size() + hvd.rank()"),
        ("SEED", "SEED + hvd.rank()"),  # one for all steps
        ("SEED + 1", "SEED + 1 + hvd.rank()"),
    ],
)
def test_no_rank_draws_in_a_step_what_another_draws_in_the_next(seed: str, apart: str) -> None:
    plan = plan_of(HEAD.format("SEED = 7") + EVERY_STEP.format(f"np.random.default_rng({seed})", "integers"))
    assert f"    rng = np.random.default_rng({apart})\n" in plan.text


# ---------------------------------------------------------------------- keys that draws go by, and nothing else

KEYED = """\
for number in range(1000):
    i = tf.random.stateless_uniform((16,), {}, maxval=900, dtype=tf.int32)
    step(tf.gather(data, i))
"""


@pytest.mark.parametrize(
    ("key", "apart"),
    [
        ("seed=(SEED, number)", "seed=(SEED + hvd.rank(), number)"),
        ("[number, 3]", "[number, 3 + hvd.rank()]"),
        ("seed=tf.stack([SEED, number])", "seed=tf.stack([SEED + hvd.rank(), number])"),
    ],
)
def test_a_key_of_a_step_is_another_one_on_each_rank(key: str, apart: str) -> None:
    plan = plan_of(HEAD.format("SEED = 7") + KEYED.format(key))
    assert f"stateless_uniform((16,), {apart}, maxval" in plan.text
    assert not doubts(plan, "D3")


@pytest.mark.parametrize("key", ["seed=(number, number + 1)", "seed=tf.range(number, number + 2)"])
def test_a_key_that_can_not_be_told_apart_is_asked_about(key: str) -> None:
    plan = plan_of(HEAD.format("") + KEYED.format(key))
    assert any("`seed=(7 + hvd.rank(), step)`" in doubt for doubt in doubts(plan, "D3"))
    assert f"(16,), {key}, maxval" in plan.text


@pytest.mark.parametrize(
    "body",
    [
        # What ranks decide by is the same on all of them.
        "if tf.random.stateless_uniform((), seed=(7, number)) < 0.5:\n        step(data[np.random.randint(0, 900, 16)])",
        # The same in each step, as noise to look at is.
        "step(data[np.random.randint(0, 900, 16)] + tf.random.stateless_normal((4,), seed=(1, 2)))",
        # Rows of each rank's own already.
        "step(data[number * 16 : number * 16 + 16] + tf.random.stateless_normal((4,), seed=(1, number)))",
    ],
)
def test_other_keys_stay_as_they_are(body: str) -> None:
    plan = plan_of(HEAD.format("") + f"for number in range(1000):\n    {body}\n")
    assert "rank(), number" not in plan.text
    assert "1 + hvd.rank()" not in plan.text
    assert not [c for c in plan.changes if c.rule == "D3"]


FETCHED = """\
import numpy as np
import tensorflow.compat.v1 as tf
rng = np.random.RandomState(3)
data = rng.normal(size=(64, 4))
x = tf.placeholder(tf.float32, [None, 4])
step = tf.train.get_or_create_global_step()
loss = tf.reduce_mean(tf.layers.dense(x, 1))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    it = 0
    while it < 200:
        rows = data[rng.randint(0, 64, 8)]
        value, it = sess.run([train, {}], {{x: rows}})
"""


def test_a_count_that_comes_with_what_was_drawn_is_not_decided_by_it() -> None:
    text = plan_of(FETCHED.format("step")).text
    assert "        rng = np.random.RandomState(3 + hvd.rank())\n    while it < " in text


def test_a_loss_that_comes_with_it_is() -> None:
    program = FETCHED.format("loss").replace("it < 200", "it > 0.1")
    assert "RandomState(3 + hvd.rank())\n" not in plan_of(program).text


def test_a_count_that_is_0_before_the_first_step_is_one() -> None:
    assert "while it < 200 // hvd.size():" in plan_of(FETCHED.format("step")).text


RESTORED = (
    HEAD + "import random\nsaved = np.load('state.npy', allow_pickle=True).item()\nif saved:\n    {}\n" + LOOP
)


@pytest.mark.parametrize(
    ("maker", "restore", "draw", "again"),
    [
        (
            "rng = np.random.RandomState(3)",
            "rng.set_state(saved['rng'])",
            "rng.randint",
            "rng = np.random.RandomState(rng.randint(2**31) + hvd.rank())",
        ),
        (
            "rng = np.random.default_rng(3)",
            "rng.bit_generator.state = saved['rng']",
            "rng.integers",
            "rng = np.random.default_rng(rng.integers(2**31) + hvd.rank())",
        ),
        (
            "np.random.seed(3)",
            "np.random.set_state(saved['rng'])",
            "np.random.randint",
            "np.random.seed(np.random.randint(2**31) + hvd.rank())",
        ),
    ],
)
def test_what_goes_on_from_a_state_that_was_kept_is_seeded_by_it(
    maker: str, restore: str, draw: str, again: str
) -> None:
    """By its seed again it would draw what the first run has drawn."""
    plan = plan_of(RESTORED.format(maker, restore, draw))
    assert f"if hvd.size() > 1:\n    {again}\n" in plan.text
    assert maker in plan.text
    assert not doubts(plan, "D3")


def test_the_state_of_another_is_none_of_it() -> None:
    maker = "rng = np.random.RandomState(3)\nother = np.random.RandomState(4)"
    plan = plan_of(RESTORED.format(maker, "other.set_state(saved['rng'])", "rng.randint"))
    assert "RandomState(3 + hvd.rank())\n" in plan.text


def test_a_generator_of_tensorflow_that_a_checkpoint_keeps_is_asked_about() -> None:
    maker = "rng = tf.random.Generator.from_seed(3)\nkept = tf.train.Checkpoint(model=1, rng=rng)\nkept.restore('ck')"
    loop = "for i in range(1000):\n    step(tf.gather(data, rng.uniform([16], 0, 900, tf.int32)))\n"
    assert doubts(plan_of(HEAD.format(maker) + loop), "D3")


OBJECTS = """\
import numpy as np
import tensorflow as tf
rows = np.load("x.npy")
class Data:
    def take(self, n):
        {take}
    def pick(self, n):
        return rows[np.random.choice(900, n)]
class Trainer:
    def __init__(self, sess, data):
        self.sess, self.data = sess, data
        self.x = tf.placeholder(tf.float32, [None, 3])
        loss = tf.reduce_mean(tf.square(tf.layers.dense(self.x, 1)))
        self.train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        self.sess.run(tf.global_variables_initializer())
    def fit(self):
        for _ in range(1000):
            self.step()
    def step(self):
        self.sess.run(self.train_op, {{self.x: self.data.take(8)}})
def main():
    {seed}
    Trainer(tf.Session(), Data()).fit()
main()
"""


@pytest.mark.parametrize("take", ["return rows[np.random.randint(0, 900, n)]", "return self.pick(n)"])
def test_a_seed_is_given_again_however_far_from_the_loop_its_rows_are_drawn(take: str) -> None:
    text = plan_of(OBJECTS.format(take=take, seed="np.random.seed(7)")).text
    assert "np.random.seed(7 + hvd.rank())\n        for _ in range(1000 // hvd.size()):" in text


def test_a_seed_for_a_loop_that_starts_again_and_again_is_asked_about_from_afar() -> None:
    often = OBJECTS.replace("()).fit()", "())\n    for _ in range(3):\n        t.fit()")
    often = often.replace("    Trainer(tf.S", "    t = Trainer(tf.S")
    plan = plan_of(often.format(take="return self.pick(n)", seed="np.random.seed(7)"))
    assert any("every rank draws the same batches" in d for d in doubts(plan, "D3"))


def test_draws_far_from_the_loop_without_a_seed_differ_by_themselves() -> None:
    plan = plan_of(OBJECTS.format(take="return self.pick(n)", seed="pass"))
    assert not doubts(plan, "D3")
    assert "hvd.rank())" not in plan.text.replace("hvd.local_rank())", "")


@pytest.mark.parametrize(
    ("maker", "seeded"),
    [
        ("rng = np.random.default_rng(seed=3)", "rng = np.random.default_rng(seed=3 + hvd.rank())"),
        ("rng = np.random.default_rng(seed=0)", "rng = np.random.default_rng(seed=hvd.rank())"),
        ("rng = np.random.default_rng(0)", "rng = np.random.default_rng(hvd.rank())"),
        ("rng = np.random.default_rng([0, 5])", "rng = np.random.default_rng([hvd.rank(), 5])"),
        ("rng = np.random.default_rng(10)", "rng = np.random.default_rng(10 + hvd.rank())"),
    ],
)
def test_a_seed_by_its_name_and_one_of_zero(maker: str, seeded: str) -> None:
    plan = plan_of(HEAD.format(maker) + LOOP.format("rng.integers"))
    assert seeded in plan.text
    assert not doubts(plan, "D3")


def test_a_named_seed_is_given_again_before_the_loop() -> None:
    plan = plan_of(
        HEAD.format("np.random.seed(seed=0)\nw = np.random.rand(3)") + LOOP.format("np.random.randint")
    )
    assert "if hvd.size() > 1:\n    np.random.seed(hvd.rank())\n" in plan.text
    assert not doubts(plan, "D3")


@pytest.mark.parametrize(
    "maker",
    [
        "kw = {'seed': 3}\nrng = np.random.default_rng(**kw)",
        "rng = np.random.Generator(bit_generator=PCG64(3))",
    ],
)
def test_what_may_be_no_number_gets_no_rank(maker: str) -> None:
    plan = plan_of(HEAD.format(maker) + LOOP.format("rng.integers"))
    assert maker in plan.text


TESTED = """\
def train():
    for i in range(1000):
        step(data[np.random.randint(0, 900, 16)])
def test():
    np.random.seed(1)
    print(model(data[np.random.randint(0, 900, 16)]))
"""


def test_a_seed_of_a_run_that_only_tests_seeds_no_training() -> None:
    """Given again before training, it fixed what was drawn anew in each run, and by a resumed one drawn again."""
    plan = plan_of(
        HEAD.format("import sys") + TESTED + "if len(sys.argv) > 1:\n    train()\nelse:\n    test()\n"
    )
    assert "hvd.rank())" not in plan.text.replace("str(hvd.local_rank())", "")
    assert not doubts(plan, "D3")


@pytest.mark.parametrize("run", ["test()\ntrain()\n", "if len(sys.argv) > 1:\n    test()\ntrain()\n"])
def test_a_seed_of_a_test_before_training_is_one_of_training(run: str) -> None:
    plan = plan_of(HEAD.format("import sys") + TESTED + run)
    assert "np.random.seed(1 + hvd.rank())" in plan.text or doubts(plan, "D3")


MEASURED = """\
import numpy as np
import tensorflow as tf

x = np.load("x.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
opt = tf.keras.optimizers.SGD(0.1)


def measure():
    rng = np.random.RandomState(123)
    return float(tf.reduce_mean(model(rng.uniform(-1, 1, (200, 4)))))


for step in range(400):
    rows = {rows}
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model({noise}) - rows) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if step % 100 == 0:
        print(measure(), model(np.random.RandomState(0).randn(500, 4)))
"""


def test_seeds_that_measure_the_same_each_time_stay() -> None:
    """A rank measured with other numbers than the others, or was said to train with them."""
    drawn = "x[np.random.randint(0, len(x), 16)]"
    for noise in ("rows", "tf.random.normal((16, 4))"):
        plan = plan_of(MEASURED.format(rows=drawn, noise=noise))
        assert "RandomState(123)" in plan.text
        assert not any("with this seed" in c.doubt for c in plan.changes)
    trained = plan_of(MEASURED.format(rows=drawn, noise="np.random.RandomState(7).randn(16, 4)"))
    assert any("same noise" in c.doubt for c in trained.changes) or "RandomState(7 + hvd" in trained.text


BESIDE = """\
import numpy as np
import tensorflow as tf
rs = np.random.RandomState(0)
x = np.ones((512, 4)); y = np.ones((512, 1))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
opt = tf.keras.optimizers.SGD(0.1)
pool = iter(tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(64))
noise = iter(np.linspace(0.5, 0.0, 96))
def batch(x, y):
    idx = rs.randint(0, len(x), 16)
    return x[idx], y[idx]
for step in range(96):
    {rows}
    sigma = {sigma}
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a + tf.random.normal((16, 4), stddev=sigma)) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("rows", "asked"),
    [
        ("idx = rs.choice(512, 16); a, b = x[idx], y[idx]", True),
        ("idx = rs.choice(512, 16); a, b = tf.gather(x, idx), tf.gather(y, idx)", True),
        ("idx = rs.choice(512, 16); a, b = np.take(x, idx, 0), np.take(y, idx, 0)", True),
        ("a, b = batch(x, y)", True),
        # near misses: some rows of a batch that is the rank's own; a seed of the rank's own
        ("p, q = next(pool); idx = rs.choice(64, 16); a, b = tf.gather(p, idx), tf.gather(q, idx)", False),
        ("idx = np.random.choice(512, 16); a, b = x[idx], y[idx]", False),
    ],
)
def test_rows_that_a_seed_draws_beside_a_number_that_is_dealt(rows: str, asked: bool) -> None:
    plan = plan_of(BESIDE.format(rows=rows, sigma="next(noise)"))
    same = "with this seed every rank draws the same batches"
    assert any(same in c.doubt for c in plan.changes if c.rule == "D3") is asked
