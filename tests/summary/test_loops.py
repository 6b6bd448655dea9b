"""Training loops: which kind, where, and by whom, for small programs of each kind."""

from __future__ import annotations

import pytest

from horovodize.summary import LoopKind

from .reading import summary

TF = "import tensorflow as tf\n"
V1 = "import tensorflow.compat.v1 as tf\n"
FIT = "m = tf.keras.Sequential([])\nm.compile('sgd')\nm.fit(x, y)\n"
TAPE = (
    "m = tf.keras.Sequential([])\nopt = tf.keras.optimizers.SGD(0.1)\nfor x in data:\n    with tf.GradientTape() as t:\n"
    "        loss = m(x)\n    opt.apply_gradients(zip(t.gradient(loss, m.trainable_variables), m.trainable_variables))\n"
)
OWN_STEP = (
    "class M(tf.keras.Model):\n    def train_step(self, data):\n        with tf.GradientTape() as t:\n"
    "            loss = self(data)\n"
    "        g = t.gradient(loss, self.trainable_variables)\n"
    "        self.optimizer.apply_gradients(zip(g, self.trainable_variables))\n"
)
MINIMIZE = (
    "w = tf.Variable(1.0)\nopt = tf.keras.optimizers.SGD(0.1)\nfor i in range(9):\n"
    "    opt.minimize(lambda: w * w, [w])\n"
)
GRAPH = "train = tf.train.AdamOptimizer(0.1).minimize(cost)\n"
SESSION = GRAPH + "with tf.Session() as s:\n    for i in range(9):\n        s.run(train)\n"
MONITORED = (
    GRAPH
    + "with tf.train.MonitoredTrainingSession() as s:\n    while not s.should_stop():\n        s.run(train)\n"
)
ESTIMATOR = "e = tf.estimator.DNNClassifier([8], [])\ne.train(f, steps=9)\n"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("", LoopKind.NONE),
        ("x = 1\n", LoopKind.NONE),
        ("m.fit(x, epochs=3)\n", LoopKind.NONE),
        (TF, LoopKind.NONE),
        (TF + "m = tf.keras.Sequential([])\nm.predict(x)\n", LoopKind.NONE),
        (TF + "m = tf.keras.Sequential([])\nm.compile('sgd')\nm.evaluate(x)\n", LoopKind.NONE),
        (TF + "with tf.GradientTape() as t:\n    y = x\nt.gradient(y, x)\n", LoopKind.NONE),
        (TF + "opt = tf.keras.optimizers.SGD(0.1)\n", LoopKind.NONE),
        (V1 + "with tf.Session() as s:\n    s.run(x)\n", LoopKind.NONE),
        (V1 + GRAPH, LoopKind.NONE),
        (TF + "e = tf.estimator.DNNClassifier([8], [])\ne.evaluate(f)\n", LoopKind.NONE),
        ("import sklearn, tensorflow\nfrom sklearn.svm import SVC\nSVC().fit(x, y)\n", LoopKind.NONE),
        ("this is not python", LoopKind.NONE),
        (TF + FIT, LoopKind.KERAS),
        (TF + FIT.replace("m.fit(x, y)", "m.fit_generator(g)"), LoopKind.KERAS),
        (TF + FIT.replace("m.fit(x, y)", "m.train_on_batch(x, y)"), LoopKind.KERAS),
        ("import keras\nm = keras.Sequential()\nm.compile('sgd')\nm.fit(x, y)\n", LoopKind.KERAS),
        (TF + "if a:\n    " + FIT.replace("\n", "\n    ").rstrip() + "\n", LoopKind.KERAS),
        (TF + "try:\n    " + FIT.replace("\n", "\n    ").rstrip() + "\nexcept E:\n    pass\n", LoopKind.KERAS),
        (TF + "def train():\n    " + FIT.replace("\n", "\n    ").rstrip() + "\n", LoopKind.KERAS),
        (TF + OWN_STEP + "m = M()\nm.compile('sgd')\nm.fit(x)\n", LoopKind.KERAS),
        (TF + FIT + FIT, LoopKind.KERAS),
        (TF + TAPE, LoopKind.GRADIENT_TAPE),
        (TF + TAPE.replace("for x in data:", "while True:"), LoopKind.GRADIENT_TAPE),
        (TF + MINIMIZE, LoopKind.GRADIENT_TAPE),
        (TF + TAPE + MINIMIZE, LoopKind.GRADIENT_TAPE),
        (V1 + SESSION, LoopKind.SESSION),
        (TF + SESSION, LoopKind.SESSION),
        (TF + SESSION.replace("with tf.Session() as s:", "s = tf.compat.v1.Session()\nif True:"), LoopKind.SESSION),
        (V1 + MONITORED, LoopKind.MONITORED_SESSION),
        (TF + ESTIMATOR, LoopKind.ESTIMATOR),
        (TF + "tf.estimator.train_and_evaluate(e, a, b)\n", LoopKind.ESTIMATOR),
        (TF + FIT + TAPE, LoopKind.MULTIPLE),
        (TF + FIT + ESTIMATOR, LoopKind.MULTIPLE),
        (TF + TAPE + ESTIMATOR, LoopKind.MULTIPLE),
        (TF + "import horovod.tensorflow.keras as hvd\n" + FIT, LoopKind.HOROVOD),
        (TF + "from horovod import tensorflow as hvd\n" + TAPE, LoopKind.HOROVOD),
        (TF + "import horovod.tensorflow as hvd\n" + FIT + TAPE, LoopKind.HOROVOD),
        (TF + "s = tf.distribute.MirroredStrategy()\n" + FIT, LoopKind.OTHER_FRAMEWORK),
        (TF + "s = tf.distribute.experimental.ParameterServerStrategy(r)\n" + TAPE, LoopKind.OTHER_FRAMEWORK),
        ("import keras\nkeras.distribution.set_distribution(d)\n" + TF + FIT, LoopKind.OTHER_FRAMEWORK),
        (TF + "d = tf.keras.distribution.DataParallel()\n" + FIT, LoopKind.OTHER_FRAMEWORK),
        (TF + "mesh = tf.experimental.dtensor.create_mesh()\n" + FIT, LoopKind.OTHER_FRAMEWORK),
        ("import keras\nprint(keras.distribution.list_devices())\n" + TF + FIT, LoopKind.KERAS),
        ("import keras\nprint(keras.distribution.distribution())\n" + TF + FIT, LoopKind.KERAS),
        (TF + "from mine import distribution\ndistribution.set_distribution(1)\n" + FIT, LoopKind.KERAS),
        (TF + "import horovod.tensorflow as hvd\ns = tf.distribute.MirroredStrategy()\n" + FIT, LoopKind.HOROVOD),
        (V1 + "o = tf.train.SyncReplicasOptimizer(o, 2)\n" + SESSION, LoopKind.OTHER_FRAMEWORK),
    ],
)  # fmt: skip
def test_the_kind_of_loop(source: str, kind: LoopKind) -> None:
    assert summary(source).loop is kind


