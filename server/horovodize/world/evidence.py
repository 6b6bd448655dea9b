"""What a script itself shows of the Keras that it means."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from horovodize.world.world import Keras

if TYPE_CHECKING:
    from horovodize.python.module import Module
    from horovodize.summary import ModuleSummary

LEGACY_VARIABLE = "TF_USE_LEGACY_KERAS"
# Modules that came with Keras 3. (What only earlier ones have proves nothing: scripts for both have it behind a condition.)
_NEW = ("tensorflow.keras.ops.", "tensorflow.keras.random.", "tensorflow.keras.config.",
        "tensorflow.keras.distribution.", "tensorflow.keras.dtype_policies.")  # fmt: skip
# Modules of Keras that TensorFlow has under a shorter name, too.
_SHORTS = ("optimizers", "losses", "metrics", "initializers")
_SHORT = re.compile(rf"\b({'|'.join(_SHORTS)})\b")
_MAY_BE_NEW = re.compile(r"\b(ops|random|config|distribution|dtype_policies)\b")


def uses_standalone_keras(summary: ModuleSummary) -> bool:
    """Whether a script's Keras is the package of its own, not TensorFlow's."""
    module = summary.module
    return module is not None and module.imports("keras") and not module.imports("tensorflow.keras")


def uses_keras(module: Module) -> bool:
    """Whether a script uses Keras, under whichever name: `tf.optimizers.Adam` is Keras', too."""
    text = module.document.text
    if "keras" in text or not _SHORT.search(text):
        return "keras" in text
    named = (
        module.names.of(node) or "" for node in module.syntax.every(ast.Attribute) if node.attr in _SHORTS
    )
    return any(f"{name}.".startswith("tensorflow.keras.") for name in [*named, *_used(module)])


def evidence_of(summary: ModuleSummary) -> tuple[Keras, str] | None:
    """The Keras that a script proves that it means, and by what; None where it proves nothing."""
    module = summary.module
    if module is None:
        return None
    if _asks_for_legacy(module) and not uses_standalone_keras(summary):
        return Keras.LEGACY, f"the script sets {LEGACY_VARIABLE}"
    if module.imports("tf_keras"):
        return Keras.LEGACY, "the script imports `tf_keras`"
    if _MAY_BE_NEW.search(summary.document.text):
        new = next((name for name in _used(module) if name.startswith(_NEW)), "")
        if new:
            return Keras.THREE, f"the script uses `{new.removeprefix('tensorflow.').rstrip('.')}`"
    return None


def _used(module: Module) -> list[str]:
    """Canonical names of what is imported and of what is called."""
    from horovodize import catalogue

    imported = (
        catalogue.canonical(path) + "."
        for path in module.imported
        if path.startswith(("keras", "tensorflow"))
    )
    return [*sorted(imported), *sorted(name for name in list(module.calls) if module.calls.get(name))]


# ---------------------------------------------------------------------- environment variables


def _variables_set(module: Module) -> list[tuple[ast.stmt, ast.expr]]:
    """The statements outside functions that set a variable of the environment by its name, and to what."""
    found: list[tuple[ast.stmt, ast.expr]] = []
    for statement in module.tree.body:
        if isinstance(statement, ast.Assign) and _key(statement):
            found.append((statement, statement.value))
        elif isinstance(statement, ast.Expr) and _key(statement):
            assert isinstance(statement.value, ast.Call)
            found.append((statement, statement.value.args[1]))
    return found


def _key(statement: ast.stmt) -> str:
    """The variable that a statement sets: `os.environ["NAME"] = …`, `os.environ.setdefault("NAME", …)`."""
    key: ast.expr | None = None
    match statement:
        case ast.Assign(
            targets=[ast.Subscript(value=ast.Attribute(attr="environ") | ast.Name(id="environ"), slice=key)]
        ):
            pass
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="setdefault" | "putenv"), args=[key, _])):
            pass
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def legacy_settings(module: Module) -> list[tuple[ast.stmt, bool]]:
    """The statements that ask for legacy Keras, and whether each comes before TensorFlow and Keras are imported."""
    imports = [s.lineno for s in module.tensorflow_imports]
    return [
        (statement, not imports or statement.lineno < min(imports))
        for statement, value in _variables_set(module)
        if _key(statement) == LEGACY_VARIABLE
        and isinstance(value, ast.Constant)
        and str(value.value) in ("1", "True", "true")
    ]


def _asks_for_legacy(module: Module) -> bool:
    return any(in_time for _, in_time in legacy_settings(module))
