"""C3 unpin: the program's own choice of GPUs goes, and nothing else."""

from __future__ import annotations

import pytest

from ..pairs import FIT, MODEL, changes, check, doubts, plan_of, untouched

HEAD = "import os\n" + MODEL
TAIL = "model.compile('sgd')\n" + FIT


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '0'\nx = 1", "x = 1"),
        ('x = 0\nos.environ["CUDA_VISIBLE_DEVICES"] = "0,1"  # two\nx = 1', "x = 0\nx = 1"),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = str(\n    gpu\n)\nx = 1", "x = 1"),
        ("if gpu:\n    os.environ['CUDA_VISIBLE_DEVICES'] = gpu\nx = 1", "if gpu:\n    pass\nx = 1"),
        ("if gpu: os.environ['CUDA_VISIBLE_DEVICES'] = gpu\nx = 1", "if gpu: pass\nx = 1"),
        ("if gpu:\n    y = 2\n    os.environ['CUDA_VISIBLE_DEVICES'] = gpu\nx = 1", "if gpu:\n    y = 2\nx = 1"),
        ("y = 1; os.environ['CUDA_VISIBLE_DEVICES'] = '0'; z = 2", "y = 1; pass; z = 2"),
        ("def setup(gpu):\n    os.environ['CUDA_VISIBLE_DEVICES'] = gpu\nsetup('0')", "def setup(gpu):\n    pass\nsetup('0')"),
        ("devices = tf.config.list_physical_devices('GPU')\ntf.config.set_visible_devices(devices[0], 'GPU')\nx = 1",
         "devices = tf.config.list_physical_devices('GPU')\nx = 1"),
        ("tf.config.experimental.set_visible_devices(d[:1], device_type='GPU')\nx = 1", "x = 1"),
        ("tf.config.set_visible_devices(devices=d)\nx = 1", "x = 1"),
        ("try:\n    tf.config.set_visible_devices(d[0], 'GPU')\nexcept RuntimeError as e:\n    raise",
         "try:\n    pass\nexcept RuntimeError as e:\n    raise"),
    ],
)  # fmt: skip
def test_the_choice_goes(before: str, after: str) -> None:
    check("C3", HEAD, before, after, TAIL)


@pytest.mark.parametrize(
    "statement",
    [
        "os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'",
        "x = os.environ['CUDA_VISIBLE_DEVICES']",
        "settings = {}\nsettings['CUDA_VISIBLE_DEVICES'] = '0'",
        "os.environ[name] = '0'",
        "print(os.environ.get('CUDA_VISIBLE_DEVICES'))",
        "tf.config.set_visible_devices([], 'TPU')",
        "tf.config.set_visible_devices(cpus, 'CPU')",
        "tf.config.set_visible_devices(cpus, device_type='CPU')",
        "tf.config.set_visible_devices(devices=cpus, device_type='CPU')",
        "tf.config.list_physical_devices('GPU')",
        "config.set_visible_devices(3)",
    ],
)
def test_what_chooses_no_gpus_stays(statement: str) -> None:
    untouched("C3", HEAD + statement + "\n" + TAIL)


@pytest.mark.parametrize(
    "statement",
    [
        "os.environ['CUDA_VISIBLE_DEVICES'] = '-1'",
        'os.environ["CUDA_VISIBLE_DEVICES"] = ""',
        "tf.config.set_visible_devices([], 'GPU')",
    ],
)
def test_hidden_gpus_are_asked_about(statement: str) -> None:
    plan = plan_of(HEAD + statement + "\n" + TAIL)
    assert doubts(plan, "C3") == ["the program hid all GPUs here: distributed, it will use them"]


def test_other_spellings_of_the_environment_are_followed() -> None:
    source = "from os import environ as env\n" + MODEL + "env['CUDA_VISIBLE_DEVICES'] = '0'\n" + TAIL
    assert len(changes(plan_of(source), "C3")) == 1


def test_both_kinds_at_once() -> None:
    check(
        "C3",
        HEAD,
        "os.environ['CUDA_VISIBLE_DEVICES'] = '0'\ntf.config.set_visible_devices(d[0], 'GPU')\nx = 1",
        "x = 1",
        TAIL,
    )
