import numpy as np
from steps import make

model = make()
x = np.ones((64, 4), "float32")
model.fit(x, np.ones((64, 1), "float32"), batch_size=8, verbose=0)
