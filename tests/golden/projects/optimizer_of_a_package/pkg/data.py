import numpy as np

rows = np.random.RandomState(0).rand(64, 2)
