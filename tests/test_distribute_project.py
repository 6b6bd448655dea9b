"""What a script and its project come to together, and when the script alone decides."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.distribute_project import distribute_script, files
from horovodize.options import Options
from horovodize.plan import Plan, Refusal, Unchanged
from horovodize.source import Document
from horovodize.source.edits import apply
from horovodize.source.project import ProjectDocument
from horovodize.summary import summarize

TRAIN = """\
import tensorflow as tf
from optim import make

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(make(), "mse")
model.fit(tf.ones((64, 4)), tf.ones((64, 1)))
"""
OPTIM = "import tensorflow as tf\n\n\ndef make():\n    return tf.keras.optimizers.SGD(0.1)\n"


def result(script: str, options: Options | None = None, **modules: str) -> Plan | Refusal | Unchanged:
    texts = {f"/p/{name}.py": text for name, text in modules.items()}
    return distribute_script(
        Document(script, "/p/train.py"), lambda p: Document(texts[p], p) if p in texts else None, options
    )


def changed(plan: Plan | Refusal | Unchanged) -> dict[str, str]:
    assert isinstance(plan, Plan), plan
    return {f.document.path: apply(f.document.text, f.edits) for f in files(plan)}


def codes(refusal: Plan | Refusal | Unchanged) -> list[str]:
    assert isinstance(refusal, Refusal), refusal
    return [reason.code for reason in refusal.reasons]


def test_every_file_that_must_change_is_changed_once():
    after = changed(result(TRAIN, optim=OPTIM))
    assert list(after) == ["/p/optim.py", "/p/train.py"]
    assert [text.count("hvd.init()") for text in after.values()] == [0, 1]
    assert "SGD(0.1 * hvd.size())" in after["/p/optim.py"]
    assert "set_visible_devices" in after["/p/train.py"]
    assert "set_visible_devices" not in after["/p/optim.py"]


def test_options_hold_for_all_files():
    after = changed(result(TRAIN, Options(comments=False), optim=OPTIM))
    assert not any("#" in text for text in after.values())


def test_a_plan_of_the_script_alone_is_one_of_a_plain_document():
    script = TRAIN.replace("make()", "tf.keras.optimizers.SGD(scale())").replace(
        "optim import make", "numbers_ import scale"
    )
    plan = result(script, numbers_="def scale():\n    return 0.1\n")
    assert isinstance(plan, Plan)
    assert not isinstance(plan.document, ProjectDocument)
    alone = distribute(summarize(Document(script)))
    assert isinstance(alone, Plan)
    assert plan.text == alone.text
    assert [f.document.path for f in files(plan)] == ["/p/train.py"]
    for change in plan.changes:
        assert 0 <= change.span.start <= change.span.end <= len(script)
    assert {c.rule for c in plan.changes} == {c.rule for c in alone.changes}


def test_a_plan_of_the_script_alone_keeps_its_line_ends():
    script = TRAIN.replace("make()", "'sgd'").replace("\n", "\r\n")
    (text,) = changed(result(script, optim="def make():\n    pass\n")).values()
    assert text.count("\n") == text.count("\r\n")


def test_a_script_by_itself_is_what_it_always_was():
    script = TRAIN.replace("from optim import make\n", "").replace("make()", "'sgd'")
    assert changed(result(script)) == {"/p/train.py": distribute(summarize(Document(script))).text}  # type: ignore[union-attr]


def test_a_script_that_uses_horovod_is_done():
    assert isinstance(result("import horovod.tensorflow as hvd\n" + TRAIN, optim=OPTIM), Unchanged)


def test_a_project_of_which_a_module_uses_horovod_is_refused_at_that_place():
    refusal = result(TRAIN, optim="import horovod.tensorflow as hvd\n" + OPTIM)
    assert codes(refusal) == ["HVD202"]
    assert isinstance(refusal, Refusal)
    document = refusal.document
    assert isinstance(document, ProjectDocument)
    assert document.members[document.member_at(refusal.reasons[0].span.start)].path == "/p/optim.py"


def test_a_module_that_is_distributed_otherwise_refuses_the_script():
    optim = OPTIM.replace("def make", "strategy = tf.distribute.MirroredStrategy()\n\n\ndef make")
    assert codes(result(TRAIN, optim=optim)) == ["HVD202"]


WRITES = "import pandas\n\n\ndef keep(path):\n    return pandas.ExcelWriter(path)\n"


def test_a_refusal_for_another_file_does_not_stop_a_script_that_trains_by_itself():
    script = (
        TRAIN.replace("from optim import make", "from report import keep").replace("make()", "'sgd'")
        + "keep('x')\n"
    )
    assert isinstance(distribute(summarize(Document(script))), Plan)
    assert list(changed(result(script, report=WRITES))) == ["/p/train.py"]


STEP = """\
import random
import tensorflow as tf


