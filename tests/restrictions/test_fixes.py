"""Quick fixes: what they make of a text, and where none is offered because it would not be safe."""

from __future__ import annotations

import ast

import pytest

from tests.restrictions.helpers import fixed, violations

MODEL = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""
STEP = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


"""


def _applied(text: str, code: str, expected: str, *, strict: bool = False) -> None:
    result = fixed(text, code, strict=strict)
    assert result == expected
    ast.parse(result)
    assert violations(result, code, strict=strict) == []


# ---------------------------------------------------------------------- HVD101


def test_import_moves_from_a_function_behind_the_leading_imports() -> None:
    text = (
        '"""Trains."""\n\nimport os\nimport sys  # for the arguments\n\n\ndef main():\n    import tensorflow as tf\n\n'
        '    model = tf.keras.Sequential([])\n    model.compile("sgd")\n    model.fit(x, y)\n\n\nmain()\n'
    )
    expected = (
        '"""Trains."""\n\nimport os\nimport sys  # for the arguments\nimport tensorflow as tf\n\n\ndef main():\n\n'
        '    model = tf.keras.Sequential([])\n    model.compile("sgd")\n    model.fit(x, y)\n\n\nmain()\n'
    )
    _applied(text, "HVD101", expected)


def test_import_moves_with_the_line_ends_of_the_file() -> None:
    text = "import os\r\n\r\ndef main():\r\n    import tensorflow as tf\r\n    tf.keras.Sequential([]).fit(x, y)\r\n"
    expected = (
        "import os\r\nimport tensorflow as tf\r\n\r\ndef main():\r\n    tf.keras.Sequential([]).fit(x, y)\r\n"
    )
    _applied(text, "HVD101", expected)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n\ndef main():\n    import tensorflow as tf\n"
            "    tf.keras.Sequential([]).fit(x, y)\n",
            id="the environment is set first",
        ),
        pytest.param(
            "tf = None\n\ndef main():\n    import tensorflow as tf\n    tf.keras.Sequential([]).fit(x, y)\n",
            id="the name means something else at the top",
        ),
        pytest.param(
            "import os\n\ndef main():\n    try:\n        import tensorflow as tf\n    except ImportError:\n        return\n"
            "    tf.keras.Sequential([]).fit(x, y)\n",
            id="it may fail",
        ),
    ],
)
def test_import_stays_where_moving_it_could_matter(text: str) -> None:
    (violation,) = violations(text, "HVD101")
    assert violation.fixes == ()


# ---------------------------------------------------------------------- HVD102, HVD103


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('tf = __import__("tensorflow")', "import tensorflow as tf"),
        ('tensorflow = __import__("tensorflow")', "import tensorflow"),
        ('tf = importlib.import_module("tensorflow.compat.v2")', "import tensorflow.compat.v2 as tf"),
        ('tf = __import__("tensorflow.keras")', "import tensorflow as tf"),
    ],
)
def test_import_by_call_becomes_a_statement(call: str, expected: str) -> None:
    rest = "\nmodel = build()\nmodel.fit(x, y, epochs=2)\n"
    _applied(f"import importlib\n{call}{rest}", "HVD102", f"import importlib\n{expected}{rest}")


def test_constant_getattr_becomes_an_attribute() -> None:
    text = (
        'import tensorflow as tf\nmodel = tf.keras.Sequential([])\nmodel.compile(getattr(tf.keras.optimizers, "Adam")(0.1))\n'
        "model.fit(x, y)\n"
    )
    _applied(text, "HVD103", text.replace('getattr(tf.keras.optimizers, "Adam")', "tf.keras.optimizers.Adam"))


def test_alias_is_dropped_in_strict_mode() -> None:
    text = "import tensorflow as tf\nL = tf.keras.layers\nmodel = [L.Dense(2), L.Dense(1)]\n"
    expected = "import tensorflow as tf\nmodel = [tf.keras.layers.Dense(2), tf.keras.layers.Dense(1)]\n"
    _applied(text, "HVD103", expected, strict=True)
    assert violations(text, "HVD103") == []


def test_alias_that_is_assigned_twice_is_kept() -> None:
    text = "import tensorflow as tf\nL = tf.keras.layers\nL = tf.keras.losses\nprint(L)\n"
    assert [v.fixes for v in violations(text, "HVD103", strict=True)] == [(), ()]


# ---------------------------------------------------------------------- HVD104, HVD108


def test_effect_is_lifted_out_of_print() -> None:
    loop = "for x, y in data:\n    print('loss', train_step(x, y))\n"
    lifted = "for x, y in data:\n    result = train_step(x, y)\n    print('loss', result)\n"
    _applied(f"import tensorflow as tf\n{STEP}{loop}", "HVD104", f"import tensorflow as tf\n{STEP}{lifted}")


def test_lifted_name_is_fresh_and_keeps_tabs_and_line_ends() -> None:
    text = f"import tensorflow as tf\n{MODEL}".replace("\n", "\r\n")
    before = "for result in data:\r\n\tprint(f'{model.train_on_batch(\"x\", result):.2f}')\r\n"
    after = "for result in data:\r\n\tresult_2 = model.train_on_batch(\"x\", result)\r\n\tprint(f'{result_2:.2f}')\r\n"
    assert fixed(text + before, "HVD104") == text + after


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("print(shout(), model.evaluate(x, y))", id="something is called before it"),
        pytest.param("print(quiet or model.evaluate(x, y))", id="it is not always evaluated"),
        pytest.param("print([model.train_on_batch(a, b) for a, b in data])", id="it is evaluated many times"),
    ],
)
def test_effect_is_not_lifted_where_order_or_count_would_change(statement: str) -> None:
    found = violations(f"import tensorflow as tf\n{MODEL}model.fit(x, y)\n{statement}\n", "HVD104")
    assert [v.fixes for v in found] == [()]


@pytest.mark.parametrize(
    "loop",
    [
        "print(shout(), [train_step(x, y) for x, y in data])\n",
        "losses = (train_step(x, y) for x, y in data)\n",
        "for x, y in data:\n    if x and train_step(x, y) > 9:\n        print(x)\n",
        "while train_step(x, y) > 9:\n    print(x)\nelse:\n    print(y)\n",
    ],
    ids=["after a call", "kept", "behind and", "while with else"],
)
def test_step_that_cannot_come_out_has_no_fix(loop: str) -> None:
    assert [v.fixes for v in violations(f"import tensorflow as tf\n{STEP}{loop}", "HVD108")] == [()]


@pytest.mark.parametrize(
    "loop",
    [
        "for x, y in data:\n    if train_step(x, y) > 9:\n        print(x)\n",
        "while train_step(x, y) > 9:\n    print(x)\n",
        "for x, y in data:\n    if x:\n        print(x)\n    elif train_step(x, y) > 9:\n        print(y)\n",
        "losses = [train_step(x, y) for x, y in data]\n",
    ],
    ids=["if", "while", "elif", "comprehension"],
)
def test_step_that_distributing_takes_out_is_no_violation(loop: str) -> None:
    assert not violations(f"import tensorflow as tf\n{STEP}{loop}", "HVD108")
