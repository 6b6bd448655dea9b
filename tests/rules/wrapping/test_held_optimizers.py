"""C5: `x.optimizer.lr` is a model's, or what a program was given for one."""

from __future__ import annotations

import pytest

from ..pairs import MODEL, STEP, plan_of

LOOP = "for x in data:\n    " + STEP.replace("\n", "\n    ").rstrip() + "\n"
SETTINGS = "import yaml\ncfg = Settings(yaml.safe_load(open('c.yaml')))\n"


@pytest.mark.parametrize(
    "rate", ["cfg.optimizer.lr", "cfg.optimizer.learning_rate", "cfg.train.optimizer.lr"]
)
def test_the_rate_of_settings_is_multiplied(rate: str) -> None:
    text = plan_of(MODEL + SETTINGS + f"opt = o.SGD({rate}, momentum=cfg.optimizer.momentum)\n" + LOOP).text
    assert f"opt = o.SGD({rate} * hvd.size(), momentum=cfg.optimizer.momentum)" in text


def test_those_of_a_function_too() -> None:
    source = (
        MODEL
        + f"def main(cfg):\n    opt = o.SGD(cfg.optimizer.lr)\n    {LOOP.replace(chr(10), chr(10) + '    ')}\n"
    )
    assert "opt = o.SGD(cfg.optimizer.lr * hvd.size())" in plan_of(source).text


def test_a_later_rate_of_settings_is_multiplied() -> None:
    later = "    opt.learning_rate.assign(cfg.optimizer.lr * 0.1)\n"
    text = plan_of(MODEL + SETTINGS + "opt = o.SGD(cfg.optimizer.lr)\n" + LOOP + later).text
    assert "opt.learning_rate.assign(cfg.optimizer.lr * 0.1 * hvd.size())" in text


@pytest.mark.parametrize(
    ("given", "owner"),
    [
        ("model.compile(o.SGD(0.2))\n", "model"),
        ("from nets import trained\nother = trained()\nother.load_weights('w')\n", "other"),
        ("from nets import trained\nother = trained()\nprint(other.optimizer.iterations)\n", "other"),
        ("from nets import trained\nother = trained()\nother.optimizer.lr = 0.1\n", "other"),
    ],
)
def test_near_misses_are_rates_of_optimizers(given: str, owner: str) -> None:
    source = MODEL + given + f"opt = o.SGD({owner}.optimizer.lr)\n" + LOOP
    assert f"opt = o.SGD({owner}.optimizer.lr)\n" in plan_of(source).text
