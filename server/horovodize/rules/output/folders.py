"""Folders are made on every rank, where ranks that make the same one don't get in each other's way. Part of C6.

Rank 0 alone would leave the other hosts without them. `exist_ok=True` lets ranks make a folder at the same time. What stays
rank 0's: a folder whose name may differ between ranks, one that decides by being there what else is done, and all folders of a
program that also deletes files.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from horovodize.facts.differences.answers import Uniform
from horovodize.python import shell_commands
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, argument, has_unpacking
from horovodize.rules.drafting.decisions import Left
from horovodize.rules.drafting.draft import Draft
from horovodize.source import Edit
from horovodize.summary.outputs import Outputs

_WHAT = "Let every rank make the folder"
_WHY = "All hosts need it; with `exist_ok=True` ranks may make it at the same time."
_NO_MORE_AN_ERROR = (
    "a folder that is already there no longer stops the program: ranks make it at the same time"
)
_STRICT = {
    "os.mkdir": "makedirs",
    "tensorflow.io.gfile.mkdir": "makedirs",
    "tensorflow.compat.v1.gfile.MkDir": "MakeDirs",
}
_MAKEDIRS = "os.makedirs"
_PATH_MKDIR = "mkdir"  # a method of pathlib's paths, which takes no path
_TOLERANT = {"tensorflow.io.gfile.makedirs", "tensorflow.compat.v1.gfile.MakeDirs"}
_DELETERS = {
    "rmtree", "DeleteRecursively", "removedirs", "rmdir", "remove_tree", "rename", "renames", "replace", "move",
}  # fmt: skip
_OF_FILES = ("os.", "shutil.", "tensorflow.", "distutils.")
_ANY_ERROR = {"Exception", "BaseException", "OSError", "FileExistsError", "IOError", "EnvironmentError", "error"}  # fmt: skip


def made_everywhere(draft: Draft, outputs: Outputs) -> set[ast.Call]:
    """The calls that every rank may make. `outputs`: with these calls still counted as output."""
    found = {call for call in draft.module.calls_which(_path) if _may_be_made(draft, outputs, call)}
    return set() if found and _deletes(draft) else found


def apply(draft: Draft, made: Collection[ast.Call], guarded: Collection[ast.AST]) -> None:
    """Lets ranks make these folders at the same time, save those that stand in `guarded` statements, which are rank 0's."""
    for call in draft.syntax.calls:
        if call not in made or _stands_in(draft, call, {*guarded, *draft.having(Left)}):
            continue
        edits = _edits(draft, call)
        if edits:
            draft.change("C6", call, _WHAT, _WHY, edits)
            if not _is_expected(draft, call):
                draft.note("C6", call, _NO_MORE_AN_ERROR)


def _stands_in(draft: Draft, call: ast.Call, nodes: Collection[ast.AST]) -> bool:
    return any(isinstance(a, ast.stmt) and a in nodes for a in draft.syntax.ancestors(call))


# ---------------------------------------------------------------------- which


def _may_be_made(draft: Draft, outputs: Outputs, call: ast.Call) -> bool:
    path = _path(draft.module, call)
    if path is None or not isinstance(draft.syntax.parent.get(call), ast.Expr) or has_unpacking(call):
        return False
    if not draft.can_insert(draft.syntax.statement(call)) or outputs.beside.is_guarded_outside(call):
        return False
    if not isinstance(draft.uniform.of(path), Uniform):
        return False
    return _is_alone(draft, outputs, call) and not _is_asked_about(draft, outputs, call, path)


def _path(module: Module, call: ast.Call) -> ast.expr | None:
    """The path of a folder that a call makes in a way that other ranks may make it, too; None where it can't be."""
    name = module.names.of(call.func)
    if name == _MAKEDIRS:
        return argument(call, "name", 0) if _takes_exist_ok(call, 2) else None
    if name in _TOLERANT:
        return argument(call, "path", 0) or argument(call, "dirname", 0)
    if name in _STRICT:
        renamed = isinstance(call.func, ast.Attribute) and argument(call, "dir_fd") is None
        return argument(call, "", 0) if renamed else None
    if name is None and isinstance(call.func, ast.Attribute) and call.func.attr == _PATH_MKDIR:
        ours = not call.args and all(k.arg in ("mode", "parents", "exist_ok") for k in call.keywords)
        return call.func.value if ours and _takes_exist_ok(call, None) else None
    return None


