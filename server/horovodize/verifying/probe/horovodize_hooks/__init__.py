"""What the probe hooks into before a training script starts: optimizers, files, collectives, examples.

None of it knows how a script was distributed, or whether it was: only TensorFlow, Keras and Horovod are watched."""
