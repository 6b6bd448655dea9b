"""D3: noise that a model is given and that a seed fixes."""

from __future__ import annotations

import pytest

from ..pairs import TF, changes, plan_of

HEAD = TF + "import numpy as np\n{seed}\n"
LOOP = """
G, D = tf.keras.Sequential([]), tf.keras.Sequential([])
opt = tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices(rows).batch(8)
@tf.function
def train_step(images):
    with tf.GradientTape() as tape:
        {noise}
        loss = tf.reduce_mean(D({fed}))
    opt.apply_gradients(zip(tape.gradient(loss, G.trainable_variables), G.trainable_variables))
for epoch in range(9):
    for images in ds:
        train_step(images)
"""
SEED = "tf.random.set_seed(7)"
APART = "if hvd.size() > 1:\n    tf.random.set_seed(7 + hvd.rank())\n"


def text_of(seed: str, noise: str, fed: str = "images") -> str:
    return plan_of(HEAD.format(seed=seed) + LOOP.format(noise=noise, fed=fed)).text


@pytest.mark.parametrize(
    ("noise", "fed"),
    [
        ("z = tf.random.normal([8, 4])", "G(z)"),
        ("z = tf.random.normal([8, 4])", "G(z, training=True)"),
        ("z = tf.random.uniform([8, 4])", "G([z, labels])"),
        ("z = tf.cast(tf.random.normal([8, 4]), tf.float32)", "G.predict(z)"),
        ("pass", "G(tf.random.normal([8, 4]))"),
    ],
)
def test_ranks_give_a_model_noise_of_their_own(noise: str, fed: str) -> None:
    assert APART in text_of(SEED, noise, fed)


def test_noise_that_a_step_is_handed() -> None:
    loop = LOOP.format(noise="fake = G(z)", fed="fake").replace("(images):", "(images, z):")
    loop = loop.replace("train_step(images)\n", "train_step(images, np.random.normal(size=(8, 4)))\n")
    text = plan_of(HEAD.format(seed="np.random.seed(7)") + loop).text
    assert "if hvd.size() > 1:\n    np.random.seed(7 + hvd.rank())\n" in text


def test_a_generator_of_noise_is_seeded_apart_where_it_is_made() -> None:
    text = text_of("noise = tf.random.Generator.from_seed(7)", "z = noise.normal((8, 4))", "G(z)")
    assert "noise = tf.random.Generator.from_seed(7 + hvd.rank())\n" in text


@pytest.mark.parametrize(
    ("seed", "noise", "fed"),
    [
        ("pass", "z = tf.random.normal([8, 4])", "G(z)"),  # no seed: ranks differ
        (SEED, "z = images + tf.random.normal([8, 4])", "G(z)"),  # rows with noise on them
        (SEED, "z = mean + tf.random.normal([8, 4]) * spread", "G(z)"),
        ("np.random.seed(7)", "z = tf.random.normal([8, 4])", "G(z)"),  # another library's
        (SEED, "z = tf.random.normal([8, 4], seed=3)", "G(z)"),
        (SEED, "z = tf.zeros([8, 4])", "G(z)"),
    ],
)
def test_noise_that_differs_or_comes_with_rows_is_left(seed: str, noise: str, fed: str) -> None:
    text = text_of(seed, noise, fed)
    assert "hvd.rank())" not in text[text.index("G, D = ") :]
    assert "set_seed(7 + " not in text


def test_it_is_asked_where_more_is_drawn_later() -> None:
    source = HEAD.format(seed=SEED) + LOOP.format(noise="z = tf.random.normal([8, 4])", fed="G(z)")
    plan = plan_of(source + "print(tf.random.normal([2]))\n")
    assert APART not in plan.text
    assert any("every rank gives the model the same noise" in c.doubt for c in changes(plan, "D3"))


def test_noise_of_a_model_with_a_step_of_its_own() -> None:
    source = (
        HEAD.format(seed="pass")
        + """
class GAN(tf.keras.Model):
    def __init__(self, g, d):
        super().__init__()
        self.g, self.d = g, d
        self.noise = tf.random.Generator.from_seed(7)
    def train_step(self, images):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.d(self.g(self.noise.normal((8, 4)))))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.g.trainable_weights), self.g.trainable_weights))
        return {}
gan = GAN(tf.keras.Sequential([]), tf.keras.Sequential([]))
gan.compile(tf.keras.optimizers.SGD(0.1))
gan.fit(tf.data.Dataset.from_tensor_slices(rows).batch(8), epochs=2)
"""
    )
    assert "from_seed(7 + hvd.rank())" in plan_of(source).text


