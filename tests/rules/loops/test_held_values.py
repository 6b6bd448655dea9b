"""G4: what a rank measured by its own rows is found through whatever holds it: a loop that a rank left by it alone would leave
the others waiting."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of
from ..together.test_means import EPOCHS

# What holds it: what stands before the loop, what each epoch does with it, and what the loop is left by.
HELD = {
    "array index": ("hist = np.zeros(20)\n", "hist[epoch] = loss", "hist[epoch] < 0.01"),
    "array slice min": (
        "hist = np.full(20, 9.0)\n",
        "hist[epoch] = loss",
        "hist[:epoch + 1].argmin() < epoch - 3",
    ),
    "pandas loc": (
        'import pandas as pd\ndf = pd.DataFrame(columns=["loss"])\n',
        "df.loc[len(df)] = [loss]",
        'df["loss"].iloc[-1] < 0.01',
    ),
    "deque": ("from collections import deque\nd = deque(maxlen=3)\n", "d.append(loss)", "max(d) < 0.01"),
    "heapq": ("import heapq\nh = []\n", "heapq.heappush(h, loss)", "h[0] < 0.01"),
    "queue": ("import queue\nq = queue.Queue()\n", "q.put(loss)", "q.get() < 0.01"),
    "setattr": ("class S: pass\ns = S()\n", 'setattr(s, "loss", loss)', "s.loss < 0.01"),
    "getattr": ("class S: pass\ns = S()\n", "s.loss = loss", 'getattr(s, "loss") < 0.01'),
    "namespace": ("from types import SimpleNamespace\n", "s = SimpleNamespace(loss=loss)", "s.loss < 0.01"),
    "map": ("", "v = list(map(lambda l: l * 2, losses))", "v[-1] < 0.01"),
    "reduce": (
        "import functools, operator\n",
        "v = functools.reduce(operator.add, losses)",
        "v / len(losses) < 0.01",
    ),
    "statistics": ("import statistics\n", "", "statistics.mean(losses) < 0.01"),
    "lambda": ("get = lambda: loss\n", "", "get() < 0.01"),
    "nested fn": ("", "def get():\n    return loss", "get() < 0.01"),
    "str": ("", 's = "%.4f" % loss', "float(s) < 0.01"),
    "json": ("import json\n", 's = json.dumps({"loss": loss})', 'json.loads(s)["loss"] < 0.01'),
    "tf var": ("best = tf.Variable(9.0)\n", "best.assign(loss)", "best.numpy() < 0.01"),
    "tf cond": ("best = tf.Variable(9.0)\n", "best.assign(tf.minimum(best, loss))", "best < 0.01"),
    "metric": (
        "m = tf.keras.metrics.Mean()\n",
        "m.reset_states()\nfor l in losses: m(l)",
        "m.result() < 0.01",
    ),
    "global fn": (
        "best = 9.0\ndef upd(l):\n    global best\n    best = min(best, l)\n",
        "upd(loss)",
        "best < 0.01",
    ),
    "class attr": ("class S: best = 9.0\n", "S.best = min(S.best, loss)", "S.best < 0.01"),
    "dict copy": ("state = {}\n", 'state = {**state, "loss": loss}', 'state["loss"] < 0.01'),
    "dict or": ("state = {}\n", 'state = state | {"loss": loss}', 'state["loss"] < 0.01'),
    "zip dict": ("", 'd = dict(zip(["loss", "n"], [loss, epoch]))', 'd["loss"] < 0.01'),
    "tuple": ("", "t = (epoch, loss)", "t[1] < 0.01"),
    "star": ("", "e, *rest = (epoch, loss, 3)", "rest[0] < 0.01"),
    "walrus": ("", "", "(v := loss) < 0.01"),
    "cond expr": ("", "flag = True if loss < 0.01 else False", "flag"),
    "bool list": ("flags = []\n", "flags.append(loss < 0.01)", "any(flags)"),
    "count list": ("bad = []\n", "if loss > 0.5: bad.append(epoch)", "len(bad) > 3"),
    "set": ("bad = set()\n", "if loss > 0.5: bad.add(epoch)", "len(bad) > 3"),
    "dict len": ("bad = {}\n", "if loss > 0.5: bad[epoch] = 1", "len(bad) > 3"),
    "mat": ("hist = np.zeros((20, 2))\n", "hist[epoch] = loss, epoch", "hist[epoch, 0] < 0.01"),
    "np append": ("hist = np.array([])\n", "hist = np.append(hist, loss)", "hist[-1] < 0.01"),
    "sorted": ("hist = []\n", "hist = sorted(hist + [loss])", "hist[0] < 0.01"),
    "call obj": (
        "class Ema:\n    def __init__(self): self.v = 1.0\n    def __call__(self, x):\n"
        "        self.v = 0.9 * self.v + 0.1 * x\n        return self.v\nema = Ema()\n",
        "s = ema(loss)",
        "s < 0.01",
    ),
    "contextvar": (
        "import contextlib\n@contextlib.contextmanager\ndef keep(v):\n    yield v\n",
        "with keep(loss) as v:\n    pass",
        "v < 0.01",
    ),
    "partial": (
        "import functools\ndef less(a, b): return a < b\n",
        "f = functools.partial(less, loss)",
        "f(0.01)",
    ),
    "enumerate hist": (
        "hist = []\n",
        "hist.append(loss)\nbest_i, best_v = min(enumerate(hist), key=lambda p: p[1])",
        "epoch - best_i > 3",
    ),
    "itertools acc": ("import itertools\n", "acc = list(itertools.accumulate(losses))", "acc[-1] < 0.3"),
    "file": ("", 'open("l.txt", "w").write(str(loss))', 'float(open("l.txt").read()) < 0.01'),
    "pickle mem": ("import pickle\n", "s = pickle.loads(pickle.dumps(loss))", "s < 0.01"),
    "copy": ("import copy\n", 'c = copy.deepcopy({"l": loss})', 'c["l"] < 0.01'),
    "match": ("", "match loss:\n    case float() as v: pass", "v < 0.01"),
}
OTHERS = {
    "the number of the epoch": ("", "kept = [epoch]", "kept[-1] > 5"),
    "another item": ("state = {}\n", "state['loss'] = loss\nstate['epoch'] = epoch", "state['epoch'] > 5"),
    "another field": ("class State: pass\nstate = State()\n", "setattr(state, 'loss', loss)\nstate.at = epoch", "state.at > 5"),
    "a field by its name": ("class State: pass\nstate = State()\n", "state.loss, state.at = loss, epoch",
                            "getattr(state, 'at') > 5"),
    "another heap": ("import heapq\nkept, at = [], []\n", "heapq.heappush(kept, loss)\nheapq.heappush(at, epoch)", "at[0] > 5"),
    "another table": ("import pandas as pd\nkept, at = pd.DataFrame(), pd.DataFrame()\n",
                      "kept.loc[epoch] = [loss]\nat.loc[epoch] = [epoch]", "at['x'].iloc[-1] > 5"),
}  # fmt: skip


def text_of(before: str, each: str, test: str) -> str:
    lines = ["loss = np.mean(losses)", *each.splitlines(), f"if {test}:", "    break"]
    after = "".join(f"    {line}\n" for line in lines)
    return plan_of("import numpy as np\n" + before + TAPE + EPOCHS.format(after)).text


@pytest.mark.parametrize(("before", "each", "test"), HELD.values(), ids=HELD)
def test_what_holds_a_ranks_own_value(before: str, each: str, test: str) -> None:
    text = text_of(before, each, test)
    assert "mean_over_ranks(" in text or "any_rank(" in text


@pytest.mark.parametrize(("before", "each", "test"), OTHERS.values(), ids=OTHERS)
def test_what_stands_beside_it(before: str, each: str, test: str) -> None:
    text = text_of(before, each, test)
    assert "mean_over_ranks(" not in text
    assert "any_rank(" not in text
