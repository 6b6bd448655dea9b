"""HVD902: arguments, methods and uses of tensors that Keras 2 took and Keras 3 doesn't, and near misses."""

from __future__ import annotations

import pytest

from horovodize.options import Options
from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize

BEFORE = """\
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

class Scale(layers.Layer):
    def build(self, shape):
        {build}
    def call(self, x, training=None):
        return x

class Own:
    def add_weight(self, name, shape):
        pass
    def fit(self, x, workers):
        pass
    def evaluate_generator(self, x):
        pass

model = keras.Sequential([keras.Input((8,)), layers.Dense(4), layers.Dense(1)])
opt = keras.optimizers.SGD(0.1)
"""
AFTER = """
model.compile(opt, "mse")
model.fit(x, y)
"""


def found(statement: str, build: str = "pass", version: str = "2.17") -> list[str]:
    source = BEFORE.format(build=build) + statement + AFTER
    violations = check(summarize(Document(source)), Options(tensorflow=version))
    return [v.message.partition(") ")[2] for v in violations if v.code == "HVD902"]


GONE = [
    "model.fit(x, y, workers=4)",
    "model.evaluate(x, max_queue_size=3)",
    "model.predict(x, use_multiprocessing=True)",
    "model.train_on_batch(x, y, reset_metrics=False)",
    "model.compile(opt, 'mse', sample_weight_mode='temporal')",
    "model.compile(opt, 'huber_loss')",
    "model.compile(opt, {'a': 'logcosh'})",
    "model.compile(opt, ['mse', 'kullback_leibler_divergence'])",
    "model.save_weights('a.weights.h5', save_format='h5')",
    "opt.apply_gradients(pairs, experimental_aggregate_gradients=False)",
    "opt.apply_gradients(pairs, name='apply')",
    "keras.callbacks.ModelCheckpoint('a.keras', period=2)",
    "keras.callbacks.TensorBoard('logs', write_grads=True)",
    "keras.activations.relu(x, alpha=0.1)",
    "keras.regularizers.l2(l=0.1)",
    "layers.LSTM(4, time_major=True)",
    "layers.LSTM(4, batch_input_shape=(16, 8, 1))",
    "layers.Dense(4, weights=[w, b])",
    "layers.CategoryEncoding(max_tokens=4)",
    "layers.Dense(4, name='a/b')",
    "keras.Input(shape=(784))",
    "layers.Input(8)",
    "keras.losses.MeanSquaredError(reduction='auto')",
    "keras.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.AUTO)",
    "model(x, True)",
    "layers.Dropout(0.1)(x, True)",
    "model.evaluate_generator(batches)",
    "model.predict_generator(batches)",
    "model.predict_classes(x)",
    "model.reset_states()",
    "keras.mixed_precision.LossScaleOptimizer(opt).get_scaled_loss(loss)",
    "tf.keras.backend.set_value(model.optimizer.learning_rate, 0.1)",
    "inp = keras.Input((8,))\nh = tf.nn.relu(layers.Dense(4)(inp))",
    "inp = keras.Input((8,))\nh = layers.Dense(4)(inp)\nh = layers.Dense(4)(h)\nh = tf.concat([h, inp], -1)",
    "inp = keras.Input((8,))\nn = tf.shape(inp * 2)",
    "inp = keras.Input((8,))\nn = keras.backend.sum(inp)",
    "inp = keras.Input((8,))\nn = tf.reduce_mean(model(inp))",
    "inp = keras.Input((8,))\nn = layers.Dense(4)(inp).get_shape()",
    "inp = keras.Input((8,))\nn = inp.shape.as_list()[1]",
    "keras.models.save_model(model, 'folder')",
    "class C(keras.callbacks.Callback):\n    def __init__(self, model):\n        self.model = model",
]


@pytest.mark.parametrize("statement", GONE)
def test_gone(statement: str) -> None:
    assert len(found(statement)) == 1, found(statement)
    assert not found(statement, version="2.15")


@pytest.mark.parametrize(
    "statement",
    [
        "self.w = self.add_weight('w', shape=(8, 4))",
        "self.w = self.add_weight(f'w{n}', (8, 4))",
        "self.w = self.add_variable('w', (8, 4))",
        "self.w = self.add_weight(name='w', shape=(8, 4), synchronization=tf.VariableSynchronization.AUTO)",
        "self.add_metric(shape, name='n')",
    ],
)
def test_gone_in_a_layer(statement: str) -> None:
    assert len(found("", statement)) == 1, found("", statement)


@pytest.mark.parametrize(
    "statement",
    [
        "Own().fit(x, workers=4)",
        "Own().add_weight('w', (3, 4))",
        "Own().evaluate_generator(x)",
        "agent.fit(x, workers=4)",
        "pool.predict(x, workers=4)",
        "layers.Embedding(10, 4, weights=[w])",
        "layers.InputLayer(batch_input_shape=(16, 8))",
        "layers.LeakyReLU(alpha=0.2)",
        "keras.callbacks.ReduceLROnPlateau(epsilon=1e-4)",
        "keras.Input(shape=8 if flat else (8, 1))",
        "keras.losses.MeanSquaredError(reduction='none')",
        "keras.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.NONE)",
        "model(x, training=True)",
        "model(x, mask)",
        "layer.reset_states()",
        "tf.keras.backend.set_value(own, 0.1)",
        "tf.keras.backend.get_value(model.optimizer.learning_rate)",
        "inp = keras.Input((8,))\nh = layers.Dense(8)(inp) + inp",
        "inp = keras.Input((8,))\nh = layers.Lambda(lambda t: tf.square(t))(inp)",
        "inp = keras.Input((8,))\nprint(keras.backend.int_shape(inp))",
        "inp = keras.Input((8,)) if whole else x\nh = tf.square(inp)",
        "inp = keras.Input((8,))\nh = keras.ops.sum(inp)",
        "h = tf.square(model(x))",
        "n = model(x).shape.as_list()",
        "inp = keras.Input((8,))\nn = inp.shape[1]",
        "keras.models.save_model(model, 'folder.keras')",
        "class C(keras.callbacks.Callback):\n    def __init__(self, model):\n        self.other = model",
        "class C:\n    def __init__(self, model):\n        self.model = model",
        "if old:\n    model.fit(x, y, workers=4)",
    ],
)
def test_near_misses(statement: str) -> None:
    assert not found(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "self.w = self.add_weight(name='w', shape=(8, 4))",
        "self.w = self.add_weight((8, 4), name='w')",
        "self.w = tf.square(shape)",
    ],
)
def test_near_misses_in_a_layer(statement: str) -> None:
    assert not found("", statement)