@pytest.mark.parametrize(
    ("source", "described"),
    [
        (TF + FIT, ["Keras training loop, model `m`"]),
        (TF + TAPE, ["GradientTape training loop, model `m.trainable_variables`, optimizer `opt`"]),
        (TF + "def train():\n    " + FIT.replace("\n", "\n    ").rstrip() + "\n"
        "", ["Keras training loop in `train`, model `m`"]),
        (TF + "class T:\n    def run(self):\n        self.m = tf.keras.Sequential([])\n        self.m.fit(x)\n",
         ["Keras training loop in `T.run`, model `self.m`"]),
        (TF + ESTIMATOR, ["Estimator training loop"]),
        (TF + FIT + TAPE, ["Keras training loop, model `m`",
                            "GradientTape training loop, model `m.trainable_variables`, optimizer `opt`"]),
    ],
)  # fmt: skip
def test_loops_are_described(source: str, described: list[str]) -> None:
    assert [loop.describe() for loop in summary(source).loops] == described


def test_the_span_is_the_header_of_the_innermost_loop() -> None:
    s = summary(TF + TAPE.replace("for x in data:", "for x in data.take(\n    3\n):  # go"))
    (loop,) = s.loops
    text = s.document.text
    assert text[loop.span.start : loop.span.end] == "for x in data.take(\n    3\n)"
    assert text[loop.site.start : loop.site.end].startswith("opt.apply_gradients(")