def train(model, x):
    model.compile("sgd", "mse")
    if random.random() < 0.9:
        model.train_on_batch(x, x)
"""


def test_a_refusal_for_training_in_another_file_stops_the_script():
    script = (
        TRAIN.replace("from optim import make", "from step import train").replace("make()", "'sgd'")
        + "train(model, 1)\n"
    )
    assert isinstance(distribute(summarize(Document(script))), Plan)
    refusal = result(script, step=STEP)
    assert isinstance(refusal, Refusal), changed(refusal)


def test_a_module_that_does_not_parse_is_named_where_the_script_is_refused():
    refusal = result("import tensorflow as tf\nfrom old import train\ntrain()\n", old="print 'x'\n")
    assert codes(refusal) == ["HVD002", "HVD003"]
    assert isinstance(refusal, Refusal)
    assert "`old.py`" in refusal.reasons[1].message
    assert "line 1" in refusal.reasons[1].message
    assert "Python 2" in refusal.reasons[1].message


def test_a_module_that_does_not_parse_does_not_stop_a_script_that_can_be_distributed():
    script = TRAIN.replace("make()", "'sgd'")
    assert list(changed(result(script, optim="print 'x'\n"))) == ["/p/train.py"]


def test_a_module_that_only_prints_is_left_alone():
    script = (
        TRAIN.replace("optim import make", "talk import say, tell").replace("make()", "'sgd'")
        + "said = say(1)\ntell(2)\n"
    )
    talk = "def say(x):\n    print(x)\n\n\ndef tell(x):\n    print(x)\n"
    assert list(changed(result(script, talk=talk))) == ["/p/train.py"]
    after = changed(
        result(script, talk=talk.replace("print(x)\n\n\n", "print(x)\n    open('log', 'a').write(x)\n\n\n"))
    )
    assert after["/p/talk.py"].count("if hvd.rank() == 0") >= 2


@pytest.mark.parametrize(
    ("net", "first"),
    [
        ("net = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n", True),
        ("def build():\n    return tf.keras.Sequential()\n\n\nnet = build()\n", True),
        ("class Net(tf.keras.Model):\n    pass\n\n\nnet = Net()\n", True),
        ("import deeper\n\nnet = deeper.net\n", True),
        ("net = 1\n\n\n@tf.function\ndef f(x=tf.TensorSpec([])):\n    return tf.ones(3)\n", False),
        ("tf.get_logger().setLevel('ERROR')\nnet = 1\n", False),
    ],
)
def test_the_gpu_is_pinned_before_a_module_that_uses_it_is_imported(net, first):
    script = TRAIN.replace("from optim import make", "from net import net\nimport os").replace(
        "make()", "'sgd'"
    )
    deeper = "import tensorflow as tf\n\nnet = tf.keras.Sequential()\n"
    text = changed(result(script, net="import tensorflow as tf\n\n" + net, deeper=deeper))["/p/train.py"]
    assert (text.index("set_visible_devices") < text.index("from net import net")) == first


def test_the_head_goes_before_everything_where_the_first_import_uses_the_gpu():
    script = '"""Trains."""\nfrom __future__ import annotations\nfrom net import net\n'
    script += 'net.compile("sgd", "mse")\nnet.fit(1, 2)\n'
    net = "import tensorflow as tf\n\nnet = tf.keras.Sequential()\n"
    text = changed(result(script, net=net))["/p/train.py"]
    places = [
        text.index(s)
        for s in ("__future__", "import tensorflow as tf", "hvd.init()", "set_visible", "from net")
    ]
    assert places == sorted(places)


def test_helpers_do_not_take_names_of_code_that_is_not_read():
    optim = OPTIM + "\n\ndef shard(rows):\n    return rows[::2]\n"
    after = changed(result(TRAIN, optim=optim))
    assert "def shard(rows)" not in after["/p/train.py"]
    assert "def hvd_shard(rows)" in after["/p/train.py"]


def test_a_file_that_calls_something_else_as_the_project_calls_tensorflow():
    script = "import tensorflow as tf\nfrom step import learn\nlearn(tf.ones((8, 4)))\n"
    step = (
        "import other as tf\nfrom tensorflow import keras\n\n\ndef learn(x):\n    m = keras.Sequential()\n"
        "    m.compile(tf.make(), 'mse')\n    m.fit(x, x)\n"
    )
    outcome = result(script, step=step)
    assert codes(outcome) == ["HVD006"]


def test_a_file_that_gets_tensorflow_from_another():
    backend = "import tensorflow as tf\n"
    optim = OPTIM.replace("import tensorflow as tf", "from backend import tf")
    after = changed(result(TRAIN, optim=optim, backend=backend))
    assert "SGD(0.1 * hvd.size())" in after["/p/optim.py"]


def test_names_of_one_file_are_not_used_in_another():
    script = (
        TRAIN.replace("optim import make", "report import keep\nimport os").replace("make()", "'sgd'")
        + "kept = keep()\n"
    )
    report = "def keep():\n    f = open('a.txt', 'w')\n    f.write('x')\n    return f\n"
    text = changed(result(script, report=report))["/p/report.py"]
    assert "os." not in text
    assert "/dev/null" in text


def test_the_loader_is_asked_for_files_near_the_script_only():
    asked: list[str] = []
    distribute_script(Document("import a, tensorflow\nfrom ..b import c\n", "/p/q/train.py"), asked.append)
    assert asked
    assert all(path.startswith("/p/") or path.count("/") <= 2 for path in asked), asked


def test_a_loop_of_slim_in_another_file_is_the_reason_why_no_loop_is_found():
    trainer = """\
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.loss = tf.reduce_mean(tf.get_variable("w", [3]))
        self.train_op = tf.train.AdamOptimizer(0.1).minimize(self.loss)
    def train(self):
        tf.contrib.slim.learning.train(self.train_op, "logs", number_of_steps=100)
