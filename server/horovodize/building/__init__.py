"""Building Horovod for the TensorFlow of an interpreter: there are no wheels, and its last release doesn't build for TensorFlow
2.19 and later as it is.

`target`    the interpreter: its TensorFlow, by package metadata, and what is missing to build for it
`recipe`    what is changed in Horovod's source, and with which settings it is built
`build`     download, change, build, keep: one wheel for each Python and TensorFlow, in the cache

Runs other programs: pip, and the interpreter that is named."""
