"""Running what distributing makes, and saying what goes wrong there in the user's own lines.

`prepared`    a script and what it imports of its project, distributed in memory
`scratch`     a copy of the folder that a script runs in, with the distributed texts in it
`ranks`       starts a command on several ranks, listens to each, ends them all
`source_map`  where each piece of a distributed text comes from
`tracebacks`  a traceback of a distributed script, in the lines of the script as its author wrote it

TensorFlow is imported by the processes that are started, never here."""