"""
    refusal = result("from trainer import Trainer\nTrainer().train()\n", trainer=trainer)
    assert codes(refusal) == ["HVD202"]
    unused = result("from trainer import Trainer\nprint(Trainer)\n", trainer="class Trainer:\n    pass\n")
    assert codes(unused) == ["HVD002"]


def test_a_line_of_another_file_is_named_with_it():
    net = """\
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 4])
train_op = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.layers.dense(x, 1)))
"""
    script = """\
import tensorflow as tf
from feeds import make
from net import train_op, x
feed = make(x)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for _ in range(100):
    sess.run(train_op, feed)
"""
    plan = result(script, net=net)
    assert isinstance(plan, Plan)
    (doubt,) = [c.doubt for c in plan.changes if c.rule == "C5"]
    assert doubt.endswith("don't scale the rate (line 8 of `train.py`)")


def test_a_module_that_only_a_helper_opens_sessions_in_initialises_nothing() -> None:
    """It may be imported before `hvd.init()`; the helper runs after it."""
    script = """\
import tensorflow.compat.v1 as tf
from trainer import train

x = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1)))
step = tf.Variable(0, trainable=False)
op = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    train(sess, op, step, x)
"""
    trainer = """\
import time
import numpy as np
import tensorflow.compat.v1 as tf


def train(sess, op, step, x):
    saver = tf.train.Saver()
    saver.restore(sess, tf.train.latest_checkpoint("run"))
    for i in range(int(time.time()) % 1000):
        sess.run(op, {x: np.random.rand(8, 3)})
"""
    made = result(script, trainer=trainer)
    assert isinstance(made, Plan), made
    texts = [apply(f.document.text, f.edits) for f in files(made)]
    assert sum(text.count("hvd.init()") for text in texts) == 1
    assert any(
        "def from_root(value):" in text and "visible_device_list=str(hvd.local_rank())" in text
        for text in texts
    )


def test_a_session_that_a_module_opens_is_told_its_gpu_in_one_line() -> None:
    """A config in the module's head would take six, and initialise Horovod a second time."""
    script = """\
import tensorflow.compat.v1 as tf
from trainer import train
config_of_data = 3
train(config_of_data)
"""
    trainer = """\
import numpy as np
import tensorflow.compat.v1 as tf

x = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)


def train(n):
    op = tf.train.AdamOptimizer(0.1).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(1000):
            sess.run(op, {x: np.random.rand(8, n)})
"""
    texts = changed(result(script, trainer=trainer))
    assert [text.count("hvd.init()") for text in texts.values()] == [0, 1]
    inline = "tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))"
    assert f"tf.Session(config={inline})" in texts["/p/trainer.py"]
    assert not any("config.gpu_options" in text for text in texts.values())