def _takes_exist_ok(call: ast.Call, index: int | None) -> bool:
    """Whether `exist_ok` is not given, or is true."""
    given = argument(call, "exist_ok", index)
    return given is None or (isinstance(given, ast.Constant) and given.value is True)


def _is_alone(draft: Draft, outputs: Outputs, call: ast.Call) -> bool:
    """Whether nothing but making folders (and talk) hangs on whether the folder was there already: another rank may have been
    quicker."""
    for around in draft.syntax.ancestors(call):
        if isinstance(around, CALLABLES):
            break
        if isinstance(around, ast.If) and _may_differ(draft, outputs, around.test):
            if not all(_only_makes(draft, s) for s in (*around.body, *around.orelse)):
                return False
        if isinstance(around, ast.Try) and any(draft.syntax.inside(call, s) for s in around.body):
            if not all(_is_mild(draft, s) for h in around.handlers for s in h.body):
                return False
            if around.handlers and not all(_only_makes(draft, s) for s in (*around.body, *around.orelse)):
                return False
    return True


def _may_differ(draft: Draft, outputs: Outputs, test: ast.expr) -> bool:
    return outputs.effects.output_calls.reads_files(test) or bool(draft.uniform.reasons(test))


def _only_makes(draft: Draft, statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call() as call):
            return _path(draft.module, call) is not None or _talks(draft, call)
        case ast.If() | ast.For():
            return all(_only_makes(draft, s) for s in (*statement.body, *statement.orelse))
        case _:
            return _is_mild(draft, statement)


def _is_mild(draft: Draft, statement: ast.stmt) -> bool:
    """Whether a handler's statement does nothing to a program whose folder is there: `pass`, a print, `if …: raise`."""
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call() as call):
            return _talks(draft, call)
        case ast.If():
            return all(isinstance(s, (ast.Pass, ast.Raise)) for s in (*statement.body, *statement.orelse))
        case _:
            return False


def _talks(draft: Draft, call: ast.Call) -> bool:
    name = draft.names.of(call.func) or ast.unparse(call.func)
    return (name == "print" or name.startswith("logging.")) and not any(
        isinstance(n, ast.Call) and draft.values.callee(n) is not None for n in ast.walk(call)
    )


def _is_asked_about(draft: Draft, outputs: Outputs, call: ast.Call, path: ast.expr) -> bool:
    """Whether the program asks elsewhere whether that folder is there, or one that it is in, which is made with it: the answer
    must not hang on another rank."""
    statement, parts = draft.syntax.statement(call), _with_parents(path)
    for other in draft.syntax.calls:
        own = other.func.value if isinstance(other.func, ast.Attribute) else None
        given = [*other.args[:1], *((own,) if own is not None else ())]
        part = next((p for p in parts if any(ast.unparse(a) == ast.unparse(p) for a in given)), None)
        if part is None and not any(_is_below(path, a) for a in given):
            continue
        if (
            other is call
            or _path(draft.module, other) is not None
            or not outputs.effects.output_calls.reads_files(other)
        ):
            continue
        asks = draft.names.last(other.func).lower().lstrip("_") in (
            "exists",
            "isdir",
            "is_dir",
            "isdirectory",
            "stat",
        )
        if not asks or not _means_same(draft, part or path, other):
            continue
        if part is not path and _only_folders_hang_on(draft, other):
            continue
        tests = (a.test for a in draft.syntax.ancestors(call) if isinstance(a, ast.If))
        here = any(draft.syntax.inside(other, t) for t in tests)
        together = draft.syntax.function(other) is draft.syntax.function(call)
        if not here and (not together or other.lineno < statement.lineno):
            return True
    return False


def _with_parents(path: ast.expr) -> list[ast.expr]:
    """A path, and what it is made of: `root` of `os.path.join(root, "train")`, `f"{root}/train"`, `root / "train"`."""
    return [path, *(n for n in ast.walk(path) if n is not path and isinstance(n, ast.expr))]


