from settings import *
from ops import *

import numpy as np

x = np.ones((64, 4), "float32")
y = np.ones((64, 1), "float32")
model = build()
model.compile(optimizer=make_optimizer(RATE), loss="mse")
model.fit(x, y, batch_size=BATCH_SIZE, epochs=EPOCHS)
