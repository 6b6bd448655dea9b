"""Which TensorFlow and which Keras a script lives with: what Horovod has to be given depends on it.

`versions`      what a text like ">=2.16,<2.18" says
`surroundings`  what is said outside of a script: by the packages of an interpreter, by requirement and lock files
`evidence`      what a script itself shows: `keras.ops`, `TF_USE_LEGACY_KERAS`
`world`         all of it together

Nothing is imported and no interpreter is run: installed packages are known by the names of their metadata folders."""
