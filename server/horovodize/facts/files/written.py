"""Which files the program writes itself: on several ranks, what is read back there may be another one's, or not yet there."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from functools import cached_property

from horovodize import catalogue
from horovodize.facts.files.path_forms import PathForms
from horovodize.python.module import Module
from horovodize.python.opening import Opening
from horovodize.python.syntax import CALLABLES

_SAVERS = (
    "save",
    "save_weights",
    "save_model",
    "to_csv",
    "to_json",
    "to_pickle",
    "tofile",
    "export",
)
_OF_PATHS = ("write_text", "write_bytes")  # methods of the path itself
_KEEPERS = (
    "ModelCheckpoint",
    "CheckpointManager",
    "BackupAndRestore",
    "CSVLogger",
    "FileWriter",
    "MonitoredTrainingSession",
)
_READERS = {
    "open", "load", "loadtxt", "genfromtxt", "fromfile", "read_csv", "read_json", "read_excel", "read_table", "read_pickle",
    "listdir", "scandir", "glob", "iglob", "walk", "imread", "loadmat", "gfile", "fastgfile", "file", "tfrecorddataset",
    "textlinedataset", "list_files", "flow_from_directory", "image_dataset_from_directory", "load_img", "listdirectory",
}  # fmt: skip
# Of these, what gives names of files: a path that is made of one is in the folder that they are in.
_LISTERS = {"listdir", "scandir", "glob", "iglob", "walk", "list_files", "listdirectory"}
# Words by which paths name what a run leaves behind.
_OF_A_RUN = re.compile(
    r"ckpt|checkpoint|model|weight|log|save|snapshot|result|output|state|resume|done|stop|\.h5$|\.keras$|\.pb$",
    re.I,
)
# These are given what they save, then the path; the others the path first. What is saved is made of much that is no path.
_GIVEN_WHAT_FIRST = (
    "tensorflow.keras.models.save_model",
    "tensorflow.saved_model.save",
    "tensorflow.keras.utils.plot_model",
    "torch.save",
    "shutil.copy",
    "shutil.copy2",
    "shutil.copyfile",
    "shutil.copytree",
    "shutil.move",
    "os.rename",
    "os.replace",
)
_PARSERS = ("ArgumentParser", "OptionParser", "ArgParser", "add_argument", "add_option")
_FOLDER_MAKERS = ("makedirs", "mkdir", "MakeDirs", "MkDir")
_NOWHERE = ("dump", "imshow", "show")  # into an open file, into a window
_RESTORERS = ("load_weights", "load_model", "restore")
_LIMIT = 80
_FAR = 400
_PUT_IN = re.compile(r"\{[^{}]*\}|%[-0-9.]*[a-z]")  # `{epoch:02d}`, `%04d`


class Written:
    """The paths that one module writes to."""

    def __init__(self, module: Module) -> None:
        self.module, self._opening, self._forms = module, Opening(module), PathForms(module)

    def may_differ(self, path: ast.AST) -> bool:
        """Whether what is there, at a path, may differ between ranks: the program writes it, or it looks like what some run
        of it has written."""
        _, strings = self._words([path])
        if any(self._matches(text, path) for text in strings if "*" in text or "?" in text):
            return True
        return bool(self._written_as(path)) or any(
            _OF_A_RUN.search(text) for text in (*strings, ast.unparse(path))
        )

    def opened_for(self, call: ast.Call) -> ast.expr | None:
        """The path of a file that a function of the program opens for a call."""
        return self._opening.path(call) if self._opening.is_by_function(call) else None

    def finds_checkpoint(self, call: ast.Call) -> bool:
        """Whether weights are read from a file that a call has found: `model.load_weights(max(os.listdir(".")))`."""
        return call in self._behind_restores

    @cached_property
    def _behind_restores(self) -> set[ast.AST]:
        calls = (c for name in _RESTORERS for c in self.module.calls_called(name))
        return set(self.module.values.depends([a for c in calls for a in c.args], _FAR))

    def _matches(self, pattern: str, read: ast.AST) -> bool:
        """Whether a pattern finds files that an earlier run of the program has written: `ep-*.npz` those of
        `f"ep-{epoch:02d}.npz"`. Not what is written before it is looked for: data that the program makes."""
        name, syntax = pattern.rsplit("/", 1)[-1], self.module.syntax
        return any(
            fnmatchcase(written, name)
            and (syntax.function(path) is not syntax.function(read) or path.lineno > read.lineno)  # type: ignore[attr-defined]
            for written, path in self._names
        )

    @cached_property
    def _names(self) -> set[tuple[str, ast.AST]]:
        """The names of the files that the program writes, with a digit where something is put in, and where."""
        found = set[tuple[str, ast.AST]]()
        for path in self._paths():
            nodes = list(self.module.values.depends([path], _LIMIT))
            inside = {v for n in nodes if isinstance(n, ast.JoinedStr) for v in n.values}
            for n in nodes:
                is_read = isinstance(n, ast.Constant) and self._is_read_there(n)
                text = _template(n) if n not in inside and not is_read else None
                if text is not None:
                    found.add((text.rsplit("/", 1)[-1], path))
        return found

    def reads(self, path: ast.AST) -> bool:
        """Whether the program reads data from a path, or from below it: all ranks have that."""
        return ast.unparse(path) in self._read

    @cached_property
    def _read(self) -> set[str]:
        paths = [
            call.args[0]
            for call in self.module.syntax.calls
            if call.args and self.module.names.last(call.func).lower() in _READERS
        ]
        nodes = [n for p in paths for n in self.module.values.depends([p], _LIMIT)]
        return {
            ast.unparse(n)
            for n in nodes
            if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript, ast.Constant))
        }

    def holds(self, path: ast.AST) -> bool:
        """Whether a file that is read may be one that the program writes: not a folder that it makes."""
        files = (written for written in self._written_as(path) if not self._is_a_folder(written))
        return any(not self._forms.are_apart(path, written) for written in files)

    def _is_a_folder(self, written: ast.AST) -> bool:
        """Whether a path is only that of a folder which is made."""
        call = self.module.syntax.parent[written]
        return isinstance(call, ast.Call) and self.module.names.last(call.func) in _FOLDER_MAKERS

    def _written_as(self, path: ast.AST) -> list[ast.AST]:
        """The paths that the program writes to and that have something in common with one, if only a folder."""
        text, strings = self._words([path])
        return [written for written, said, of in self._all if text & said or strings & of]

    @cached_property
    def _all(self) -> list[tuple[ast.AST, set[tuple[str, ast.AST | None]], set[str]]]:
        return [(p, self._words([p])[0], self._words([p], named=True)[1]) for p in self._paths()]

    def _paths(self) -> list[ast.AST]:
        found: list[ast.AST] = []
        for call in self.module.syntax.calls:
            name, last = self.module.names.of(call.func), self.module.names.last(call.func)
            given = [*call.args, *(k.value for k in call.keywords if k.arg)]
            if self._opening.is_open(call):
                path = self._opening.written(call)
                found += [path] if path is not None else []
            elif last in _NOWHERE or isinstance(self.module.values.callee(call), CALLABLES):
                continue  # where a function of the program's own writes, there
            elif name is not None and catalogue.writes_files(name) and len(call.args) > 1:
                found.append(call.args[name in _GIVEN_WHAT_FIRST])
            elif last in _OF_PATHS and isinstance(call.func, ast.Attribute):
                found.append(call.func.value)
            elif last in _SAVERS or last in _KEEPERS or (name is not None and catalogue.writes_files(name)):
                found += given[:2]
        return found

    def _words(
        self, paths: list[ast.AST], *, named: bool = False
    ) -> tuple[set[tuple[str, ast.AST | None]], set[str]]:
        """How paths are written, and the strings that they are made of. `named`: without the names of files that something in
        them was read from: `"fold%d.h5" % fold` does not name what the folds are made of."""
        text = {self._spelled(e) for p in paths for e in self._stands_for(p)}
        strings = set[str]()
        for p in paths:
            nodes = list(self.module.values.depends([p], _LIMIT))
            behind = self._behind_reads(nodes, p) if named else set()
            strings |= {
                n.value
                for n in nodes
                if isinstance(n, ast.Constant)
                and isinstance(n.value, str)
                and sum(c.isalnum() for c in n.value) > 2
                and n not in behind
                and not self._describes(n)
            }
        return text, strings

    def _behind_reads(self, nodes: list[ast.AST], path: ast.AST) -> set[ast.AST]:
        """Of what a path is made of, what only says where something in it was read from: a folder of settings in a file."""
        reads = [n for n in nodes if isinstance(n, ast.Call) and self._is_read(n) and n.args]
        reads = [r for r in reads if self.module.names.last(r.func).lower() not in _LISTERS]
        if not reads:
            return set()
        written = {part for form in self._forms.of(path) for part in form}
        behind = set(self.module.values.depends([r.args[0] for r in reads], _LIMIT))
        return {
            n
            for n in behind
            if not isinstance(n, ast.Constant) or self._is_read_there(n) or n.value not in written
        }

    def _stands_for(self, path: ast.AST) -> list[ast.Name | ast.Attribute | ast.Call]:
        """A path as it is written, and where it comes from: through names, and through the parameters of functions."""
        made = self.module.values.origins(path) if isinstance(path, ast.expr) else []
        nodes = [path, *(o.node for o in made if not o.path)]
        return [n for n in nodes if isinstance(n, (ast.Name, ast.Attribute, ast.Call))]

    def _spelled(self, e: ast.Name | ast.Attribute | ast.Call) -> tuple[str, ast.AST | None]:
        """What tells one path from another: two functions may each have a `filename` of their own."""
        return ast.unparse(e), self.module.scopes.lookup(e.id, e) if isinstance(e, ast.Name) else None

    def _describes(self, text: ast.Constant) -> bool:
        """Whether a string is what a parser of the command line says of the program, of which each option's value is made."""
        calls = (a for a in self.module.syntax.ancestors(text) if isinstance(a, ast.Call))
        around = next(calls, None)
        return around is not None and self.module.names.last(around.func) in _PARSERS

    def _is_read_there(self, name: ast.Constant) -> bool:
        """Whether a string is what something is read from, where it stands: `np.load("x.npy")`."""
        calls = (a for a in self.module.syntax.ancestors(name) if isinstance(a, ast.Call))
        around = next(calls, None)
        return around is not None and self._is_read(around)

    def _is_read(self, call: ast.Call) -> bool:
        return self.module.names.last(call.func).lower() in _READERS and self._opening.written(call) is None


def _template(node: ast.AST) -> str | None:
    """A string, with a digit for each of what is put into it; None for what is none."""
    match node:
        case ast.Constant(value=str() as text):
            return _PUT_IN.sub("0", text)
        case ast.JoinedStr(values=values):
            return "".join(str(v.value) if isinstance(v, ast.Constant) else "0" for v in values)
    return None
