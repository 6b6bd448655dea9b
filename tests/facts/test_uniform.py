"""Is a value, or a decision, the same on every rank? Near misses first: what is, however it looks."""

# ruff: noqa: E501 (a case a line)

from __future__ import annotations

import ast
import textwrap

import pytest

from horovodize.facts import facts_of
from horovodize.facts.differences.answers import Answer, Uniform, Unknown, Varies
from horovodize.facts.differences.sources import Source
from horovodize.facts.differences.uniform import Uniformity
from horovodize.source import Document
from horovodize.summary import summarize

HEAD = """\
import argparse, datetime, glob, math, os, pathlib, random, secrets, socket, sys, time, uuid
import numpy as np
import tensorflow as tf
from elsewhere import cfg, load_data, make_number
"""
MODEL = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""


def asked(text: str, head: str = HEAD) -> tuple[Uniformity, ast.expr]:
    """What is known of a program, and the expression asked for: its last statement, or what is given to `asked(…)`."""
    summary = summarize(Document(head + textwrap.dedent(text), "train.py"))
    facts = facts_of(summary)
    for call in facts.module.syntax.calls:
        if isinstance(call.func, ast.Name) and call.func.id == "asked":
            return facts.uniform, call.args[0]
    last = facts.module.tree.body[-1]
    assert isinstance(last, ast.Expr)
    return facts.uniform, last.value


def of(text: str, head: str = HEAD) -> Answer:
    uniform, e = asked(text, head)
    return uniform.of(e)


