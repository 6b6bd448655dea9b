import sys

import tensorflow as tf

sys.path.append(".")
from common import folder_of
from src.model import build_model

model = build_model()
model.fit(tf.ones((64, 4)), tf.ones((64, 1)), epochs=2, steps_per_epoch=8)
model.save(folder_of("a"))
