"""C1 import, C2 pin: Horovod is imported and initialised, and every process gets a GPU of its own.

What it does   After TensorFlow's import comes Horovod's; after the import block, before any other TensorFlow call,
               `hvd.init()`, and only `gpus[hvd.local_rank()]` stays visible, with memory growth on. Functions that other
               rules call (a rank's share of the data) are defined there too.
Why            Without `init` nothing knows its rank; without pinning every process of a host allocates every GPU.
Before         import tensorflow as tf
After          import tensorflow as tf
               import horovod.tensorflow.keras as hvd

               hvd.init()
               gpus = tf.config.experimental.list_physical_devices("GPU")
               for gpu in gpus:
                   tf.config.experimental.set_memory_growth(gpu, True)
               if gpus:
                   tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], "GPU")
Leaves alone   Names that the file uses already: `hvd`, `gpus` or `gpu` then get another name.
Refuses        A file that imports TensorFlow only inside functions (HVD101): there is no place that surely comes first.
Source         Seed 2.3.1, import statements. Errata: the seed puts statements between the imports, and always imports
               `horovod.tensorflow`, which has no `callbacks`; here the module follows from what the program uses, and
               where it needs both (`callbacks` and `broadcast_variables`) both are imported under two names.
"""

from __future__ import annotations

import ast

from horovodize.rules import keras_session
from horovodize.rules.draft import CORE, HVD, KERAS, LOCAL_RANK, Draft
from horovodize.rules.helpers import helper_lines
from horovodize.rules.rule import Rule
from horovodize.summary.syntax import FUNCTIONS


def apply(draft: Draft) -> None:
    """Runs last: it needs to know what the other rules used."""
    imported = import_statement(draft)
    if imported is None:
        draft.refuse(
            "HVD101",
            draft.module.tensorflow_imports[0],
            "TensorFlow is imported inside a function only; import it at the top of the module, "
            "so that Horovod can be initialised before anything uses a GPU",
        )
        return
    last = end_of_imports(draft, imported)
    tf = _bound_tensorflow(draft, last)
    lines = [*draft.extra_imports, *_import_lines(draft)]
    draft.change(
        "C1",
        imported,
        "Import Horovod",
        "Its module follows from what the program uses.",
        [draft.after(imported, lines)],
    )
    body = _head(draft, tf)
    draft.change(
        "C2",
        last,
        "Initialise Horovod and give each process a GPU of its own",
        "Processes learn their rank, and do not allocate each other's GPUs.",
        [draft.after(last, ["", *body, *_blank_lines(draft, last)], level=1)],
    )


def names(draft: Draft) -> tuple[str, str]:
    """What Horovod's modules are called in this file: (hvd, the Keras one)."""
    hvd = draft.fresh("hvd")
    both = draft.uses(CORE) and draft.uses(KERAS)
    return hvd, draft.fresh(f"{hvd}_keras") if both else hvd


def _import_lines(draft: Draft) -> list[str]:
    if draft.uses(CORE) and draft.uses(KERAS):
        return [f"import horovod.tensorflow as {CORE}", f"import horovod.tensorflow.keras as {KERAS}"]
    if draft.uses(CORE) or not draft.sites.fits:
        return [f"import horovod.tensorflow as {HVD}"]
    if keras_session.is_wanted(draft) and keras_session.uses_standalone_keras(draft):
        return [f"import horovod.keras as {HVD}"]
    return [f"import horovod.tensorflow.keras as {HVD}"]


def _head(draft: Draft, tf: str) -> list[str]:
    lines = draft.lines_of(
        f"{HVD}.init()",
        *(_pin_sessions(draft) if _uses_sessions(draft) else _pin_process(draft, tf)),
        comment="Horovod: initialize, and pin one GPU to each process.",
    )
    for purpose, name in draft.helpers.items():
        lines += ["", "", *helper_lines(draft, purpose, name, tf)]
    return lines


def _pin_process(draft: Draft, tf: str) -> list[str]:
    gpus, gpu = draft.fresh("gpus"), draft.fresh("gpu")
    kind = draft.quoted("GPU")
    return [
        f"{gpus} = {tf}.config.experimental.list_physical_devices({kind})",
        f"for {gpu} in {gpus}:",
        f"    {tf}.config.experimental.set_memory_growth({gpu}, True)",
        f"if {gpus}:",
        f"    {tf}.config.experimental.set_visible_devices({gpus}[{LOCAL_RANK}], {kind})",
    ]