UNIFORM = {
    "what SciPy computes": "from scipy.stats import norm, zscore\nx = zscore(np.arange(9))\nnorm.ppf(0.9) + x.shape[0]",
    "a constant": "n = 5\nn + 1",
    "an argument": "p = argparse.ArgumentParser()\nargs = p.parse_args()\nint(args.epochs)",
    "arguments as a dict": "p = argparse.ArgumentParser()\nargs = vars(p.parse_args())\nargs['epochs']",
    "arguments that a function gives as a dict": "def parse():\n    p = argparse.ArgumentParser()\n    return vars(p.parse_args())\nargs = parse()\nint(args['epochs']) * 2",
    "an object whose methods read the clock": "class Watch:\n    def __str__(self):\n        return str(time.time())\nw = Watch()\nnot w",
    "an object that is tested by a number": "class Left:\n    def __init__(self):\n        self.n = 9\n    def __bool__(self):\n        return self.n > 0\nw = Left()\nnot w",
    "a history of averaged metrics": MODEL + "import horovod.tensorflow.keras as hvd\nc = [hvd.callbacks.MetricAverageCallback()]\nh = model.fit(a, b, callbacks=c)\nh.history['loss'][-1]",
    "a model's history of averaged metrics": MODEL + "import horovod.tensorflow.keras as hvd\nmodel.fit(a, b, callbacks=[hvd.callbacks.MetricAverageCallback()])\nmodel.history.history['loss'][-1]",
    "settings of another package": "cfg.train.epochs",
    "whether a layer's output is there": "wide = tf.keras.layers.Dense(2)(tf.keras.Input((3,)))\nwide is not None",
    "whether a function gave a layer's output": "def encode(x, wide=False):\n    found = []\n    if wide:\n        found.append(tf.keras.layers.Dense(2)(x))\n    if len(found) > 1:\n        found = tf.keras.layers.concatenate(found)\n    elif len(found) == 1:\n        found = found[0]\n    else:\n        found = None\n    return x, found\nx, other = encode(tf.keras.Input((3,)))\nother is None",
    "settings made by another package": "from elsewhere import Config\nc = Config('a.yaml')\nc.epochs",
    "what was tried, or the program ends": "try:\n    n = int(os.environ['N'])\nexcept:\n    print('no')\n    exit(0)\nn",
    "the same by sys": "try:\n    n = int(os.environ['N'])\nexcept OSError:\n    sys.exit(1)\nn",
    "a setting of a method": "cfg.get('epochs', 3)",
    "flags": "flags = tf.compat.v1.flags\nFLAGS = flags.FLAGS\nFLAGS.epochs // 2",
    "the environment": "int(os.environ.get('EPOCHS', '3')) + int(os.environ['N'])",
    "the command line": "int(sys.argv[1]) if len(sys.argv) > 1 else 3",
    "how many rows there are": "x, y = load_data()\nlen(x) // 32",
    "how many rows are drawn": "x = np.random.rand(100, 8)\nlen(x) + x.shape[0]",
    "rows of one size in another order": "x = load_data()\np = np.random.permutation(len(x))\nlen(x[p])",
    "a count": "n = 0\nfor i in range(3):\n    n += 1\nn",
    "a count of Python 2": "n = 0\nfor i in xrange(3):\n    n += i > 0\nn",
    "a counter in a container": "seen = []\nfor i in range(3):\n    if i > 1:\n        seen.append(i)\nlen(seen)",
    "a parameter that is unpacked": "def main(epochs):\n    asked(epochs)\nmain(**{'epochs': 3, 'drawn': random.random()})",
    "a parameter that nobody passes": "def main(epochs):\n    asked(epochs)",
    "a default": "def main(epochs=3):\n    asked(epochs)\nmain()",
    "pure functions": "n = math.ceil(1000 / 32)\nint(np.log2(n)) + round(n) + max(n, 3)",
    "paths": "path = os.path.join(cfg.folder, 'a')\npath.endswith('a')",
    "the version": "tf.__version__ >= '2.0'",
    "the platform that all hosts share": "4 if sys.platform == 'win32' else 8",
    "the name of the module": "n = 1 if __name__ == '__main__' else 2\nn",
    "a package that may be missing": "try:\n    import tqdm\n    known = True\nexcept ImportError:\n    known = False\nknown",
    "arguments that do not parse": "try:\n    n = int(sys.argv[1])\nexcept (IndexError, ValueError):\n    n = 3\nn",
    "a bare handler around that": "try:\n    n = int(sys.argv[1])\nexcept:\n    n = 3\nn",
    "lines that don't parse, left out by a bare handler": "rows = []\ndef clean(t):\n    return t.lower().split()\nfor line in cfg.text.splitlines():\n    try:\n        label, words = line.strip().split('\\t')\n        rows.append([float(w) for w in clean(words)])\n    except:\n        pass\nlen(rows)",
    "a seed": "random.seed(7)\nrandom.randint(3, 9)",
    "a seed before a function that draws": "def draw():\n    return random.random()\nrandom.seed(7)\ndraw()",
    "a seed in the main function": "def main():\n    random.seed(7)\n    return random.random()\nmain()",
    "a seed in a loop around": "def seed():\n    random.seed(7)\nfor _ in range(3):\n    seed()\n    n = random.random()\nn",
    "NumPy's seed": "np.random.seed(3)\nnp.random.rand()",
    "a seed that is an option": "p = argparse.ArgumentParser()\np.add_argument('--seed', type=int, default=7)\nargs = p.parse_args()\nnp.random.seed(args.seed)\nnp.random.rand()",
    "a seed behind a function": "def seed(n):\n    random.seed(n)\nseed(3)\nrandom.random()",
    "a seed of everything": "tf.keras.utils.set_random_seed(1)\nnp.random.uniform(-4, -2)",
    "a seed of a class": "class C:\n    seed = 7\nnp.random.seed(C.seed)\nnp.random.rand()",
    "a seed of an object": "class C:\n    seed: int = 7\nc = C()\nnp.random.seed(c.seed)\nnp.random.rand()",
    "a seed of a namespace": "c = types.SimpleNamespace(seed=7)\nnp.random.seed(c.seed)\nnp.random.rand()",
    "a generator with a seed": "rng = np.random.default_rng(3)\nrng.integers(3, 9)",
    "a state with a seed": "r = np.random.RandomState(seed=3)\nr.randint(3)",
    "a draw with a seed": "tf.random.uniform([], seed=3)",
    "a list in its order": "names = ['a', 'b']\nfor n in names:\n    asked(n)",
    "a dict in its order": "d = {'a': 1, 'b': 2}\nfor n in d:\n    asked(n)",
    "what is in a set": "3 in {1, 3, 5} and 'a' in {'a', 'b'}",
    "how many are in a set": "len({'a', 'b', cfg.x})",
    "a sorted set": "sorted(set(['a', 'b']))[0]",
    "a set of numbers": "for n in {1, 2, 3}:\n    asked(n)",
    "the biggest of a set": "max({'a', 'b'})",
    "an attribute of a class": "class C:\n    epochs = 3\nC.epochs + C().epochs",
    "an attribute of an object": "class C:\n    def __init__(self, n):\n        self.n = n\n    def f(self):\n        asked(self.n)\nC(3).f()",
    "a property": "class C:\n    @property\n    def n(self):\n        return 3\nC().n",
    "a key of a dict": "d = {'epochs': 3, 'drawn': random.random()}\nd['epochs']",
    "a part of what a function gives": "def f():\n    return 3, random.random()\nn, x = f()\nn",
    "the number of a batch": "for i, x in enumerate(load_data()):\n    asked(i % 100)",
    "the number of a step": MODEL + "for i, (x, y) in enumerate(load_data()):\n    step(x, y)\n    asked(i % 100 == 0)",
    "the optimizer's steps": MODEL + "int(opt.iterations) % 10",
    "a variable that counts": MODEL + "n = tf.Variable(0)\nfor x, y in load_data():\n    step(x, y)\n    n.assign_add(1)\n    asked(int(n))",
    "what is left of a set one": "if len(sys.argv) > 1:\n    n = 3\nelse:\n    n = 4\nn",
    "a file that is only read": "lines = open('words.txt').read().split()\nint(lines[0])",
    "a file that is read by the name that another function writes by": "def log(path):\n    open(path, 'a').write('x')\ndef lines(path):\n    return open(path).read().split()\nlog('run.txt')\nint(lines('words.txt')[0])",
    "rows of a file that is opened to be read": "import h5py\nx = h5py.File('x.h5', 'r')['x']\nlen(x)",
    "rows of a file whose mode is a name": "import h5py\nMODE = 'r'\nx = h5py.File('x.h5', MODE)['x']\nlen(x)",
    "a table that is only read": "import pandas as pd\nframe = pd.read_csv('rows.csv')\nframe['n'].max()",
    "how many files of data there are": "len(glob.glob('data/*.png')) // 32",
    "a folder of data that has to be there": "if not os.path.exists(cfg.folder):\n    n = 0\nelse:\n    n = len(os.listdir(cfg.folder))\nn",
    "the name of a file of data": "sorted(glob.glob('data/*.png'))[0]",
    "a draw that decides something else": "if random.random() < 0.5:\n    print('lucky')\nn = 3\nn",
    "what nothing sets": "nothing + 1",
    "settings from a file that name a folder, too": "import json\nc = json.load(open('config.json'))\nif not os.path.exists(c['dir']):\n    os.makedirs(c['dir'])\nc['n']",
    "settings from a file that name the folder of what is written": "import json\nPATH = 'config.json'\nwith open(PATH) as f:\n    c = json.load(f)\nos.makedirs(c['out'], exist_ok=True)\nmodel.save(os.path.join(c['out'], 'net.h5'))\nwith open(os.path.join(c['out'], 'log.txt'), 'a') as f:\n    f.write('x')\nc['n']",
    "settings of a folder in which another one is made": "import json\nOUT = 'out'\nc = json.load(open(OUT + '/config.json'))\nos.makedirs(OUT + '/logs')\nc['n']",
    "settings from a file that name all of what is written": "import json\nPATH = 'config.json'\nc = json.load(open(PATH))\nmodel.save(c['net'])\nc['n']",
    "rows, of which a function keeps what a model makes": "PATH = 'x.npy'\nx = np.load(PATH)\ndef save_model(net, other):\n    tf.keras.models.save_model(net, 'net')\nsave_model(net(x), x)\nlen(x)",
    "rows beside which a model is saved": "import pandas as pd\nBASE = 'project/data'\nx = pd.read_csv(os.path.join(BASE, 'rows.csv'))\nmodel.save(os.path.join(BASE, 'net.h5'))\nlen(x)",
    "rows of a file that an option names, as another one does what is written": "p = argparse.ArgumentParser(description='trains it')\nargs = p.parse_args()\nx = np.load(args.rows)\nmodel.save(args.out)\nlen(x)",
    "rows of a path that a download gives again": "from urllib.request import urlretrieve\ndef fetch(path):\n    if not os.path.exists(path):\n        path, _ = urlretrieve('http://x/' + path, path)\n    return path\nlen(open(fetch('x.txt')).read())",
    "what was tried, or the run fails": "n = 0\ntry:\n    n = int(open('n.txt').read())\nexcept OSError:\n    print('no')\n    raise\nn > 0 if cfg.n else n",
    "rows that are shown": "import cv2\nPATH = 'x.npy'\nx = np.load(PATH)\nfor i, row in enumerate(x):\n    cv2.imshow(str(i), row)\nlen(x)",
    "rows that are written elsewhere": "import cv2\nPATH = 'x.npy'\nx = np.load(PATH)\ncv2.imwrite('a.png', x)\nlen(x)",
    "rows, of which a number names a file": "x = np.load('x.npy')\nnp.save('of%d.npy' % len(x), x[:3])\nlen(x)",
    "what is set after all": "n = random.randint(3, 9)\nn = 3\nn",
    "a handler of what is not tried here": "n = 3\ntry:\n    load_data()\nexcept OSError:\n    print('none')\nn",
}  # fmt: skip

