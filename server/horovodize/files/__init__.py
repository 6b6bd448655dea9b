"""Files of a folder as git would list them. Knows nothing of TensorFlow."""

from horovodize.files.exclude import Exclude
from horovodize.files.gitignore import GitIgnore
from horovodize.files.walk import walk

__all__ = ["Exclude", "GitIgnore", "walk"]
