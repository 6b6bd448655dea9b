"""Whether running a file does something, told from its bytes: a statement of its own level that may run what the file defines,
or what it imports from files nearby. `logger = logging.getLogger(__name__)` does not. A guess that errs on the side of "it
does"."""

from __future__ import annotations

import builtins
import re
import sys

# Of these modules nothing runs what a file defines, unless it is handed over or looked up by name.
OF_OTHERS = frozenset(sys.stdlib_module_names) | {
    "tensorflow",
    "keras",
    "tf_keras",
    "horovod",
    "horovod_keras3",
    "numpy",
}
IMPORTS = re.compile(
    rb"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+([^#\r\n]*)|import[ \t]+([^#\r\n]*))", re.MULTILINE
)

_BLOCKS = re.compile(
    rb"^(?:if\b(?![ \t]+(?:\w+\.)?TYPE_CHECKING[ \t]*:)|(?:for|while|with|try)\b)", re.MULTILINE
)
# A call, or what is made by one, with the lines that go on with it.
_CALLS = re.compile(
    rb"^(?:[A-Za-z_][\w.]*[ \t]*\(|[A-Za-z_][^\r\n(=]*=[^=\r\n][^\r\n]*\().*(?:\r?\n[ \t)\]}].*)*",
    re.MULTILINE,
)
_DEFINED = re.compile(rb"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_MENTIONED = re.compile(rb"(?<![\w.])([A-Za-z_]\w*)(?:\.\w+)*[ \t]*(\()?")
_BOUND = re.compile(rb"(\w+)(?:[ \t]+as[ \t]+(\w+))?")
_LOOKS_UP = re.compile(rb"\.run[ \t]*\(")  # tf.app.run() calls the file's main
_HARMLESS = {name.encode() for name in dir(builtins)} - {b"exec", b"eval", b"__import__", b"map", b"filter"}


def does_something(data: bytes) -> bool:
    """Whether running a file may run what it defines or imports from files nearby."""
    if _BLOCKS.search(data):
        return True
    calls = _CALLS.findall(data)
    if not calls:
        return False
    others, near = _imported(data)
    suspects = near | set(_DEFINED.findall(data))
    harmless = (others | _HARMLESS) - suspects
    for call in calls:
        if _LOOKS_UP.search(call):
            return True
        for name, called in _MENTIONED.findall(call):
            if name in suspects or (called and name not in harmless):
                return True
    return False


def _imported(data: bytes) -> tuple[set[bytes], set[bytes]]:
    """The names that imports bind: to what is of others, and to what may be nearby."""
    others: set[bytes] = set()
    near: set[bytes] = set()
    for base, members, modules in IMPORTS.findall(data):
        if modules:
            for module in modules.split(b","):
                path, _, alias = module.strip().partition(b" as ")
                top = path.strip().split(b".")[0]
                (others if top.decode("ascii", "replace") in OF_OTHERS else near).add(alias.strip() or top)
        else:
            top = base.split(b".")[0].decode("ascii", "replace")
            bound = {alias or name for name, alias in _BOUND.findall(members)}
            (others if top in OF_OTHERS else near).update(bound)
    return others, near
