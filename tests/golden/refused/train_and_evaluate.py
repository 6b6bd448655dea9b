import tensorflow as tf

estimator = tf.compat.v1.estimator.LinearRegressor(columns, optimizer=tf.compat.v1.train.FtrlOptimizer(0.1))
train_spec = make_train_spec(max_steps=1000)
eval_spec = tf.estimator.EvalSpec(input_fn=eval_input_fn)
tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