def _pin_sessions(draft: Draft) -> list[str]:
    """In TensorFlow 1 a session is told its GPU (S3); nothing, where the user's own configs are pinned."""
    if draft.config_to_make is None:
        return []
    config, v1 = draft.config_to_make
    return [
        f"{config} = {v1}.ConfigProto()",
        f"{config}.gpu_options.allow_growth = True",
        f"{config}.gpu_options.visible_device_list = str({LOCAL_RANK})",
        *(keras_session.set_session(draft) if keras_session.is_wanted(draft) else ()),
    ]


def _uses_sessions(draft: Draft) -> bool:
    """Whether a GPU is chosen by sessions, as in TensorFlow 1, rather than by `tf.config`."""
    return draft.in_graph or keras_session.is_wanted(draft)


def import_statement(draft: Draft) -> ast.stmt | None:
    """The top-level statement that brings TensorFlow in first (a `try` around its import counts as one)."""
    for statement in draft.module.tensorflow_imports:
        top: ast.AST = statement
        inside_function = False
        for a in draft.syntax.ancestors(statement):
            inside_function |= isinstance(a, (*FUNCTIONS, ast.ClassDef)) or _is_main_guard(a)
            if not isinstance(a, ast.Module):
                top = a
        if not inside_function and isinstance(top, ast.stmt):
            return top
    return None


def _bound_tensorflow(draft: Draft, last: ast.stmt) -> str:
    """What TensorFlow is called in the head, where it is imported if it is not yet."""
    if not _uses_sessions(draft):
        tf = draft.tensorflow()
        if not _is_bound_by(draft, tf, last):
            draft.extra_imports.append(f"import tensorflow as {tf}")
        return tf
    if draft.config_to_make is None and not draft.helpers:
        return ""
    v1 = draft.config_to_make[1] if draft.config_to_make else draft.v1(draft.sites.any_v1)
    root = v1.split(".")[0]
    if not _is_bound_by(draft, root, last):
        imported = next((b.imported for b in draft.module.scopes.imports if b.name == root), "tensorflow")
        draft.extra_imports.append(f"import {imported} as {root}")
    return v1


def _is_bound_by(draft: Draft, tf: str, last: ast.stmt) -> bool:
    """Whether the import block binds a name that stands for TensorFlow (or the lines that are inserted there will)."""
    if any(line.endswith(f" as {tf}") for line in draft.extra_imports):
        return True
    bindings = draft.module.scopes.names[draft.module.tree].get(tf, [])
    end = (last.end_lineno or last.lineno, 1 << 20)
    return any(b.kind == "import" and (b.statement.lineno, 0) <= end for b in bindings)  # type: ignore[attr-defined]


def _is_main_guard(node: ast.AST) -> bool:
    """`if __name__ == "__main__":`"""
    return isinstance(node, ast.If) and "__name__" in {
        n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)
    }


def end_of_imports(draft: Draft, imported: ast.stmt) -> ast.stmt:
    """The last statement of the import block: imports go on after TensorFlow's until something is done."""
    body = draft.module.tree.body
    last = imported
    for statement in body[body.index(imported) + 1 :]:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            last = statement
        elif not _is_preamble(draft, statement):
            break
    return last


def _is_preamble(draft: Draft, statement: ast.stmt) -> bool:
    """What may stand between imports: settings of the process that do not touch TensorFlow."""
    if isinstance(statement, (ast.Try, ast.If)):
        inner = [s for s in ast.walk(statement) if isinstance(s, ast.stmt) and s is not statement]
        return all(isinstance(s, (ast.Import, ast.ImportFrom, ast.Pass, ast.Assign)) for s in inner)
    if not isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign)):
        return False
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            name = draft.names.of(node.func) or ""
            if name.startswith(("tensorflow", "horovod")) or draft.values.callee(node) is not None:
                return False
    return True


def _blank_lines(draft: Draft, last: ast.stmt) -> list[str]:
    """What keeps the inserted block apart from the code that follows: one blank line, two after a function."""
    index, wanted = draft.document.lines, 2 if draft.helpers else 1
    line, blank = last.end_lineno or last.lineno, 0
    while line + blank < len(index) and not index.content(line + blank).strip():
        blank += 1
    return [""] * (wanted - blank) if line + blank < len(index) else []


RULE = Rule("C1", "import and initialise Horovod", apply, __doc__ or "")
PIN = Rule("C2", "pin a GPU to each process", lambda draft: None, __doc__ or "")
