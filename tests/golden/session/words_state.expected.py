import sys
import time

import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))
sys.stdout = sys.stdout if hvd.rank() == 0 else open("/dev/null", "w", errors="replace")


class Words(object):
  """A language model, two spaces deep."""

  def __init__(self, batch_size, num_steps, size, vocabulary):
    self.inputs = tf.placeholder(tf.int32, [batch_size, num_steps])
    self.targets = tf.placeholder(tf.int32, [batch_size, num_steps])
    cell = tf.nn.rnn_cell.BasicLSTMCell(size)
    self.initial_state = cell.zero_state(batch_size, tf.float32)
    embedded = tf.nn.embedding_lookup(tf.get_variable("embedding", [vocabulary, size]), self.inputs)
    outputs, self.final_state = tf.nn.dynamic_rnn(cell, embedded, initial_state=self.initial_state)
    logits = tf.layers.dense(outputs, vocabulary)
    self.cost = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.targets, logits=logits))
    self.lr = tf.Variable(0.0, trainable=False)
    tvars = tf.trainable_variables()
    grads, _ = tf.clip_by_global_norm([g if g is None else hvd.allreduce(g) for g in tf.gradients(self.cost, tvars)], 5)
    self._train_op = tf.train.GradientDescentOptimizer(self.lr).apply_gradients(zip(grads, tvars))

  @property
  def train_op(self):
    return self._train_op


def windows(words, batch_size, num_steps):
  length = len(words) // batch_size
  words = np.array(words[:batch_size * length]).reshape(batch_size, length)
  for i in range((length - 1) // num_steps):
    yield words[:, i * num_steps:(i + 1) * num_steps], words[:, i * num_steps + 1:(i + 1) * num_steps + 1]


def run_epoch(session, model, words, eval_op=None, verbose=False):
  start, costs, iters = time.time(), 0.0, 0
  state = session.run(model.initial_state)
  fetches = {"cost": model.cost, "state": model.final_state}
  if eval_op is not None:
    fetches["eval_op"] = eval_op
  for step, (x, y) in enumerate(windows(words, 20, 35)):
    vals = session.run(fetches, {model.inputs: x, model.targets: y, model.initial_state: state})
    state = vals["state"]
    costs += vals["cost"]
    iters += 35
    if verbose and step % 100 == 10:
      print("perplexity: %.3f speed: %.0f wps" % (np.exp(costs / iters), iters * 20 / (time.time() - start)))
  return np.exp(costs / iters)


def main():
  train_words, valid_words = [np.load(name) for name in sys.argv[1:3]]
  model = Words(20, 35, 200, 10000)
  with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    session.run(hvd.broadcast_global_variables(root_rank=0))
    for i in range(13):
      session.run(tf.assign(model.lr, 1.0 * 0.5 ** max(i - 4, 0)))
      print("Epoch: %d Learning rate: %.3f" % (i + 1, session.run(model.lr)))
      print("Train: %.3f" % run_epoch(session, model, train_words, model.train_op, verbose=True))
      print("Valid: %.3f" % run_epoch(session, model, valid_words))


if __name__ == "__main__":
  main()
