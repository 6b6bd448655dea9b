"""Sites: what trains, and what only looks like it."""

from __future__ import annotations

import pytest

from horovodize.summary.sites import Sites

from .reading import module

TF = "import tensorflow as tf\n"
MODEL = TF + "m = tf.keras.Sequential([])\nm.compile('sgd')\n"
V = "m.trainable_variables"


def sites(source: str) -> Sites:
    return Sites(module(source))


def texts(source: str, kind: str) -> list[str]:
    """The texts of the calls of a kind of site."""
    s = sites(source)
    found = getattr(s, kind)
    return [s.module.text(getattr(f, "call", f)) for f in found]


# ---------------------------------------------------------------------- fit


@pytest.mark.parametrize(
    ("source", "fits"),
    [
        (MODEL + "m.fit(x, y)", ["m.fit(x, y)"]),
        (MODEL + "h = m.fit(x, y).history", ["m.fit(x, y)"]),
        (
            MODEL + "m.fit_generator(g)\nm.train_on_batch(x, y)",
            ["m.fit_generator(g)", "m.train_on_batch(x, y)"],
        ),
        (TF + "m = tf.keras.Model(i, o)\nm.fit(x)", ["m.fit(x)"]),
        (TF + "m = tf.keras.models.load_model('f')\nm.fit(x)", ["m.fit(x)"]),
        (TF + "m = tf.keras.models.clone_model(n)\nm.fit(x)", ["m.fit(x)"]),
        (TF + "m = tf.keras.applications.VGG16()\nm.fit(x)", ["m.fit(x)"]),
        (TF + "class M(tf.keras.Model): pass\nm = M()\nm.fit(x)", ["m.fit(x)"]),
        (TF + "class M(tf.keras.Model):\n    def train(self):\n        self.fit(x)", ["self.fit(x)"]),
        (TF + "from mine import build\nm = build()\nm.compile('sgd')\nm.fit(x)", ["m.fit(x)"]),
        (TF + "from mine import build\nm = build()\nm.fit(x, epochs=3)", ["m.fit(x, epochs=3)"]),
        (TF + "def f(m):\n    m.fit(x, validation_data=v)", ["m.fit(x, validation_data=v)"]),
        (TF + "def build():\n    return tf.keras.Sequential([])\nbuild().fit(x)", ["build().fit(x)"]),
        ("from keras.models import Sequential\nm = Sequential()\nm.fit(x)", ["m.fit(x)"]),
        (TF + "self.model = tf.keras.Sequential([])\nself.model.fit(x)", ["self.model.fit(x)"]),
    ],
)
def test_fits_of_keras_models(source: str, fits: list[str]) -> None:
    assert texts(source, "fits") == fits


@pytest.mark.parametrize(
    "source",
    [
        "m = Sequential()\nm.fit(x, epochs=3)",  # no TensorFlow at all
        TF + "from sklearn.svm import SVC\nSVC().fit(x, y)",
        TF
        + "from sklearn.preprocessing import StandardScaler\ns = StandardScaler()\nx = s.fit(x).transform(x)",
        TF + "from sklearn.linear_model import LogisticRegression as L\nm = L(max_iter=9)\nm.fit(x, y)",
        TF + "from sklearn.pipeline import Pipeline\np = Pipeline([])\np.fit(x, y)",
        TF + "s = MinMaxScaler()\ns.fit(x)",
        TF + "t = tf.keras.preprocessing.text.Tokenizer()\nt.fit_on_texts(x)",
        TF + "g = tf.keras.preprocessing.image.ImageDataGenerator()\ng.fit(x)",
        TF + "from statsmodels.tsa.arima.model import ARIMA\nm = ARIMA(x)\nm = m.fit(maxiter=9)\nm.compile()",
        TF + "from unseen import Model as M\nm = M(x)\nm = m.fit()\nm.compile(loss='mse')",
        TF + "import xgboost as xgb\nm = xgb.XGBClassifier()\nm.fit(x, y, verbose=True)",
        TF + "from darts.models import NHiTSModel\nm = NHiTSModel(24, 12)\nm.fit(x, epochs=50)",
        TF + "something.fit(x, y)",
        TF + "popt, _ = curve.fit(f, x)",
        TF + "fit(x, epochs=3)",
    ],
)
def test_fits_of_others(source: str) -> None:
    assert texts(source, "fits") == []


