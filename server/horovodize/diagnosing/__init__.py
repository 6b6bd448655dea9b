"""Whether an interpreter can train with Horovod, found out by asking it and by training one step on two ranks.

`diagnosis`     what is said: lines, each ok, a note or a problem, with what to do
`interpreter`   what is asked of an interpreter: its packages (nothing is imported), then what TensorFlow and Horovod say
`packages`      judges those: Python, TensorFlow, Keras, Horovod, horovodrun, GPUs, XLA
`hosts`         ssh to the hosts of a run, the same packages there, a folder that they share
`two_ranks`     trains one step on two ranks from different data: weights have to be equal after it
`inside_*.py`   run by that interpreter, never imported here: TensorFlow stays out of this process"""

from horovodize.diagnosing.diagnose import diagnose
from horovodize.diagnosing.diagnosis import Diagnosis, Line, State

__all__ = ["Diagnosis", "Line", "State", "diagnose"]
