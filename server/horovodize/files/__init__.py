"""Files of a folder as git would list them. Knows nothing of TensorFlow."""

from horovodize.files.exclude import Exclude
from horovodize.files.gitignore import GitIgnore
from horovodize.files.reading import read_regular
from horovodize.files.walk import lists, walk

__all__ = ["Exclude", "GitIgnore", "lists", "read_regular", "walk"]