def test_the_order_of_rows_is_no_noise() -> None:
    loop = LOOP.format(noise="fake = G(images)", fed="fake")
    loop = loop.replace("    for images in ds:\n        train_step(images)\n", ORDERED)
    plan = plan_of(HEAD.format(seed="np.random.seed(7)") + loop)
    assert all(c.sure for c in plan.changes)
    assert not any(c.rule == "D3" for c in plan.changes)


ORDERED = """\
    order = np.random.permutation(chosen)
    for i in range(0, len(order), 16):
        train_step(rows[order[i:i + 16]])
"""


SESSION_GAN = """\
import numpy as np
import tensorflow as tf
np.random.seed(7)
rows = np.load("x.npy")
x = tf.placeholder(tf.float32, [None, 3])
z = tf.placeholder(tf.float32, [None, 2])
made = tf.layers.dense(z, 3)
judge = tf.layers.dense(x, 1) - tf.layers.dense(made, 1)
judged = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(judge))
forged = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(made))
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for i in range(1000):
    noise = {noise}
    feed = {{x: {rows}, z: noise}}
    sess.run(judged, feed)
    sess.run(forged, {{z: noise}})
"""
AGAIN = "if hvd.size() > 1:\n    np.random.seed(7 + hvd.rank())\nfor i in range("


def test_noise_that_a_session_is_fed_with_differs_between_ranks() -> None:
    """Their generators learned from the same noise, at size() times the rate."""
    noise = "np.random.normal(size=(8, 2)).astype(np.float32)"
    assert AGAIN in plan_of(SESSION_GAN.format(noise=noise, rows="rows[i * 8:i * 8 + 8]")).text
    assert (
        "seed(7 + "
        not in plan_of(SESSION_GAN.format(noise="np.ones((8, 2))", rows="rows[i * 8:i * 8 + 8]")).text
    )


def test_a_seed_by_which_batches_may_be_dealt_out_alike_stays() -> None:
    plan = plan_of(SESSION_GAN.format(noise="np.random.normal(size=(8, 2))", rows="data.next_batch(8)"))
    assert "seed(7 + " not in plan.text
    assert any("draws the same numbers, beside batches" in n.message for n in plan.notes)


GENERATED = """\
rows = np.random.rand(800, 4)
def batches():
    while True:
        order = np.random.permutation(len(rows))
        for i in range(0, len(rows) - 8, 8):
            yield rows[order[i:i + 8]]
dealt = {dealt}
for step in range(1000):
    train_step(next(dealt))
"""


def dealt_by_next(dealt: str, seed: str = SEED, noise: str = "tf.random.normal([8, 4])") -> str:
    loop = LOOP.format(noise=f"z = {noise}", fed="G(z)")
    return plan_of(
        HEAD.format(seed=seed) + loop[: loop.index("for epoch")] + GENERATED.format(dealt=dealt)
    ).text


def test_noise_differs_beside_batches_of_a_generator_that_draws_otherwise() -> None:
    """The seed of TensorFlow decides nothing of what NumPy deals out."""
    assert APART in dealt_by_next("batches()")


@pytest.mark.parametrize(
    ("dealt", "seed", "noise"),
    [
        ("unseen()", SEED, "tf.random.normal([8, 4])"),  # may draw by it
        ("iter(made)", SEED, "tf.random.normal([8, 4])"),
        ("batches() if rows is made else unseen()", SEED, "tf.random.normal([8, 4])"),
        ("batches()", "np.random.seed(7)", "np.random.normal(size=(8, 4))"),  # ranks deal out alike by it
    ],
)
def test_noise_stays_beside_batches_that_may_be_dealt_by_the_same_seed(
    dealt: str, seed: str, noise: str
) -> None:
    assert "7 + hvd.rank()" not in dealt_by_next(dealt, seed, noise)