CHANCE, CLOCK, FILES, HOST = Source.CHANCE, Source.CLOCK, Source.FILES, Source.HOST
VARIES = {
    "whether something was set, by what a model gives": (Source.ROWS, "best = None\ndense = tf.keras.layers.Dense(1)\nif float(dense(load_data())) > 0.5:\n    best = tf.keras.layers.Dense(2)(load_data())\nbest is None"),
    "whether what was listed is there": (Source.FILES, "found = []\nfound.append(tf.train.latest_checkpoint('c'))\nfirst = found[0]\nfirst is None"),
    "whether a checkpoint is there": (Source.FILES, "tf.train.latest_checkpoint('c') is not None"),
    "whether two things of a layer's are the same": (Source.ROWS, "dense = tf.keras.layers.Dense(1)\ndense(load_data()) is load_data()"),
    "what a loss gives": (Source.ROWS, "loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)\nloss_fn(load_data(), load_data())"),
    "a draw": (CHANCE, "random.randint(3, 9)"),
    "a draw before its seed": (CHANCE, "n = random.randint(3, 9)\nrandom.seed(3)\nn"),
    "a draw before the call of what seeds": (CHANCE, "def look():\n    random.seed(3)\nn = random.randint(3, 9)\nlook()\nn"),
    "a draw in a function that runs before": (
        CHANCE,
        "def draw():\n    return random.random()\nn = draw()\nrandom.seed(3)\nn",
    ),
    "a draw that only a function seeds which nothing calls": (
        CHANCE,
        "def look():\n    random.seed(3)\nrandom.randint(3, 9)",
    ),
    "a draw whose seed is drawn": (CHANCE, "np.random.seed(np.random.randint(100))\nnp.random.rand()"),
    "a seed of a class that may be None": (
        CHANCE,
        "class C:\n    seed = None\nnp.random.seed(C.seed)\nnp.random.rand()",
    ),
    "a draw whose seed is the time": (CLOCK, "rng = np.random.default_rng(int(time.time()))\nint(time.time())"),
    "a draw whose seed may be None": (CHANCE, "p = argparse.ArgumentParser()\np.add_argument('--seed', type=int)\nargs = p.parse_args()\nnp.random.seed(args.seed)\nnp.random.rand()"),
    "a draw that another seed fixes": (CHANCE, "random.seed(3)\nnp.random.randint(3, 9)"),
    "NumPy's generator": (CHANCE, "rng = np.random.default_rng()\nrng.integers(3, 9)"),
    "a generator in an object": (CHANCE, "class C:\n    def __init__(self):\n        self.rng = np.random.RandomState()\n    def f(self):\n        asked(self.rng.randint(9))"),
    "a generator seeded by the clock": (CHANCE, "r = random.Random(time.time())\nr.random()"),
    "TensorFlow's numbers": (CHANCE, "float(tf.random.uniform([])) < 0.5"),
    "secrets": (CHANCE, "secrets.randbelow(9)"),
    "an id": (CHANCE, "uuid.uuid4().int % 3"),
    "another library's": (CHANCE, "from scipy import stats\nstats.norm.rvs()"),
    "a draw behind a function": (CHANCE, "def n():\n    return random.randint(3, 9)\nn()"),
    "a draw through four names": (CHANCE, "a = random.randint(3, 9)\nb = a\nc = b\nd = c\nd"),
    "a draw in a dict": (CHANCE, "d = {'epochs': random.randint(3, 9)}\nd['epochs']"),
    "a draw put in a dict": (CHANCE, "d = {}\nd['epochs'] = random.randint(3, 9)\nd['epochs']"),
    "a draw in an attribute": (CHANCE, "class C:\n    def __init__(self):\n        self.n = random.randint(3, 9)\nc = C()\nc.n"),
    "a draw of a class": (CHANCE, "class C:\n    n = random.randint(3, 9)\nC.n"),
    "a draw that is passed on": (CHANCE, "def train(epochs):\n    asked(epochs)\ntrain(random.randint(3, 9))"),
    "a draw by default": (CHANCE, "def train(epochs=random.randint(3, 9)):\n    asked(epochs)\ntrain()"),
    "a draw that is unpacked": (CHANCE, "def train(epochs):\n    asked(epochs)\ns = {'epochs': random.randint(3, 9)}\ntrain(**s)"),
    "a draw by **settings": (CHANCE, "def train(**s):\n    asked(s['epochs'])\ntrain(epochs=random.randint(3, 9))"),
    "a choice": (CHANCE, "rates = [0.1, 0.2]\nrandom.choice(rates)"),
    "an entry by a draw": (CHANCE, "d = {'a': 1, 'b': 2}\nd[random.choice(list(d))]"),
    "as many as are drawn": (CHANCE, "x = np.zeros(random.randint(3, 9))\nlen(x)"),
    "as many as are kept by a draw": (CHANCE, "x = load_data()\nx = x[np.random.rand(9) < 0.8]\nlen(x)"),
    "as many as were drawn to be kept": (CHANCE, "kept = []\nfor i in range(9):\n    if random.random() < 0.5:\n        kept.append(i)\nlen(kept)"),
    "as many as were not skipped": (CHANCE, "n = 0\nfor i in range(9):\n    if random.random() < 0.5:\n        continue\n    n += 1\nn"),
    "as many turns of Python 2 as are drawn": (CHANCE, "n = 0\nfor i in xrange(random.randint(3, 9)):\n    n += 1\nn"),
    "as many turns as are drawn": (CHANCE, "n = 0\nfor i in range(random.randint(3, 9)):\n    n += 1\nn"),
    "as many turns as until a draw": (CHANCE, "n = 0\nfor i in range(9):\n    n += 1\n    if random.random() < 0.1:\n        break\nn"),
    "what is set by a draw": (CHANCE, "n = 3\nif random.random() < 0.5:\n    n = 4\nn"),
    "what a function gives by a draw": (CHANCE, "def f():\n    if random.random() < 0.5:\n        return 1\n    return 2\nf()"),
    "what a function gives by a draw, or nothing": (CHANCE, "def f():\n    if random.random() < 0.5:\n        return\n    return 2\nf()"),
    "the clock": (CLOCK, "start = time.time()\ntime.time() - start < 60"),
    "what an object is when it is tested": (CLOCK, "class Budget:\n    def __bool__(self):\n        return time.time() < 9\nb = Budget()\nnot b"),
    "the day": (CLOCK, "datetime.datetime.now().hour"),
    "the host": (HOST, "'gpu' in socket.gethostname()"),
    "the process": (HOST, "os.getpid() % 2"),
    "the host by the environment": (HOST, "os.environ['HOSTNAME'] == 'a'"),
    "the rank of a launcher": (HOST, "int(os.environ.get('OMPI_COMM_WORLD_RANK', 0))"),
    "a place in memory": (HOST, "id(sys) % 2"),
    "a hash": (HOST, "hash('a') % 3"),
    "a file that may be there": (FILES, "os.path.exists('model.h5')"),
    "the same by a path": (FILES, "pathlib.Path('model.h5').exists()"),
    "the same through four names": (FILES, "a = os.path.exists('x')\nb = a\nc = not b\nd = c\nd"),
    "the same behind a function": (FILES, "def should_train():\n    return not os.path.isfile('done')\nshould_train()"),
    "a checkpoint": (FILES, "latest = tf.train.latest_checkpoint('logs')\nint(latest.split('-')[-1])"),
    "a checkpoint's number": (FILES, "start = 0\nm = tf.train.CheckpointManager(c, 'a', 3)\nif m.latest_checkpoint:\n    start = 5\nstart"),
    "a counter that is restored": (FILES, "ckpt = tf.train.Checkpoint(step=tf.Variable(0))\nckpt.restore(p)\nint(ckpt.step)"),
    "what the program wrote": (FILES, "open('state.txt', 'w').write('3')\nint(open('state.txt').read())"),
    "what the program wrote, by a setting that two functions are given": (FILES, "def keep(path):\n    open(path, 'w').write('3')\ndef kept(name):\n    return int(open(name).read())\nkeep(cfg.state)\nkept(cfg.state)"),
    "rows that the program writes into their file": (FILES, "import h5py\nf = h5py.File('x.h5', 'a')\nlen(h5py.File('x.h5', 'r')['x'])"),
    "rows that it may write, as a setting says": (FILES, "import h5py\nf = h5py.File('x.h5', 'w' if cfg.new else 'r')\nlen(h5py.File('x.h5', 'r')['x'])"),
    "settings that are written again where they were read": (FILES, "import json\nPATH = 'config.json'\nc = json.load(open(PATH))\njson.dump(c, open(PATH, 'w'))\nc['n']"),
    "settings of a folder that they name, written again": (FILES, "import json\nc = json.load(open('c.json'))\ns = json.load(open(os.path.join(c['out'], 'state.json')))\njson.dump(s, open(os.path.join(c['out'], 'state.json'), 'w'))\ns['n']"),
    "rows that the program saves again": (FILES, "x = np.load('x.npy')\nnp.save('x.npy', x[:3])\nlen(x)"),
    "rows that a function saves again": (FILES, "PATH = 'x.npy'\nx = np.load(PATH)\ndef save(rows, path):\n    np.save(path, rows)\nsave(x[:3], PATH)\nlen(x)"),
    "rows that are moved there": (FILES, "import shutil\nshutil.move('y.npy', 'x.npy')\nx = np.load('x.npy')\nlen(x)"),
    "rows of a file that is written by another name for its folder": (FILES, "BASE = 'project'\nHERE = BASE\nx = np.load(os.path.join(BASE, 'x.npy'))\nnp.save(os.path.join(HERE, 'x.npy'), x[:3])\nlen(x)"),
    "a path that a download may give or not": (FILES, "from urllib.request import urlretrieve\ndef fetch(path):\n    other = 'kept.txt'\n    if not os.path.exists(path):\n        other, _ = urlretrieve('http://x/' + path, path)\n    return other\nfetch('x.txt')"),
    "a folder's order": (FILES, "os.listdir('logs')[0]"),
    "how often a function was called": (CHANCE, "class C:\n    def put(self, x):\n        self.kept.append(x)\n    def f(self):\n        self.kept = []\n        for i in range(9):\n            if random.random() < 0.5:\n                self.put(i)\n        asked(len(self.kept))"),
    "what earlier turns added up to": (CHANCE, "n = 0\nfor e in range(3):\n    for i in range(random.randint(3, 9)):\n        n += 1\n        asked(n)"),
    "a set's order": (Source.ORDER, "for n in {'a', 'b'}:\n    asked(n)"),
    "a set's order by a list": (Source.ORDER, "list(set(['a', 'b']))[0]"),
    "what is taken from a set": (Source.ORDER, "s = {'a', 'b'}\ns.pop()"),
    "what is typed in": (Source.INPUT, "int(input('epochs? '))"),
    "what was tried, or fails, where that is caught": (Source.FAILURE, "class C:\n    n = 0\n    def load(self):\n        try:\n            self.n = load_data()\n        except OSError:\n            print('no')\n            raise\nc = C()\ntry:\n    c.load()\nexcept OSError:\n    print('none')\nc.n"),
    "what failed for what was read": (FILES, "open('n.txt', 'w').write('3')\nbad = False\ntry:\n    n = int(open('n.txt').read())\nexcept ValueError:\n    bad = True\nbad"),
    "what may have failed, and goes on": (
        Source.FAILURE,
        "def exit(n):\n    pass\ntry:\n    n = int(os.environ['N'])\nexcept OSError:\n    n = 3\n    exit(0)\nn",
    ),
    "files that may not be there, left out by a bare handler": (
        Source.FAILURE,
        "rows = []\nfor name in cfg.names:\n    try:\n        rows.append(np.load(name))\n    except:\n        pass\nlen(rows)",
    ),
    "a function that reads, left out by a bare handler": (
        Source.FAILURE,
        "rows = []\ndef read(name):\n    return open(name).read()\nfor name in cfg.names:\n    try:\n"
        "        rows.append(read(name).split())\n    except:\n        pass\nlen(rows)",
    ),
    "a method that may read, left out by a bare handler": (
        Source.FAILURE,
        "rows = []\nfor line in cfg.lines:\n    try:\n        rows.append(client.get(line))\n    except Exception:\n"
        "        pass\nlen(rows)",
    ),
    "what may have failed": (Source.FAILURE, "try:\n    model = tf.keras.models.load_model('m.h5')\n    start = 3\nexcept OSError:\n    start = 0\nstart"),
    "a loss": (Source.ROWS, MODEL + "for x, y in load_data():\n    loss = step(x, y)\n    asked(loss < 0.1)"),
    "what a loss decided": (Source.ROWS, MODEL + "done = False\nwhile not done:\n    for x, y in load_data():\n        if step(x, y) < 0.1:\n            done = True\n    asked(done)"),
    "what losses were kept": (Source.ROWS, MODEL + "losses = []\nfor x, y in load_data():\n    losses.append(step(x, y))\n    asked(np.mean(losses) < 1)"),
    "a prediction": (Source.ROWS, MODEL + "model.predict(load_data()).mean() > 0"),
    "what a model gives": (Source.ROWS, MODEL + "float(model(3)) > 0"),
    "a history beside one of averaged metrics": (Source.ROWS, MODEL + "import horovod.tensorflow.keras as hvd\nmodel.fit(a, b, callbacks=[hvd.callbacks.MetricAverageCallback()])\nh = model.fit(a, b)\nh.history['loss'][-1]"),
    "a history": (Source.ROWS, MODEL + "h = model.fit(a, b)\nh.history['loss'][-1]"),
    "the shape of a batch": (Source.ROWS, MODEL + "for x, y in load_data():\n    step(x, y)\n    asked(len(x) < 32)"),
    "logs of a callback": (Source.ROWS, "class C(tf.keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n        asked(logs['loss'] < 1)"),
    "a game": (Source.GAME, "done = False\nwhile not done:\n    state, reward, done, info = env.step(1)\ndone"),
}  # fmt: skip