OLD = "import numpy as np\nimport tensorflow as tf\nfrom net import build\nwriter = tf.summary.FileWriter('logs')\n"
OLD += (
    "model = build()\nfor i in range(1000):\n    model.train_on_batch(rows[np.random.randint(0, 9, 4)], 1)\n"
)
NET = "from keras.models import Sequential\nfrom keras import backend as K\n\n\ndef build():\n    model = Sequential()\n"
NET += "    model.compile('sgd', K.square)\n    return model\n"


@pytest.mark.parametrize(("own", "backend"), [("", "backend"), ("from keras import backend as KB\n", "KB")])
def test_the_session_of_keras_is_told_its_gpu_in_the_script(own: str, backend: str) -> None:
    """What the backend is called there counts, and not what another file calls it."""
    after = changed(result(own + OLD, net=NET))
    text = after["/p/train.py"]
    assert (
        "config.gpu_options.visible_device_list = str(hvd.local_rank())" in text
        or "visible_device_list=str(" in text
    )
    assert f"\n{backend}.set_session(tf.Session(config=config))\n" in text
    assert ("from keras import backend\n" in text) is (not own)
    assert "set_session" not in after["/p/net.py"]


def test_a_backend_that_is_imported_later_is_none_yet() -> None:
    """What is imported after a project's own modules, which train when they are imported, is not there in the head."""
    script = "import os\nimport net\nimport numpy as np\nfrom keras.optimizers import Adam\nfrom keras import backend as KB\n"
    script += "model = net.build()\nmodel.fit(np.load('x.npy'), np.load('y.npy'))\n"
    built = NET + "import tensorflow as tf\nwriter = tf.summary.FileWriter('logs')\ndensely = build()\n"
    text = changed(result(script, net=built))["/p/train.py"]
    assert "\nfrom keras import backend\n" in text[: text.index("\nbackend.set_session(")]
    assert text.index("backend.set_session(") < text.index("import net\n")


GIVEN_SESSION = """import tensorflow as tf
class Model:
    def __init__(self, sess):
        self.sess = sess
        self.x = tf.placeholder(tf.float32, [None, 2])
        self.loss = tf.reduce_mean(tf.get_variable("w", [2]) * self.x)
        self.step = tf.train.AdamOptimizer(0.1).minimize(self.loss)
    def train(self, rows):
        self.sess.run(tf.global_variables_initializer())
        for i in range(0, len(rows), 8):
            self.sess.run(self.step, {self.x: rows[i:i + 8]})
"""


def test_a_class_that_is_given_its_session_names_the_loop_and_where_to_look():
    refusal = distribute(summarize(Document(GIVEN_SESSION)))
    assert isinstance(refusal, Refusal)
    (reason,) = refusal.reasons
    assert reason.code == "HVD002"
    assert "opened in another file" in reason.message
    assert GIVEN_SESSION[reason.span.start :].startswith("self.sess.run(self.step")
    imports = "import tensorflow as tf\nfrom model import Model\n"
    opens = f"{imports}with tf.Session() as sess:\n    Model(sess).train([[1.0, 2.0]] * 64)\n"
    assert isinstance(result(opens, model=GIVEN_SESSION), Plan)


def test_a_class_that_trains_nothing_has_no_loop():
    predicts = GIVEN_SESSION.replace("self.sess.run(self.step, ", "self.sess.run(self.loss, ")
    refusal = distribute(summarize(Document(predicts)))
    assert isinstance(refusal, Refusal)
    assert "no training loop" in refusal.reasons[0].message


def test_tensorflow_2_and_its_compat_v2_are_one():
    after = changed(
        result(TRAIN, optim=OPTIM.replace("import tensorflow as", "import tensorflow.compat.v2 as"))
    )
    assert list(after) == ["/p/optim.py", "/p/train.py"]


def test_another_name_for_tensorflow_stops_nothing_where_no_code_says_it():
    augment = "import tensorflow.compat.v1 as tf\n\n\ndef flip(x):\n    return tf.reverse(x, [0])\n"
    script = TRAIN.replace("import make\n", "import make\nfrom augment import flip\n").replace(
        "tf.ones((64, 4))", "flip(tf.ones((64, 4)))"
    )
    assert list(changed(result(script, optim=OPTIM, augment=augment))) == ["/p/optim.py", "/p/train.py"]


def test_code_that_would_say_another_tensorflow_is_refused():
    compiling = 'import tensorflow.compat.v1 as tf\n\n\ndef build(model):\n    model.compile("sgd", "mse")\n'
    script = TRAIN.replace("from optim import make", "from build import build").replace(
        'model.compile(make(), "mse")', "build(model)"
    )
    assert codes(result(script, build=compiling)) == ["HVD006"]
