"""Generated programs, each compared step by step with one process: what rank 0 of pretended ranks is given in its n-th step is
what one process is given around step n times size().

`programs` writes them (a loop, a function of its count of steps, what that is for), `sessions` those of sessions and `fits`
those of callbacks; `pretended` runs them under TensorFlow with a Horovod that is one process (in TensorFlow's own Python),
`comparing` says where they part.

`deciding` writes others, which decide by what they measure; `on_ranks` runs them on real ranks, where all have to decide
the same. `keras_3` writes programs of today's Keras with those that an expert would write for some ranks: on real ranks, both
come to the same weights. `loaders` writes programs whose batches come from loaders of their own, `pretended_rows` runs them as
all of some ranks, one after the other, and `comparing_rows` says which rows of an epoch are not taken once by some rank.

`resuming` writes programs that are stopped, and go on from what they saved; `run_again` runs them twice, on one number of real
ranks and then on another, of which rank 0 has the files, and `comparing_resumed` says where they part from one process.
"""