UNKNOWN = {
    "what another module's function gives": "make_number()",
    "what an object of another module gives": "thing = make_number()\nthing.rounds()",
    "the attributes of an object that is not seen": "vars(make_number())['n']",
    "a parameter of a lambda": "f = lambda n: asked(n)",
    "what is called with what can't be seen": "def f(n):\n    asked(n)\nf(*things())",
    "a function that is handed over": "def f(n):\n    asked(n)\nelsewhere(f)",
    "an attribute that nobody sets": "class C:\n    def f(self):\n        asked(self.rounds)",
}


@pytest.mark.parametrize("name", UNIFORM)
def test_the_same_on_every_rank(name: str) -> None:
    assert of(UNIFORM[name]) == Uniform()


@pytest.mark.parametrize("name", VARIES)
def test_another_one_on_some_rank(name: str) -> None:
    kind, text = VARIES[name]
    found = of(text)
    assert isinstance(found, Varies)
    assert found.kind is kind


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_seen_is_never_the_same(name: str) -> None:
    assert isinstance(of(UNKNOWN[name]), Unknown)


def test_the_place_is_told() -> None:
    found = of("a = random.randint(3, 9)\nb = a\nb")
    assert isinstance(found, Varies)
    assert ast.unparse(found.where) == "random.randint(3, 9)"


