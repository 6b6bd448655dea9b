"""The import block of a file: where TensorFlow comes in, and where the block ends.

In a project, an import of a module that uses TensorFlow while it is imported (a model built at its top) ends the block of the
script: what chooses a GPU has to come before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from horovodize.python.import_order import importing_guard
from horovodize.python.interface import imported_paths
from horovodize.python.syntax import FUNCTIONS, is_main_guard
from horovodize.rules.drafting import early_users
from horovodize.rules.drafting.draft import Draft

# Of TensorFlow, what may be called before a GPU is chosen.
_HARMLESS = (
    "tensorflow.config.", "tensorflow.compat.v1.config.", "tensorflow.compat.v1.logging.", "tensorflow.compat.v1.flags.",
    "tensorflow.compat.v1.app.flags.", "tensorflow.function", "tensorflow.TensorSpec", "tensorflow.get_logger",
)  # fmt: skip
# What is called between imports to set a process up, or to tell of it.
_SETTINGS = (
    "os.environ.", "os.getenv", "os.putenv", "os.chdir", "os.path.join", "os.path.dirname", "os.path.abspath",
    "os.path.expanduser", "sys.path.", "sys.stdout.", "sys.setrecursionlimit", "warnings.", "logging.", "absl.logging.",
    "argparse.", "gc.", "locale.", "matplotlib.use", "matplotlib.rc", "matplotlib.style.", "matplotlib.pyplot.rc",
    "matplotlib.pyplot.style.", "seaborn.set", "random.seed", "numpy.random.seed", "numpy.set_printoptions", "numpy.seterr",
    "pandas.set_option", "re.compile", "print", "str", "int", "float", "len", "getattr", "hasattr", "get_ipython",
)  # fmt: skip


@dataclass(frozen=True)
class HeadPlace:
    """Where a file's head goes: Horovod's import after `imported`, the rest after `last`. Where `last` is None, all of it
    goes before `imported`."""

    imported: ast.stmt
    last: ast.stmt | None


def head_place(draft: Draft, tree: ast.Module) -> HeadPlace | None:
    """The place of a file's head; None where there is none that surely comes first: the script imports TensorFlow inside
    functions only. One that imports it under `if __name__ == "__main__":` gets its head before that."""
    imported = import_statement(draft, tree)
    early = _first_use(draft, tree) if tree is draft.module.tree else None
    guard = importing_guard(draft.module) if tree is draft.module.tree else None
    if imported is None and guard is not None:
        return HeadPlace(guard, None)
    if imported is None:
        first = next((s for s in tree.body if not _is_docstring(tree, s) and not _is_future(s)), None)
        return HeadPlace(first, None) if first is not None and tree is not draft.module.tree else None
    asking = early_users.first_before(draft, tree, imported)
    if asking is not None and (early is None or tree.body.index(asking) < tree.body.index(early)):
        early = asking
    if early is not None and tree.body.index(early) <= tree.body.index(imported):
        previous = [
            s for s in tree.body[: tree.body.index(early)] if isinstance(s, (ast.Import, ast.ImportFrom))
        ]
        previous = [s for s in previous if not _is_future(s)]
        if not previous:
            return HeadPlace(early, None)
        return HeadPlace(previous[-1], previous[-1])
    return HeadPlace(imported, _end_of_imports(draft, imported, early))


def answer_late_imports(draft: Draft, place: HeadPlace) -> None:
    """Answers what `check` says of a script's late imports of TensorFlow, where the head stands before them and before all that
    uses it."""
    body = draft.module.tree.body
    before = body[: body.index(place.imported) + 1]
    if any(_calls_tensorflow(draft, s, set()) for s in before):
        return
    for statement in draft.module.tensorflow_imports:
        if statement in body and statement not in before:
            draft.answer("HVD101", statement)


def _first_use(draft: Draft, tree: ast.Module) -> ast.stmt | None:
    """The first import of the script whose modules use TensorFlow while they are imported."""
    if len(draft.syntax.trees) == 1 or draft.in_graph:  # in a graph, sessions choose GPUs
        return None
    seen = {tree}
    return next(
        (s for s in tree.body if any(uses_at_import(draft, m, seen) for m in _modules(draft, tree, s))), None
    )


def is_imported_after_head(draft: Draft, tree: ast.Module) -> bool:
    """Whether the script imports a module, itself or by others, only after its head."""
    script = draft.module.tree
    place = head_place(draft, script)
    if place is None:
        return False
    body = script.body
    head = body.index(place.imported) if place.last is None else body.index(place.last) + 1
    return not any(_reaches(draft, m, tree, set()) for s in body[:head] for m in _modules(draft, script, s))


def _reaches(draft: Draft, module: ast.Module, other: ast.Module, seen: set[ast.Module]) -> bool:
    """Whether importing a module imports another, or is that one."""
    if module is other:
        return True
    seen.add(module)
    return any(
        m not in seen and _reaches(draft, m, other, seen)
        for s in module.body
        for m in _modules(draft, module, s)
    )


def _modules(draft: Draft, tree: ast.Module, statement: ast.stmt) -> Iterator[ast.Module]:
    """The modules of the project that a statement outside functions imports."""
    targets = draft.module.scopes.links.targets.get(tree, {})
    if not isinstance(statement, (*FUNCTIONS, ast.ClassDef)) and not is_main_guard(statement):
        for dotted in imported_paths(statement):
            if dotted in targets:
                yield targets[dotted]


def uses_at_import(draft: Draft, tree: ast.Module, seen: set[ast.Module]) -> bool:
    """Whether importing a module runs calls of TensorFlow, other than such as are harmless."""
    if tree in seen:
        return False
    seen.add(tree)
    return any(
        _calls_tensorflow(draft, s, set())
        or any(uses_at_import(draft, m, seen) for m in _modules(draft, tree, s))
        for s in tree.body
    )


def _calls_tensorflow(draft: Draft, node: ast.AST, seen: set[ast.AST]) -> bool:
    """Whether running a node calls TensorFlow, itself or by functions of the project."""
    if node in seen:
        return False
    seen.add(node)
    todo = [node]
    while todo:
        n = todo.pop()
        if isinstance(n, (*FUNCTIONS, ast.Lambda)):
            todo += [*getattr(n, "decorator_list", []), *n.args.defaults]
            continue
        if isinstance(n, ast.Call):
            names = {draft.names.of(n.func) or "", *draft.values.made_by(n)}
            callee = draft.values.callee(n)
            if any(name.startswith("tensorflow.") and not name.startswith(_HARMLESS) for name in names):
                return True
            if callee is not None and any(_calls_tensorflow(draft, s, seen) for s in _body(callee)):
                return True
        todo += ast.iter_child_nodes(n)
    return False


def _body(callee: ast.AST) -> list[ast.AST]:
    """What a call of a function or a class runs; of a class, all its methods count."""
    if isinstance(callee, ast.ClassDef):
        return [s for m in callee.body for s in (m.body if isinstance(m, FUNCTIONS) else [m])] + list(
            callee.bases
        )
    body = getattr(callee, "body", [])
    return list(body) if isinstance(body, list) else [body]


def _is_docstring(tree: ast.Module, statement: ast.stmt) -> bool:
    return (
        statement is tree.body[0]
        and isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def import_statement(draft: Draft, tree: ast.Module) -> ast.stmt | None:
    """The top-level statement of a file that brings TensorFlow in first (a `try` around its import counts as one). Of a
    project's file that does not import TensorFlow itself, its first import."""
    imports: list[ast.stmt] = [
        s for s in draft.module.tensorflow_imports if draft.module.scopes.root(s) is tree
    ]
    if len(draft.syntax.trees) > 1:
        imports += [s for s in tree.body if isinstance(s, (ast.Import, ast.ImportFrom)) and not _is_future(s)]
    for statement in imports:
        top: ast.AST = statement
        inside_function = False
        for a in draft.syntax.ancestors(statement):
            inside_function |= isinstance(a, (*FUNCTIONS, ast.ClassDef)) or is_main_guard(a)
            if not isinstance(a, ast.Module):
                top = a
        if not inside_function and isinstance(top, ast.stmt):
            return top
    return None


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _end_of_imports(draft: Draft, imported: ast.stmt, stop: ast.stmt | None) -> ast.stmt:
    """The last statement of the import block: imports go on after TensorFlow's until something is done, or `stop`."""
    body = draft.module.scopes.root(imported).body
    last = imported
    for statement in body[body.index(imported) + 1 :]:
        if statement is stop:
            break
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            last = statement
        elif not _is_preamble(draft, statement):
            break
    return last


def _is_preamble(draft: Draft, statement: ast.stmt) -> bool:
    """What may stand between imports: settings of the process. Whatever else is called may be what ranks must do alike, or one
    of them alone, and that needs Horovod begun before it."""
    if isinstance(statement, (ast.Try, ast.If)):
        inner = [s for s in ast.walk(statement) if isinstance(s, ast.stmt) and s is not statement]
        return all(isinstance(s, (ast.Import, ast.ImportFrom, ast.Pass, ast.Assign)) for s in inner)
    if not isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign)):
        return False
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            name = draft.names.of(node.func) or (node.func.id if isinstance(node.func, ast.Name) else "")
            if not name.startswith(_SETTINGS) or draft.values.callee(node) is not None:
                return False
    return True