KERAS_3_GAN = """\
import keras, tensorflow as tf
class GAN(keras.Model):
    def __init__(self, g, d):
        super().__init__()
        self.g, self.d = g, d
        self.seeds = keras.random.SeedGenerator(42)
    def noise(self, like):
        return keras.random.normal((tf.shape(like)[0], 4), seed=self.seeds)
    def between(self, real, made):
        return self.d(real + self.noise(real) * (made - real))
    def train_step(self, images):
        with tf.GradientTape() as tape:
            z = {noise}
            made = self.g(z)
            loss = tf.reduce_mean(self.d(made)) + tf.reduce_mean(self.between(images, made))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.g.trainable_weights), self.g.trainable_weights))
        return {{}}
gan = GAN(keras.Sequential([]), keras.Sequential([]))
gan.compile(keras.optimizers.SGD(0.1))
{before}gan.fit(tf.data.Dataset.from_tensor_slices(rows).batch(8), epochs=2)
"""


@pytest.mark.parametrize(
    "noise", ["keras.random.normal((tf.shape(images)[0], 4), seed=self.seeds)", "self.noise(images)"]
)
def test_a_seed_generator_of_keras_3_is_seeded_apart_where_it_is_made(noise: str) -> None:
    """Methods that the step calls draw by it, too."""
    text = plan_of(KERAS_3_GAN.format(noise=noise, before=""), tensorflow="2.21").text
    assert "self.seeds = keras.random.SeedGenerator(42 + hvd.rank())\n" in text
    assert text.count("SeedGenerator") == 1


@pytest.mark.parametrize(
    "joined", ["keras.ops.concatenate([z, labels], axis=1)", "tf.concat([labels, z], 1)", "[z, labels]"]
)
def test_noise_beside_labels_differs_between_ranks(joined: str) -> None:
    """What a generator makes rows of, of each kind: all ranks drew the same noise."""
    source = KERAS_3_GAN.format(noise="self.noise(images)", before="").replace(
        "self.g(z)", f"self.g({joined})"
    )
    source = source.replace("(self, images):", "(self, data):\n        images, labels = data")
    text = plan_of(
        source.replace("from_tensor_slices(rows)", "from_tensor_slices((rows, kinds))"), tensorflow="2.21"
    ).text
    assert "self.seeds = keras.random.SeedGenerator(42 + hvd.rank())\n" in text


def test_noise_that_is_added_to_rows_stays() -> None:
    source = KERAS_3_GAN.format(noise="images + self.noise(images)", before="")
    assert "SeedGenerator(42)\n" in plan_of(source, tensorflow="2.21").text


def test_it_is_asked_where_rows_are_drawn_by_a_seed_generator_as_well() -> None:
    """A line that makes another one would change nothing."""
    before = "rows = rows + keras.random.normal(rows.shape, seed=gan.seeds)\n"
    source = KERAS_3_GAN.format(noise="keras.random.normal((8, 4), seed=self.seeds)", before=before)
    plan = plan_of(source, tensorflow="2.21")
    assert plan.text.count("SeedGenerator") == 1
    assert [c for c in changes(plan, "D3") if "SeedGenerator(42 + hvd.rank())" in c.doubt]


@pytest.mark.parametrize(
    ("seeded", "after"),
    [
        ("keras.utils.set_random_seed(3)\n", "SeedGenerator(hvd.rank() if hvd.size() > 1 else None)\n"),
        ("import random\nrandom.seed(3)\n", "SeedGenerator(hvd.rank() if hvd.size() > 1 else None)\n"),
        # Keras draws its seed from Python's stream, which these leave as they find it
        ("tf.random.set_seed(3)\n", "SeedGenerator()\n"),
        ("", "SeedGenerator()\n"),
    ],
)
def test_one_without_a_seed_is_seeded_where_the_script_seeds_what_that_is_drawn_from(
    seeded: str, after: str
) -> None:
    """All ranks taught the generator by the same noise."""
    source = KERAS_3_GAN.format(noise="self.noise(images)", before="").replace(
        "SeedGenerator(42)", "SeedGenerator()"
    )
    source = source.replace("class GAN", seeded + "class GAN", 1)
    assert f"self.seeds = keras.random.{after}" in plan_of(source, tensorflow="2.21").text


def test_one_without_a_seed_that_draws_rows_as_well_is_asked_about() -> None:
    before = "rows = rows + keras.random.normal(rows.shape, seed=gan.seeds)\n"
    source = KERAS_3_GAN.format(noise="self.noise(images)", before=before).replace(
        "SeedGenerator(42)", "SeedGenerator()"
    )
    plan = plan_of("import keras\nkeras.utils.set_random_seed(3)\n" + source, tensorflow="2.21")
    assert "SeedGenerator()\n" in plan.text
    assert [c for c in changes(plan, "D3") if "SeedGenerator(hvd.rank())" in c.doubt]