def test_a_search_that_takes_too_long_is_unknown() -> None:
    many = "\n".join(f"n{i + 1} = n{i} + {i}" for i in range(3000))
    assert isinstance(of(f"n0 = 1\n{many}\nn3000"), Unknown)


def test_an_operation_of_a_graph_is_the_same_whatever_it_will_give() -> None:
    graph = "w = tf.Variable(tf.random.truncated_normal([3]))\ntrain = tf.compat.v1.train.AdamOptimizer().minimize(w * w)\n"
    graph += "with tf.compat.v1.Session() as sess:\n    sess.run(train)\n    asked({})"
    assert of(graph.format("w")) == Uniform()
    assert isinstance(of(graph.format("sess.run(w * 2)")), Varies)


def test_where_all_ranks_come_alike() -> None:
    for condition, alike in (
        ("len(sys.argv) > 1", True),
        ("random.random() < 0.5", False),
        ("make_number()", False),
    ):
        uniform, e = asked(f"if {condition}:\n    asked(1)")
        assert uniform.reached_alike(e) is alike


def test_a_handler_that_returns_leaves_where_what_is_tried_fails() -> None:
    """Options that are checked, and say what is wrong with them, are the same on all ranks."""
    for tried, caught, alike in (
        ("check(sys.argv)", "ValueError", True),
        ("n = int(sys.argv[1])", "(IndexError, ValueError)", True),
        ("n = int(sys.argv[1])", "KeyboardInterrupt", True),
        ("n = open(sys.argv[1]).read()", "OSError", False),
        ("n = open(sys.argv[1]).read()", "Exception", False),
        ("n = 1 // random.randint(0, 3)", "ZeroDivisionError", False),
    ):
        text = "def check(given):\n    if len(given) < 2:\n        raise ValueError('too few')\n"
        text += f"def main():\n    try:\n        {tried}\n    except {caught} as e:\n        print(e)\n        return\n    asked(1)\nmain()"
        uniform, e = asked(text)
        assert uniform.reached_alike(e) is alike, tried


