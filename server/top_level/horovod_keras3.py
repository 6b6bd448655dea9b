"""`import horovod_keras3` where Horovodize is installed: the module that is written beside scripts otherwise.

A script finds it with the setting `runtime = "package"`; a file of this name beside the script goes first."""

from horovodize.runtime.horovod_keras3 import *  # noqa: F403
from horovodize.runtime.horovod_keras3 import __all__  # noqa: F401