def _is_below(path: ast.expr, other: ast.expr) -> bool:
    """`"data/train"` in `"data"`"""
    match path, other:
        case ast.Constant(value=str(below)), ast.Constant(value=str(above)):
            return bool(above) and below.startswith(f"{above.rstrip('/')}/")
    return False


def _only_folders_hang_on(draft: Draft, asking: ast.Call) -> bool:
    """`if not os.path.exists(root): os.makedirs(root)`"""
    around = next((a for a in draft.syntax.ancestors(asking) if isinstance(a, ast.stmt)), None)
    if not isinstance(around, ast.If) or not draft.syntax.inside(asking, around.test):
        return False
    return all(_only_makes(draft, s) for s in (*around.body, *around.orelse))


def _means_same(draft: Draft, path: ast.expr, there: ast.AST) -> bool:
    """Whether the names of a path are those of the same scopes elsewhere."""
    lookup = draft.module.scopes.lookup
    names = [n for n in ast.walk(path) if isinstance(n, ast.Name)]
    return all(lookup(n.id, n) is lookup(n.id, there) or _is_handed(draft, n, there) for n in names)


def _is_handed(draft: Draft, name: ast.Name, there: ast.AST) -> bool:
    """Whether a parameter is given what has its name elsewhere: `if not os.path.exists(root): make(root)`."""
    lookup = draft.module.scopes.lookup
    given = [
        e for b in draft.module.scopes.reaching(name) if b.kind == "parameter" for e in draft.values.passed(b)
    ]
    return any(
        isinstance(e, ast.Name) and e.id == name.id and lookup(e.id, e) is lookup(e.id, there) for e in given
    )


def _deletes(draft: Draft) -> bool:
    """Whether the program deletes or moves folders: what one rank deletes another must not be making."""
    for call in draft.syntax.calls:
        name = draft.names.of(call.func) or ""
        if name.startswith(_OF_FILES) and name.rsplit(".", 1)[-1] in _DELETERS:
            return True
        if not name and draft.names.last(call.func) in ("rmdir", "rmtree"):
            return True
        if shell_commands.deed(draft.module, call) == "write":
            return True
    return False


# ---------------------------------------------------------------------- text


def _edits(draft: Draft, call: ast.Call) -> list[Edit]:
    """What lets ranks make a folder at the same time; nothing where they may already."""
    name = draft.names.of(call.func)
    if name in _TOLERANT or argument(call, "exist_ok", 2 if name == _MAKEDIRS else None) is not None:
        return []
    if any(_catches_all(h) for h in _handlers(draft, call)):
        return []
    edits = list[Edit]()
    if name in _STRICT and isinstance(call.func, ast.Attribute):
        whole = draft.module.span(call.func)
        start = whole.end - len(call.func.attr)
        edits.append(Edit(type(whole)(start, whole.end), _STRICT[name]))
        if name != "os.mkdir":
            return edits
    return [*edits, draft.add_argument(call, "exist_ok=True")]


def _is_expected(draft: Draft, call: ast.Call) -> bool:
    """Whether the program reckons with a folder that is there already."""
    if _handlers(draft, call):
        return True
    for around in draft.syntax.ancestors(call):
        if isinstance(around, CALLABLES):
            break
        if isinstance(around, ast.If) and draft.uniform.reasons(around.test):
            return True
        if isinstance(around, ast.ExceptHandler):
            return True
    return False


def _handlers(draft: Draft, call: ast.Call) -> list[ast.ExceptHandler]:
    """What catches an error of a call, in the function around it."""
    found = list[ast.ExceptHandler]()
    for around in draft.syntax.ancestors(call):
        if isinstance(around, CALLABLES):
            break
        if isinstance(around, ast.Try) and any(draft.syntax.inside(call, s) for s in around.body):
            found += around.handlers
    return found


def _catches_all(handler: ast.ExceptHandler) -> bool:
    """Whether a handler goes on as if nothing had happened when a folder is there already."""
    if any(isinstance(n, ast.Raise) for s in handler.body for n in ast.walk(s)):
        return False
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(c is None or _last(c) in _ANY_ERROR for c in caught)


def _last(e: ast.expr) -> str:
    return e.attr if isinstance(e, ast.Attribute) else e.id if isinstance(e, ast.Name) else ""