def test_an_iterator_moves_on_where_loops_go_through_it() -> None:
    rows = "class Rows:\n    def __iter__(self):\n        return self\n    def __next__(self):\n        asked(1)\n        return 1\n"
    for loop, alike in (
        ("for row in Rows():\n    print(row)\n", True),
        ("if random.random() < 0.5:\n    for row in Rows():\n        print(row)\n", False),
        ("rows = Rows()\n", False),
    ):
        uniform, e = asked(rows + loop)
        assert uniform.reached_alike(e) is alike, loop


@pytest.mark.parametrize("binding", ["horovod.tensorflow", "horovod.tensorflow.keras", "horovod.keras"])
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("hvd.allreduce(random.random()) < 0.5", Uniform),
        ("hvd.broadcast_object(os.path.exists('a'), root_rank=0)", Uniform),
        ("start = hvd.broadcast(random.randint(1, 9), 0)\nstart + 1", Uniform),
        ("len(hvd.allgather_object(random.random()))", Uniform),
        ("hvd.allreduce(1.0) * random.random()", Varies),
        ("hvd.allreduce(1.0, process_set=some) < 0.5", Unknown),
        ("hvd.rank() == 0", Varies),
        ("hvd.local_rank()", Varies),
        ("hvd.cross_rank()", Varies),
        ("100 // hvd.size()", Uniform),
        ("d = tf.data.Dataset.range(9)\nlen(d.shard(hvd.size(), hvd.rank()).take(9 // hvd.size()))", Uniform),
        (
            "d = tf.data.Dataset.range(9)\nlen(d.take(9 // hvd.size() * hvd.size()).shard(hvd.size(), hvd.rank()))",
            Uniform,
        ),
        (
            "d = tf.data.Dataset.range(9)\n"
            "len(d.repeat().shard(hvd.size(), hvd.rank()).take(max(1, len(d) // hvd.size())))",
            Uniform,
        ),
        (
            "d = tf.data.Dataset.range(9)\ncount = len(d)\n"
            "len(d.shard(hvd.size(), hvd.rank()).take(max(1, count // hvd.size()) if count >= 0 else -1))",
            Uniform,
        ),
        (
            "d = tf.data.Dataset.range(9)\nlen(d.repeat().shard(hvd.size(), hvd.rank()).take(max(1, 9 // hvd.local_size())))",
            Varies,
        ),
        (
            "d = tf.data.Dataset.range(9)\nlen(d.shard(hvd.size(), hvd.rank()).take(max(hvd.rank(), 9 // hvd.size())))",
            Varies,
        ),
        ("d = tf.data.Dataset.range(9)\nlen(d.shard(hvd.size(), hvd.rank()))", Varies),
        ("r = [1] * 9\nlen(r[hvd.rank() : len(r) // hvd.size() * hvd.size() : hvd.size()])", Uniform),
        (
            "r = [1] * 9\nlen(r[hvd.rank() % max(1, len(r)) : max(1, len(r) // hvd.size()) * hvd.size() : hvd.size()])",
            Uniform,
        ),
        ("r = [1] * 9\nlen(r[hvd.rank() :: hvd.size()])", Varies),
        ("r = [1] * 9\nlen(r[hvd.rank() : len(r) // hvd.size() * hvd.size()])", Varies),
        (
            "r = [1] * 9\nlen(r[hvd.rank() : len(r) // hvd.local_size() * hvd.local_size() : hvd.local_size()])",
            Varies,
        ),
        ("r = [1] * hvd.rank()\nlen(r[hvd.rank() : len(r) // hvd.size() * hvd.size() : hvd.size()])", Varies),
        ("r = [1] * 9\nr[hvd.rank() : len(r) // hvd.size() * hvd.size() : hvd.size()]", Varies),
        (
            "d = tf.data.Dataset.range(9)\nlen(d.shard(hvd.size(), hvd.rank()).take(9 // hvd.local_size()))",
            Varies,
        ),
    ],
)
def test_what_horovod_gives(binding: str, text: str, answer: type[Answer]) -> None:
    assert isinstance(of(text, HEAD + f"import {binding} as hvd\n"), answer)


