"""What may have to run before TensorFlow is imported, and where a script that imports it late begins to use it."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import is_main_guard
from horovodize.source.nodes import walk

# By these a program tells a library something that it looks at when it is imported.
_MATTERS = (
    "environ", "putenv", "setenv", "path", "chdir", "filterwarnings", "simplefilter", "install", "system", "stdout", "stderr",
)  # fmt: skip


def may_matter(statement: ast.stmt) -> bool:
    """Whether an import behind a statement may depend on it."""
    return any(
        isinstance(n, ast.Attribute) and n.attr in _MATTERS or isinstance(n, ast.Name) and n.id in _MATTERS
        for n in walk(statement)
    )


def importing_guard(module: Module) -> ast.If | None:
    """The `if __name__ == "__main__":` of a script under which it imports TensorFlow first. None where it does so elsewhere, or
    where what stands there before the import may matter to it."""
    imports = [s for s in module.tensorflow_imports if module.scopes.root(s) is module.tree]
    guard = module.syntax.parent[imports[0]] if imports else None
    if guard not in module.tree.body or not isinstance(guard, ast.If) or not is_main_guard(guard):
        return None
    if imports[0] not in guard.body or any(map(may_matter, guard.body[: guard.body.index(imports[0])])):
        return None
    return guard
