import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


class EndWhenGood(tf.train.SessionRunHook):
	def __init__(self, loss):
		self.loss = loss

	def before_run(self, run_context):
		return tf.train.SessionRunArgs(self.loss)

	def after_run(self, run_context, run_values):
		if run_values.results < 0.01:
			print("good enough")
			run_context.request_stop()


def build(config):
	x, y = config.pipeline().make_one_shot_iterator().get_next()
	loss = tf.reduce_mean(tf.abs(tf.layers.dense(x, 1) - y))
	step = tf.train.get_or_create_global_step()
	train = tf.train.FtrlOptimizer(learning_rate=config.rate).minimize(loss, step)
	return loss, train


def run(config):
	loss, train = build(config)
	creator = tf.train.ChiefSessionCreator(
		scaffold=tf.train.Scaffold(saver=tf.train.Saver(max_to_keep=2)),
		checkpoint_dir=config.folder)
	saver = tf.train.CheckpointSaverHook(config.folder, save_steps=100)
	with tf.train.MonitoredSession(creator, hooks=(EndWhenGood(loss), saver)) as session:
		while not session.should_stop():
			session.run(train)