REPLACED = """\
kept = []
for turn in range(9):
    kept.append(random.random())
    {}
    {}
    asked(kept[-1])
"""


@pytest.mark.parametrize(
    ("first", "then", "answer"),
    [
        ("kept = hvd.broadcast_object(kept)", "print(kept)", Uniform),
        ("kept, n = hvd.broadcast_object((kept, 1))", "print(kept)", Uniform),
        ("kept = hvd.broadcast_object(kept)", "kept.append(random.random())", Varies),
        ("kept = list(kept)", "print(kept)", Varies),
        ("kept = kept", "print(kept)", Varies),
        ("print(kept)", "print(kept)", Varies),
    ],
)
def test_what_is_put_into_a_list_before_it_is_another(first: str, then: str, answer: type[Answer]) -> None:
    uniform, e = asked("import horovod.tensorflow as hvd\n" + REPLACED.format(first, then))
    assert isinstance(uniform.of(e), answer)


@pytest.mark.parametrize("call", ["hvd.alltoall([1.0])", "hvd.reducescatter([1.0])"])
def test_what_gives_each_rank_a_part(call: str) -> None:
    assert isinstance(of(call, HEAD + "import horovod.tensorflow as hvd\n"), Varies)


KEPT = """
class Keeper:
    def __init__(self):
        self.losses, self.turns = [], []
    def note(self, turn):
        self.turns.append(turn)
        self.losses.append(float(step(x, y)))
x, y = load()
keeper = Keeper()
other = Keeper()
for turn in range(9):
    keeper.note(turn)
"""


