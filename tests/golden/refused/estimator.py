import tensorflow as tf

column = tf.feature_column.numeric_column("x")
estimator = tf.estimator.LinearRegressor([column])
estimator.train(lambda: tf.data.Dataset.from_tensors(({"x": [1.0]}, [2.0])), steps=100)