def test_the_span_of_a_step_in_a_function_is_the_loop_that_calls_it() -> None:
    s = summary(
        TF + "def step(x):\n    with tf.GradientTape() as t:\n        loss = m(x)\n"
        "    opt.apply_gradients(zip(t.gradient(loss, m.v), m.v))\nfor e in range(3):\n    for x in data:\n        step(x)\n"
    )
    (loop,) = s.loops
    assert s.document.text[loop.span.start : loop.span.end] == "for x in data"
    assert loop.function == "step"


def test_the_span_of_a_fit_is_its_call() -> None:
    s = summary(TF + FIT)
    assert s.document.text[s.loops[0].span.start : s.loops[0].span.end] == "m.fit(x, y)"


def test_a_document_that_does_not_parse_has_a_problem_and_no_loops() -> None:
    s = summary(TF + "m.fit(\n")
    assert s.problem is not None
    assert s.loops == ()
    assert s.roles == ()
    assert s.already is None


def test_a_mention_of_distribution_in_a_string_is_none() -> None:
    s = summary(TF + "print('tf.distribute, ClusterSpec')  # horovod\n" + FIT)
    assert s.already is None


# ---------------------------------------------------------------------- roles


def roles(source: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for role in summary(source).roles:
        found.setdefault(role.role, []).append(role.name)
    return found


def test_every_role_is_found_by_what_makes_it() -> None:
    found = roles(
        TF
        + """
model = tf.keras.Sequential([])
rate = tf.keras.optimizers.schedules.CosineDecay(0.1, 10)
opt = tf.keras.optimizers.SGD(rate)
data = tf.data.Dataset.range(3)
stop = tf.keras.callbacks.EarlyStopping()
saved = tf.train.Checkpoint(model=model)
manager = tf.train.CheckpointManager(saved, 'd', 3)
with tf.GradientTape() as tape:
    pass
with tf.compat.v1.Session() as sess:
    pass
model.compile(tf.keras.optimizers.Adam())
"""
    )
    assert found == {
        "tensorflow": ["tf"],
        "model": ["model"],
        "schedule": ["rate"],
        "optimizer": ["opt", ""],
        "dataset": ["data"],
        "callback": ["stop"],
        "checkpoint": ["saved", "manager"],
        "tape": ["tape"],
        "session": ["sess"],
    }


@pytest.mark.parametrize(
    ("made", "detail"),
    [
        ("tf.keras.optimizers.Adam(1e-3)", "tensorflow.keras.optimizers.Adam, learning rate 0.001"),
        (
            "tf.keras.optimizers.Adam(learning_rate=rate)",
            "tensorflow.keras.optimizers.Adam, learning rate rate",
        ),
        ("tf.keras.optimizers.Adam(lr=2)", "tensorflow.keras.optimizers.Adam, learning rate 2"),
        ("tf.keras.optimizers.SGD()", "tensorflow.keras.optimizers.SGD, its default learning rate 0.01"),
        ("tf.keras.Sequential([])", "tensorflow.keras.Sequential"),
    ],
)
def test_roles_say_what_is_known(made: str, detail: str) -> None:
    assert [r.detail for r in summary(TF + f"a = {made}\n").roles][1:] == [detail]


def test_uses_of_a_role_are_the_names_that_mean_it() -> None:
    s = summary(TF + "a = tf.keras.Sequential([])\nb = a\na.fit(x)\na = 1\nprint(a)\n")
    (role,) = [r for r in s.roles if r.role == "model"]
    found = [(s.document.lines.line_of(u.start) + 1, s.document.text[u.start : u.end]) for u in role.uses]
    assert found == [(2, "a"), (3, "a"), (4, "a")]