# ---------------------------------------------------------------------- compile


@pytest.mark.parametrize(
    ("call", "optimizers"),
    [
        ("m.compile('sgd')", ["'sgd'"]),
        ("m.compile(loss='mse', optimizer=opt)", ["opt"]),
        ("m.compile(loss='mse')", []),
        ("m.compile(**options)", []),
        ("m.compile(d_optimizer=a, g_optimizer=b, loss_fn=c)", ["a", "b"]),
        ("m.compile(opt, 'mse', ['mae'])", ["opt"]),
    ],
)
def test_optimizers_of_compile(call: str, optimizers: list[str]) -> None:
    s = sites(TF + "m = tf.keras.Sequential([])\n" + call)
    assert [[s.module.text(o) for o in c.optimizers] for c in s.compiles] == [optimizers]


@pytest.mark.parametrize(
    "source", ["import re\nre.compile('a')", "compile('1', 'a', 'eval')", "re = x\nre.compile()"]
)
def test_what_compiles_no_model(source: str) -> None:
    assert texts(TF + source, "compiles") == []


# ---------------------------------------------------------------------- updates


def step(body: str) -> str:
    return (
        TF
        + "m = tf.keras.Sequential([])\nopt = tf.keras.optimizers.SGD(0.1)\n"
        + ("with tf.GradientTape() as t:\n    loss = m(x)\n" + body + "\n")
    )


@pytest.mark.parametrize(
    ("body", "variables"),
    [
        (f"opt.apply_gradients(zip(t.gradient(loss, {V}), {V}))", [V]),
        (f"g = t.gradient(loss, {V})\nopt.apply_gradients(zip(g, {V}))", [V]),
        (f"g = t.gradient(loss, {V})\nopt.apply_gradients(grads_and_vars=zip(g, {V}))", [V]),
        (f"g = t.gradient(loss, {V})\np = zip(g, {V})\nopt.apply_gradients(p)", [V]),
        (f"g = t.gradient(loss, {V})\nopt.apply_gradients(list(zip(g, {V})))", [V]),
        (f"g = t.gradient(loss, {V})\nr = opt.apply_gradients([(a, v) for a, v in zip(g, {V})])", [V]),
        (
            f"g = t.gradient(loss, {V})\nopt.apply_gradients((tf.clip_by_norm(a, 1), v) for a, v in zip(g, {V}))",
            [V],
        ),
        (
            "vs = a.trainable_variables + b.trainable_variables\nopt.apply_gradients(zip(t.gradient(loss, vs), vs))",
            ["vs"],
        ),
        ("opt.apply_gradients(zip(t.gradient(loss, a.w + b.w), a.w + b.w))", ["a.w", "b.w"]),
        ("opt.apply_gradients([(t.gradient(loss, w), w)])", ["w"]),
        (
            f"g = t.gradient(loss, {V})\ng = [tf.clip_by_norm(a, 1.0) for a in g]\nopt.apply_gradients(zip(g, {V}))",
            [V],
        ),
    ],
)
def test_forms_of_apply_gradients(body: str, variables: list[str]) -> None:
    s = sites(step(body))
    (update,) = s.updates
    assert [s.module.text(v) for v in update.variables] == variables
    assert [s.module.text(g) for g in update.gradients] == [
        s.module.text(g) for g in s.method_calls("gradient")
    ]
    assert s.module.text(update.optimizer) == "opt"
    assert update.step_of is None


def test_a_penaltys_gradient_is_not_among_those_that_train() -> None:
    s = sites(
        step(
            "def penalty(x):\n    with tf.GradientTape() as p:\n        y = m(x)\n    return p.gradient(y, [x])\n"
            f"with tf.GradientTape() as t:\n    loss = m(x) + penalty(x)\nopt.apply_gradients(zip(t.gradient(loss, {V}), {V}))"
        )
    )
    assert [s.module.text(g) for g in s.training_gradients] == [f"t.gradient(loss, {V})"]


