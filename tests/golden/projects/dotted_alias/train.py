import lib.nets.dense as d
import lib.callbacks
import numpy as np

net = d.dense_net()
x, y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
net.fit(x, y, validation_split=0.25, epochs=3, callbacks=lib.callbacks.callbacks("out"))
