"""Loops of a base class that take the steps of its subclasses, each with models of its own."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

BASE = """\
import tensorflow as tf
class Base:
    def __init__(self):
        {own}
    def loop(self, data):
        for x, y in data:
            self.step(x, y)
"""
CLASS = """\
class {name}(Base):
    def __init__(self):
        {super}
        self.{model} = tf.keras.Sequential([tf.keras.layers.Dense(1){norm}])
        self.{model}.compile('sgd', 'mse')
    def step(self, x, y):
        self.{model}.train_on_batch(x, y)
"""
RUN = "Auto().loop(rows)\n"


def _text(*classes: tuple[str, str], norm: str = "") -> str:
    parts = [CLASS.format(name=n, model=m, norm=norm, super="pass") for n, m in classes]
    return plan_of(BASE.format(own="pass") + "".join(parts) + RUN).text


@pytest.mark.parametrize("classes", [[("Auto", "net")], [("Auto", "net"), ("Critic", "net")]])
def test_what_all_have_is_sent_without_a_test(classes: list[tuple[str, str]]) -> None:
    text = _text(*classes)
    assert "hasattr" not in text.replace("hasattr(tf.keras, 'ops')", "")
    assert (
        "hvd.broadcast_variables([*self.net.variables, *self.net.optimizer.variables()], root_rank=0)" in text
    )


@pytest.mark.parametrize("norm", ["", ", tf.keras.layers.BatchNormalization()"])
def test_what_some_have_is_sent_where_it_is(norm: str) -> None:
    text = _text(("Auto", "net"), ("Critic", "judge"), norm=norm)
    for name in ("net", "judge"):
        test = f"if hasattr(self, '{name}'):\n"
        for sent in ("variables", "optimizer.variables()", *(["non_trainable_variables"] if norm else [])):
            line = f"hvd.broadcast_variables(self.{name}.{sent}, root_rank=0)"
            before = text[: text.index(line)].rstrip(" ")
            assert before.endswith(test)


def test_objects_of_each_class_run_only_what_they_have() -> None:
    """The lines as they stand, run for objects of both classes."""
    text = _text(("Auto", "net"), ("Critic", "judge"))
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() == "if first_batch:")
    end = next(i for i, line in enumerate(lines) if i > start and "first_batch = False" in line)
    width = len(lines[start]) - len(lines[start].lstrip())
    block = compile("\n".join(line[width:] for line in lines[start : end + 1]), "block", "exec")

    class Model:
        variables = ("v",)

        class optimizer:
            @staticmethod
            def variables() -> tuple[str, ...]:
                return ("o",)

    class Object:
        pass

    for name in ("net", "judge"):
        sent: list[object] = []
        hvd = Object()
        hvd.broadcast_variables = lambda v, root_rank, sent=sent: sent.append(v)  # type: ignore[attr-defined]
        self = Object()
        setattr(self, name, Model())
        exec(block, {"self": self, "hvd": hvd, "first_batch": True})
        assert sent == [("v",), ("o",)]
