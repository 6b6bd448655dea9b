import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()  # each process is a rank, and gets one GPU
hvd_config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))


def any_rank(condition):  # whether a condition holds on any rank: all of them then leave a loop together
	if not hasattr(any_rank, "session"):
		with tf.Graph().as_default():
			any_rank.mine = tf.placeholder(tf.float32, [])
			any_rank.all = hvd.allreduce(any_rank.mine, name="any_rank")
			any_rank.session = tf.Session(config=hvd_config)
	return any_rank.session.run(any_rank.all, {any_rank.mine: bool(condition)}) > 0


tf.disable_v2_behavior()


class EndWhenGood(tf.train.SessionRunHook):
	def __init__(self, loss):
		self.loss = loss

	def before_run(self, run_context):
		return tf.train.SessionRunArgs(self.loss)

	def after_run(self, run_context, run_values):
		if any_rank(run_values.results < 0.01):
			if hvd.rank() == 0:
				print("good enough")
			run_context.request_stop()


def build(config):
	x, y = config.pipeline().make_one_shot_iterator().get_next()
	loss = tf.reduce_mean(tf.abs(tf.layers.dense(x, 1) - y))
	step = tf.train.get_or_create_global_step()
	train = hvd.DistributedOptimizer(tf.train.FtrlOptimizer(learning_rate=config.rate)).minimize(loss, step)
	return loss, train


def run(config):
	loss, train = build(config)
	creator = tf.train.ChiefSessionCreator(
		scaffold=tf.train.Scaffold(saver=tf.train.Saver(max_to_keep=2)),
		checkpoint_dir=config.folder if hvd.rank() == 0 else None,
		config=hvd_config)
	saver = tf.train.CheckpointSaverHook(config.folder, save_steps=100)
	with tf.train.MonitoredSession(creator, hooks=(hvd.BroadcastGlobalVariablesHook(0), EndWhenGood(loss), *([saver] if hvd.rank() == 0 else []))) as session:
		while not session.should_stop():
			session.run(train)
