"""D1: datasets that an object or a dict holds are divided at their source, so that no rank prepares the others' rows."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

HEAD = (
    "import numpy as np\nimport tensorflow as tf\n"
    "x, y = np.zeros((4096, 4), 'float32'), np.zeros((4096, 1), 'float32')\n"
    "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    "opt = tf.keras.optimizers.SGD(0.1)\n"
    "def train_step(a, b):\n"
    "    with tf.GradientTape() as tape:\n"
    "        loss = tf.reduce_mean((model(a) - b) ** 2)\n"
    "    w = model.trainable_variables\n"
    "    opt.apply_gradients(zip(tape.gradient(loss, w), w))\n"
    "def build(n):\n"
    "    return tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a, b)).batch(32)\n"
    "val = build(1)\n"
)
FIT = "    def fit(self):\n        for a, b in self.train_ds:\n            train_step(a, b)\n"
INIT = "    def __init__(self, train_ds, val_ds):\n        self.train_ds = train_ds\n        self.val_ds = val_ds\n"
MAKES = (
    "def make(n):\n"
    "    train = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a, b)).batch(32)\n"
    "    return train\n"
)
DICT = MAKES.replace("return train", "return {'train': train, 'val': build(1)}")
RECORD = "from dataclasses import dataclass\n@dataclass\nclass Data:\n    train: object\n    val: object\n"
TUPLE = "from collections import namedtuple\nData = namedtuple('Data', 'train val')\n"
RECORDS = MAKES.replace("return train", "return Data(train, build(1))")
READ = "for a, b in data.train:\n    train_step(a, b)\n"
LOOP = "for a, b in data['train']:\n    train_step(a, b)\n"
AT_SOURCE = "from_tensor_slices((x, y)).shard(hvd.size(), hvd.rank()).take(len(x) // hvd.size())"


def divided_at_its_source(source: str) -> bool:
    text = plan_of(HEAD + source).text
    assert "hvd.rank()" in text  # divided somewhere
    return AT_SOURCE in text


@pytest.mark.parametrize(
    "source",
    [
        f"class Trainer:\n{INIT}{FIT}{MAKES}Trainer(make(1), val).fit()\n",
        f"class Trainer:\n{INIT}{FIT}{MAKES}ds = make(1)\nt = Trainer(ds, val_ds=val)\nt.fit()\n",
        f"class Base:\n{INIT}class Trainer(Base):\n{FIT}{MAKES}ds = make(1)\nt = Trainer(ds, val)\nt.fit()\n",
        f"class Base:\n{INIT}class Trainer(Base):\n    def __init__(self, train_ds, m):\n"
        f"        super().__init__(train_ds, val)\n        self.m = m\n{FIT}{MAKES}ds = make(1)\nt = Trainer(ds, 3)\nt.fit()\n",
        f"{DICT}data = make(1)\n{LOOP}",
        f"{RECORD}{RECORDS}data = make(1)\n{READ}",
        f"{TUPLE}{RECORDS}data = make(1)\n{READ}",
        f"data = {{'train': tf.data.Dataset.from_tensor_slices((x, y)).map(f).batch(8), 'val': val}}\n{LOOP}",
    ],
)
def test_what_is_held_is_divided_at_its_source(source: str) -> None:
    assert divided_at_its_source(source)


@pytest.mark.parametrize(
    "source",
    [
        # measured by the same object, from outside, and by another one
        f"class Trainer:\n{INIT}{FIT}    def loss(self):\n        return [model(a) for a, b in self.train_ds]\n"
        f"{MAKES}t = Trainer(make(1), val)\nt.fit()\nprint(t.loss())\n",
        f"class Trainer:\n{INIT}{FIT}{MAKES}t = Trainer(make(1), val)\nt.fit()\nprint([model(a) for a, b in t.train_ds])\n",
        f"class Trainer:\n{INIT}{FIT}class Judge:\n    def __init__(self, ds):\n        self.ds = ds\n    def run(self):\n"
        f"        return [model(a) for a, b in self.ds]\n{MAKES}ds = make(1)\nt = Trainer(ds, val)\nt.fit()\nJudge(ds).run()\n",
        # the dict's other readers
        f"{DICT}data = make(1)\n{LOOP}print([model(a) for a, b in data['train']])\n",
        f"{DICT}data = make(1)\n{LOOP}for name, d in data.items():\n    print(name, [model(a) for a, b in d])\n",
        f"{DICT}data = make(1)\n{LOOP}for name in data:\n    print(name, [model(a) for a, b in data[name]])\n",
        f"{DICT}data = make(1)\nother = make(2)\n{LOOP}print([model(a) for a, b in other['train']])\n",
        f"{DICT}data = make(1)\n{LOOP}judge(data)\n",
        # the record's other readers
        f"{RECORD}{RECORDS}data = make(1)\n{READ}print([model(a) for a, b in data.train])\n",
        f"{TUPLE}{RECORDS}data = make(1)\n{READ}one, two = data\nprint([model(a) for a, b in one])\n",
        f"{RECORD}{RECORDS}data = make(1)\n{READ}judge(data)\n",
    ],
)
def test_what_something_else_reads_is_divided_where_it_trains(source: str) -> None:
    assert not divided_at_its_source(source)
