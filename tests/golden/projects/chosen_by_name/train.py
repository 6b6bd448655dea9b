import argparse

import numpy as np
import models

parser = argparse.ArgumentParser()
parser.add_argument("which")
which = parser.parse_args().which
getattr(models, "train_" + which)(np.ones((64, 4), "float32"), np.ones((64, 1), "float32"))
