from __future__ import absolute_import, division, print_function

import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank


def shard_records(dataset):  # this rank's share of a dataset: every size()-th element, filled up to equally many
  padded = dataset.concatenate(dataset.repeat().take(hvd.rank()))
  return padded.shard(hvd.size(), hvd.rank())


tf.app.flags.DEFINE_string("model_dir", "/tmp/digits", "Where to save.")
tf.app.flags.DEFINE_integer("epochs", 3, "")
FLAGS = tf.app.flags.FLAGS


def input_fn(files, training, batch_size=64, share=lambda dataset: dataset):
  dataset = share(tf.data.TFRecordDataset(files))
  if training:
    dataset = dataset.shuffle(10000)
  dataset = dataset.map(parse).batch(batch_size)
  return dataset.prefetch(1)


def parse(example):
  features = tf.parse_single_example(
      example, {"image": tf.FixedLenFeature([784], tf.float32), "label": tf.FixedLenFeature([], tf.int64)})
  return {"image": features["image"]}, features["label"]


def model_fn(features, labels, mode, params):
  logits = tf.layers.dense(tf.layers.dense(features["image"], params["units"], tf.nn.relu), 10)
  predictions = tf.argmax(logits, 1)
  if mode == tf.estimator.ModeKeys.PREDICT:
    return tf.estimator.EstimatorSpec(mode, predictions={"digit": predictions})

  loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
  accuracy = tf.metrics.accuracy(labels, predictions)
  if mode == tf.estimator.ModeKeys.EVAL:
    return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"accuracy": accuracy})

  rate = tf.train.piecewise_constant(tf.train.get_global_step(), [1000 // hvd.size(), 2000 // hvd.size()], [0.1 * hvd.size(), 0.01 * hvd.size(), 0.001 * hvd.size()])
  optimizer = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(rate, momentum=0.9))
  update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
  with tf.control_dependencies(update_ops):
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
  logging = tf.train.LoggingTensorHook({"accuracy": accuracy[1]}, every_n_iter=max(1, 100 // hvd.size()))
  return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=[*([logging] if hvd.rank() == 0 else [])])


def main(_):
  session_config = tf.ConfigProto(allow_soft_placement=True)
  session_config.gpu_options.visible_device_list = str(hvd.local_rank())
  run_config = tf.estimator.RunConfig(
      save_checkpoints_secs=600, session_config=session_config)
  classifier = tf.estimator.Estimator(
      model_fn=model_fn,
      model_dir=FLAGS.model_dir if hvd.rank() == 0 else None,
      config=run_config,
      params={"units": 128},
  )

  for epoch in range(FLAGS.epochs):
    classifier.train(input_fn=lambda: input_fn("train.tfrecords", True, share=shard_records), hooks=[hvd.BroadcastGlobalVariablesHook(0)])
    result = classifier.evaluate(input_fn=lambda: input_fn("test.tfrecords", False))
    if hvd.rank() == 0:
      print("epoch", epoch, "accuracy", result["accuracy"])

  if hvd.rank() == 0:
    classifier.export_savedmodel("export", serving_input_receiver_fn)


def serving_input_receiver_fn():
  image = tf.placeholder(tf.float32, [None, 784])
  return tf.estimator.export.TensorServingInputReceiver({"image": image}, image)


if __name__ == "__main__":
  tf.logging.set_verbosity(tf.logging.INFO)
  tf.app.run()
