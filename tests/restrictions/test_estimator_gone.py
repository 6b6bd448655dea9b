"""HVD901: what is said of Estimators and MonitoredSessions, by the version of TensorFlow that scripts run on."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Refusal
from horovodize.restrictions import check
from horovodize.restrictions.violation import Severity
from horovodize.source import Document
from horovodize.summary import summarize

MODEL_FN = """\
def model_fn(features, labels, mode):
    loss = tf.reduce_mean(features['x'] * tf.get_variable('w', [1]))
    train_op = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
tf.estimator.Estimator(model_fn).train(input_fn, steps=1000)
"""
V1 = "import tensorflow.compat.v1 as tf\n" + MODEL_FN
HOROVOD = "import horovod.tensorflow as hvd\nhvd.init()\n" + V1.replace(
    "tf.train.AdamOptimizer(0.1)", "hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1))"
).replace("steps=1000", "steps=1000, hooks=[hvd.BroadcastGlobalVariablesHook(0)]")
TF1 = "import tensorflow as tf\n" + MODEL_FN


def severities(source: str, version: str) -> list[Severity]:
    violations = check(summarize(Document(source)), Options(tensorflow=version))
    return [v.severity for v in violations if v.code == "HVD901"]


@pytest.mark.parametrize(
    ("source", "version", "expected"),
    [
        (V1, "2.15", []),
        (V1, "2.15.1", []),
        (V1, "1.15", []),
        (V1, "", [Severity.INFORMATION]),
        (V1, "2.16", [Severity.WARNING]),
        (V1, "3.0", [Severity.WARNING]),
        (HOROVOD, "2.15", []),
        (HOROVOD, "", []),
        (HOROVOD, "2.16", [Severity.WARNING]),
        (TF1, "", []),
        (TF1, "2.16.1", [Severity.WARNING]),
    ],
)
def test_what_is_said(source: str, version: str, expected: list[Severity]) -> None:
    assert severities(source, version) == expected


def test_loops_that_need_no_hook_run_on_every_version() -> None:
    assert not severities(
        "import tensorflow as tf\nm = tf.keras.Sequential([])\nm.compile('sgd')\nm.fit(x)\n", "2.18"
    )


def test_it_is_distributed_unless_it_could_not_run() -> None:
    assert isinstance(distribute(summarize(Document(V1)), Options(tensorflow="2.15")), Plan)
    assert isinstance(distribute(summarize(Document(V1)), Options()), Plan)
    refusal = distribute(summarize(Document(V1)), Options(tensorflow="2.17"))
    assert isinstance(refusal, Refusal)
    assert [r.code for r in refusal.reasons] == ["HVD901"]
    assert "2.17" in refusal.reasons[0].message


@pytest.mark.parametrize(("version", "codes"), [("2.15", []), ("2.17", ["HVD901", "HVD902"])])
def test_the_hook_is_gone_with_it(version: str, codes: list[str]) -> None:
    found = check(summarize(Document(HOROVOD)), Options(tensorflow=version))
    assert [v.code for v in found if v.code.startswith("HVD9")] == codes
