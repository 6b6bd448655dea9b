"""What is told of a run."""


import horovod.tensorflow.keras as hvd
def tell(text):
    if hvd.rank() == 0:
        print("told:", text)


def keep(path, losses):
    if hvd.rank() == 0:
        with open(path, "w") as f:
            for loss in losses:
                f.write("%f\n" % loss)
