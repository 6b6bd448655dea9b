"""Runs a distributed script as if it were the user's: `python start.py TABLE [ARGUMENT…]`.

The texts that run stand elsewhere; `__file__`, `sys.argv`, the current folder and what is imported are as the script expects.
TABLE is a JSON file: `script` the user's path, `files` the texts by the user's paths, `beside` a folder with modules of ours,
`stacks` a folder in which a rank notes where it stands when it gets SIGUSR1.

A file of the standard library, which any Python 3.8 runs."""

import faulthandler
import importlib.machinery
import json
import os
import signal
import sys
import types
from typing import Any


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of the project from its distributed text."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> "types.CodeType":
        return _compiled(self._text)


class _Finder:
    """Finds modules where Python does, and gives those that were distributed another loader."""

    def __init__(self, files: "dict[str, str]") -> None:
        self._files = files

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not spec.origin:
            return None
        text = self._files.get(os.path.realpath(spec.origin))
        if text is None:
            return None
        spec.loader = _Loader(name, spec.origin, text)
        return spec


def _compiled(path: str) -> "types.CodeType":
    with open(path, "rb") as file:
        code: types.CodeType = compile(file.read(), path, "exec", dont_inherit=True)
    return code


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        table = json.load(file)
    script = table["script"]
    sys.argv[:] = [script, *sys.argv[2:]]
    sys.path[0] = os.path.dirname(script)
    sys.path += [table["beside"]] if table.get("beside") else []
    files = {os.path.realpath(path): text for path, text in table["files"].items()}
    sys.meta_path.insert(0, _Finder(files))
    if table.get("stacks") and os.path.isdir(table["stacks"]):
        name = os.path.join(table["stacks"], "stack-{}".format(os.environ.get("HOROVODIZE_RANK", "0")))
        faulthandler.register(signal.SIGUSR1, file=open(name, "w"), all_threads=True)  # noqa: SIM115 (open as long as we run)
    module = types.ModuleType("__main__")
    module.__file__ = script
    vars(module)["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    exec(_compiled(files[os.path.realpath(script)]), module.__dict__)


if __name__ == "__main__":
    main()
