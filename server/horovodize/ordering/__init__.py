"""In which orders a run of a TensorFlow 1 graph may do what it does: `model.py` is a graph and all that may come of it,
`reading.py` finds such graphs in a script, one for each run of a session."""