@pytest.mark.parametrize(
    ("read", "answer"),
    [
        ("len(keeper.losses)", Uniform),
        ("keeper.turns[0]", Uniform),
        ("np.argmin(keeper.losses)", Varies),
        ("model.optimizer.lr", Uniform),
    ],
)
def test_what_an_object_keeps_of_its_own(read: str, answer: type[Answer]) -> None:
    assert isinstance(
        of(KEPT + read, HEAD + MODEL + "def load():\n    return np.ones(9), np.ones(9)\n"), answer
    )


def test_what_keras_gives_a_callback_has_many_defaults() -> None:
    for default in ("None", "{}", "dict()"):
        text = f"class C(tf.keras.callbacks.Callback):\n    def on_batch_end(self, batch, logs={default}):\n        asked(logs.get('loss'))\n"
        assert isinstance(of(text), Varies), default


def test_what_is_put_under_another_key_is_another_thing() -> None:
    source = "state = {'step': 0}\nfor i in range(9):\n    state['best'] = random.random()\n    asked(state[KEY])\n"
    for key, answer in (("'step'", Uniform), ("'best'", Varies), ("i", Varies)):
        uniform, e = asked(source.replace("KEY", key))
        assert isinstance(uniform.of(e), answer), key


def test_what_a_function_puts_under_another_key_is_another_thing() -> None:
    source = "def note(told):\n    told['best'] = random.random()\nstate = {'step': 0}\nnote(state)\nasked(state[KEY])\n"
    for key, answer in (("'step'", Uniform), ("'best'", Varies), ("int(sys.argv[1])", Varies)):
        uniform, e = asked(source.replace("KEY", key))
        assert isinstance(uniform.of(e), answer), key


def test_the_epoch_that_a_callback_of_lambdas_is_told_is_that_of_all_ranks() -> None:
    source = "tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: asked(epoch + 1))"
    assert of(source) == Uniform()
    assert isinstance(of(source.replace("asked(epoch", "asked(logs['loss']")), Unknown | Varies)
    assert isinstance(of("register(lambda epoch, logs: asked(epoch + 1))"), Unknown)


def test_a_place_that_the_way_to_it_leads_back_to_is_reached_as_what_else_is_on_the_way_says() -> None:
    """What `pack` goes through may be the batches themselves, for all that is seen: that was followed without end."""
    for condition, alike in (("True", True), ("random.random() < 0.5", False)):
        uniform, e = asked(f"""
            class Batches:
                def __iter__(self):
                    for r in range(9):
                        yield self.pack([(r, r)])
                    asked(1)
                @staticmethod
                def pack(o):
                    return [a for a, _ in o]
            if {condition}:
                for x in Batches():
                    print(x)
        """)
        assert uniform.reached_alike(e) is alike


TOLD = """
class Context:
    def __init__(self):
        self.logs, self.stop = {}, False
class Patience:
    def on_step(self, NAME):
        asked(NAME.logs[KEY])
context = Context()
patience = Patience()
for x, y in load():
    context.logs["loss"] = float(step(x, y))
    context.logs["rounds"] = 3
    patience.on_step(context)
"""


@pytest.mark.parametrize("name", ["context", "told"])
@pytest.mark.parametrize(("key", "answer"), [("'loss'", Varies), ("'rounds'", Uniform)])
def test_what_an_object_is_told_is_read_under_the_same_or_another_name(
    name: str, key: str, answer: type[Answer]
) -> None:
    head = HEAD + MODEL + "def load():\n    return [(np.ones(9), np.ones(9))] * 3\n"
    assert isinstance(of(TOLD.replace("NAME", name).replace("KEY", key), head), answer)