@pytest.mark.parametrize(
    ("source", "eager"),
    [
        ("opt.minimize(lambda: w * w, [w])", True),
        ("opt.minimize(loss, var_list=[w])\ndef loss(): return w", True),
        ("def loss(): return w\nopt.minimize(loss, var_list=[w])", True),
        ("opt.minimize(w * w, [w], tape=t)", True),
        ("opt.minimize(w * w)", False),
        ("train = tf.compat.v1.train.AdamOptimizer(0.1).minimize(cost)", False),
    ],
)
def test_minimize_eager_or_in_a_graph(source: str, eager: bool) -> None:
    s = sites(TF + "w = tf.Variable(1.0)\nopt = tf.keras.optimizers.SGD(0.1)\n" + source)
    assert len(s.updates) == eager
    assert len(s.graph_minimizes) == (not eager)


@pytest.mark.parametrize(
    "source",
    [
        "from scipy.optimize import minimize\nminimize(lambda v: v, 1.0)",
        "import scipy.optimize as so\nso.minimize(lambda v: v, 1.0)",
        "import scipy\nscipy.optimize.minimize(lambda v: v, 1.0)",
        "window.minimize()",
    ],
)
def test_minimize_of_others(source: str) -> None:
    assert texts(TF + source, "updates") == []


def test_apply_gradients_of_a_graph() -> None:
    source = TF + (
        "opt = tf.compat.v1.train.AdamOptimizer(0.1)\npairs = opt.compute_gradients(cost)\n"
        "train = opt.apply_gradients([(g, v) for g, v in pairs])\n"
    )
    assert texts(source, "updates") == []
    assert len(sites(source).graph_minimizes) == 1


@pytest.mark.parametrize("base", ["tf.keras.Model", "Base"])
def test_the_step_of_a_models_own_train_step(base: str) -> None:
    s = sites(
        TF + f"class Base(tf.keras.Model): pass\nclass M({base}):\n    def train_step(self, data):\n"
        "        with tf.GradientTape() as t:\n            loss = self(data)\n"
        "        g = t.gradient(loss, self.trainable_variables)\n"
        "        self.optimizer.apply_gradients(zip(g, self.trainable_variables))\nm = M()\nm.compile('sgd')\nm.fit(x)\n"
    )
    (update,) = s.updates
    assert update.step_of is not None
    assert update.step_of.name == "M"
    assert s.own_step(s.fits[0].model) is update.step_of


def test_a_function_called_train_step_is_nobodys_own() -> None:
    (update,) = sites(step("def train_step(x):\n    with tf.GradientTape() as t:\n        loss = m(x)\n"
                           f"    opt.apply_gradients(zip(t.gradient(loss, {V}), {V}))")).updates  # fmt: skip
    assert update.step_of is None


def test_a_class_that_is_no_model_has_no_own_step() -> None:
    s = sites(
        TF
        + "class T:\n    def train_step(self, x):\n        with tf.GradientTape() as t:\n            loss = x\n"
        "        self.opt.apply_gradients(zip(t.gradient(loss, self.w), self.w))\n"
    )
    assert s.updates[0].step_of is None


# ---------------------------------------------------------------------- tapes, sessions, estimators


@pytest.mark.parametrize(
    ("source", "kind", "count"),
    [
        ("with tf.GradientTape() as a, tf.GradientTape(True) as b: pass", "tapes", 2),
        ("from tensorflow import GradientTape as G\nwith G() as a: pass", "tapes", 1),
        ("with tf.compat.v1.Session() as s: pass", "sessions", 1),
        ("s = tf.InteractiveSession()", "sessions", 1),
        ("import requests\ns = requests.Session()", "sessions", 0),
        ("with tf.train.MonitoredTrainingSession() as s: pass", "monitored", 1),
        ("e = tf.estimator.Estimator(f)", "estimators", 1),
        ("tf.estimator.train_and_evaluate(e, a, b)", "estimators", 1),
    ],
)
def test_tapes_sessions_and_estimators(source: str, kind: str, count: int) -> None:
    assert len(texts(TF + source, kind)) == count
