"""C1 import, C2 pin: Horovod is imported and initialised, and every process gets a GPU of its own.

What it does   After TensorFlow's import comes Horovod's; after the import block, before any other TensorFlow call,
               `hvd.init()`, and only `gpus[hvd.local_rank()]` stays visible, with memory growth on. Functions that other
               rules call (a rank's share of the data) are defined there too. Of a project, every file that uses Horovod
               imports it; the script that is run pins the GPU.
               Where Keras trains and it is not known which, the program stops under Keras 3, for which Horovod's own
               wrapper averages nothing; where Keras 3 is known, Horovod comes from `horovod_keras3.py` (K1).
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
import itertools
from collections.abc import Mapping, Sequence

from horovodize.plan import Decision
from horovodize.python.syntax import FUNCTIONS, is_main_guard
from horovodize.rules.beginning import keras_3, keras_session
from horovodize.rules.beginning.pinning import pin, uses_sessions
from horovodize.rules.drafting import silence
from horovodize.rules.drafting.draft import CORE, HVD, KERAS, Draft
from horovodize.rules.drafting.early_users import asks, asks_or_calls
from horovodize.rules.drafting.guards import outputs_of
from horovodize.rules.drafting.helper_places import Elsewhere, places
from horovodize.rules.drafting.helper_text import helper_lines, mentions
from horovodize.rules.drafting.import_block import answer_late_imports, head_place, is_imported_after_head
from horovodize.rules.drafting.rule import Rule
from horovodize.source import Edit
from horovodize.summary.outputs import run_by

_COMMENT = "Each process is a rank, and gets one GPU."
_QUIET = "Every rank runs what prints and draws; what the others would say is thrown away."


def apply(draft: Draft) -> None:
    """Runs last: it needs to know what the other rules used."""
    if len(draft.syntax.trees) > 1:
        _leave_mere_prints(draft)
    tf = _tensorflow(draft)
    texts = {
        tree: _written(draft, tree) + _asked_by_helpers(draft, _written(draft, tree))
        for tree in draft.syntax.trees
    }
    users = {n: [t for t, text in texts.items() if mentions(text, n)] for n in draft.helpers.values()}
    _refuse_ambiguous(draft, texts, users, tf.split(".", maxsplit=1)[0])
    elsewhere = places(draft, users)
    for tree, written in texts.items():
        made = [*draft.helpers.values(), *(draft.config_to_make or ())[:1]]
        uses = asks(written) or any(mentions(written, name) for name in made)
        if tree is draft.module.tree or uses:
            _write(draft, tree, written, tf, elsewhere.get(tree, {}))


def _leave_mere_prints(draft: Draft) -> None:
    """Takes back that prints go to rank 0 in files of a project that nothing else changes: a file more to read and to
    import Horovod in would cost more than repeated lines do."""
    script = draft.document.member_at(draft.module.span(draft.module.tree.body[0]).start)
    touched = {script}
    for change in draft.changes:
        if change.decision is not Decision.PRINTED:
            touched |= {draft.document.member_at(e.span.start) for e in change.edits}
    draft.changes = [
        c
        for c in draft.changes
        if c.decision is not Decision.PRINTED or draft.document.member_at(c.span.start) in touched
    ]


def _refuse_ambiguous(
    draft: Draft, texts: Mapping[ast.Module, str], users: Mapping[str, Sequence[ast.Module]], root: str
) -> None:
    """Refuses a project in which what TensorFlow is called in one file is something else in another, and both get code that
    says it.

    texts: what is written into each file; the script gets a head, too
    users: the files that call each helper, which may be defined there"""
    helped = {draft.module.tree, *(tree for trees in users.values() for tree in trees)}
    saying = [tree for tree, text in texts.items() if tree in helped or mentions(text, root)]
    if len(saying) == 1:
        return
    bound = [draft.module.scopes.names[tree].get(root, []) for tree in saying]
    followed = draft.module.scopes.links.followed  # `from own.backend import tf` is what that one imports
    imported = [[f.imported for b in of_file for f in followed(b) if f.kind == "import"] for of_file in bound]
    imported = [[path.removesuffix(".compat.v2") for path in of_file] for of_file in imported]  # 2 is 2
    meant = next((path for of_file in imported for path in of_file if path.startswith("tensorflow")), None)
    for of_file, paths in zip(bound, imported, strict=True):
        if meant is not None and of_file and meant not in paths:
            draft.refuse(
                "HVD006",
                of_file[0].statement,
                f"`{root}` is not the same here as in other files of the project (`{meant}`); give one of them another name",
            )


def _tensorflow(draft: Draft) -> str:
    """What TensorFlow is called in the heads: in a graph, the part of it that still has TensorFlow 1's names."""
    if not uses_sessions(draft):
        return draft.tensorflow()
    if draft.config_to_make is not None:
        return draft.config_to_make[1]
    return draft.v1(draft.sites.any_v1) if draft.helpers else ""


def _written(draft: Draft, tree: ast.Module) -> str:
    """All that rules have written into a file so far."""
    if len(draft.syntax.trees) == 1:
        return "\n".join(draft.new_text(e) for c in draft.changes for e in c.edits)
    first = tree.body[0] if tree.body else None
    if first is None:
        return ""
    index = draft.document.member_at(draft.module.span(first).start)
    edits = [e for c in draft.changes for e in c.edits if draft.document.member_at(e.span.start) == index]
    return "\n".join(draft.new_text(e) for e in edits)


def _asked_by_helpers(draft: Draft, written: str) -> str:
    """The helpers that only a helper of a file calls: the seed of `alike` is rank 0's, by `from_root`; `StopTogether` asks
    whether any rank stops."""
    asked = {"alike": draft.stream.get("seed", ""), "StopTogether": draft.helpers.get("any_rank", "")}
    used = (p for p in asked if p in draft.helpers and mentions(written, draft.helpers[p]))
    return "".join("\n" + asked[p] for p in used)


def _write(draft: Draft, tree: ast.Module, written: str, tf: str, elsewhere: Mapping[str, Elsewhere]) -> None:
    """`elsewhere`: the helpers that other files of the project define."""
    place = head_place(draft, tree)
    if place is None:
        draft.refuse(
            "HVD101",
            draft.module.tensorflow_imports[0],
            "TensorFlow is imported inside a function only; import it at the top of the module, "
            "so that Horovod can be initialised before anything uses a GPU",
        )
        return
    helpers = {
        p: n
        for p, n in draft.helpers.items()
        if (mentions(written, n) or len(draft.syntax.trees) == 1) and n not in elsewhere
    }
    pinning = pin(draft, tree, written, helpers, tf)
    guard = keras_3.guard(draft) if tree is draft.module.tree else []
    starting = [f"{HVD}.init()"] if pinning or _starts_here(draft, tree) else []
    lines = [*starting, *guard, *pinning]
    comment = _COMMENT if pinning else _COMMENT.partition(",")[0] + "."
    start = draft.lines_of(*lines, comment=comment) if lines else []
    gap = _between_functions(draft, tree)
    functions = [
        line
        for purpose, name in helpers.items()
        for line in (*gap, *_helper(draft, purpose, name, tf, tree, has_config=bool(pinning)))
    ]
    quiet, needed = _silence(draft, tree, place.last)
    body = [*start, *functions]
    imports = [
        *needed,
        *_missing_imports(draft, tree, place.last, tf, _written(draft, tree) + "\n".join(body)),
        *(_import_lines(draft, written, body) if asks(written + "\n".join(body)) or not elsewhere else ()),
        *(line for statement, line in _from_files(elsewhere) if statement is None),
    ]
    imported, last = place.imported, place.last
    if tree is draft.module.tree:
        answer_late_imports(draft, place)
    edits: tuple[Edit, ...]
    if last is None:
        blank = gap if helpers or isinstance(imported, (*FUNCTIONS, ast.ClassDef)) else [""]
        edits = (
            draft.before(imported, imports, level=-103),
            *([draft.before(imported, ["", *start], level=-102)] if start else []),
            *([draft.before(imported, [*functions, *blank], level=-100)] if body else []),
        )
        silencing = draft.before(imported, quiet, level=-101)
    else:
        blank = _blank_lines(draft, last, len(gap) if helpers else 1)
        edits = (
            draft.after(imported, imports),
            *([draft.after(last, ["", *start], level=1)] if start else []),
            *([draft.after(last, [*functions, *blank], level=3)] if functions or (start and blank) else []),
        )
        silencing = draft.after(last, quiet, level=2)
    if quiet:
        draft.change("C6", last or imported, "Leave output to rank 0", _QUIET, [silencing])
    more = [draft.after(s, [line], level=-1) for s, line in _from_files(elsewhere) if s is not None]
    draft.change(
        "C1",
        imported,
        "Import Horovod",
        "Its module follows from what the program uses.",
        [*edits[:1], *more],
    )
    what = "Initialize Horovod and give each process its own GPU" if pinning else "Initialize Horovod"
    why = "Processes learn their rank" + (", and don't allocate each other's GPUs." if pinning else ".")
    if not start:
        what, why = "Define what this file calls", "Other edits call these functions."
    if edits[1:]:
        draft.change("C2", last or imported, what, why, edits[1:])


def _helper(
    draft: Draft, purpose: str, name: str, tf: str, tree: ast.Module, *, has_config: bool
) -> list[str]:
    imported = tree is not draft.module.tree
    return helper_lines(draft, purpose, name, tf, imported=imported, has_config=has_config or not imported)


def _from_files(elsewhere: Mapping[str, Elsewhere]) -> list[tuple[ast.stmt | None, str]]:
    """The imports of helpers that other files define, each with the statement that it has to come after."""
    names: dict[Elsewhere, list[str]] = {}
    for name, place in elsewhere.items():
        if not place.with_all:
            names.setdefault(place, []).append(name)
    return [(place.after, f"from {place.path} import {', '.join(sorted(n))}") for place, n in names.items()]


# ---------------------------------------------------------------------- imports


def names(draft: Draft) -> tuple[str, str, str]:
    """What Horovod's modules are called in the files: (any of them, the Keras one, TensorFlow's)."""
    hvd = draft.fresh("hvd")
    if draft.keras_3 or not draft.uses(CORE):
        return hvd, hvd, hvd
    if _is_of_keras_alone(draft):
        return hvd, hvd, draft.fresh(f"{hvd}_tensorflow")
    return hvd, draft.fresh(f"{hvd}_keras") if draft.uses(KERAS) else hvd, hvd


def _is_of_keras_alone(draft: Draft) -> bool:
    """Whether what any of Horovod's modules has must be that of `horovod.keras`: its optimizer and its callbacks work on the
    session of the package Keras, others don't."""
    standalone = keras_session.is_wanted(draft) and keras_session.uses_standalone_keras(draft)
    return standalone and bool(draft.sites.fits)


def _import_lines(draft: Draft, written: str, body: list[str]) -> list[str]:
    if draft.keras_3:
        return [f"import {keras_3.MODULE} as {HVD}"]
    text = written + "\n".join(body)
    core, keras = draft.uses(CORE) or CORE in text, draft.uses(KERAS) or KERAS in text
    if _is_of_keras_alone(draft):
        lines = {
            f"import horovod.keras as {HVD}": HVD in text or KERAS in text,
            f"import horovod.tensorflow as {CORE}": CORE in text,
        }
        return [line for line, wanted in lines.items() if wanted]
    if core and keras:
        lines = {
            f"import horovod.tensorflow as {CORE}": HVD in text or CORE in text,
            f"import horovod.tensorflow.keras as {KERAS}": KERAS in text,
        }
        return [line for line, wanted in lines.items() if wanted]
    if core or not draft.sites.fits:
        return [f"import horovod.tensorflow as {HVD}"]
    return [f"import horovod.tensorflow.keras as {HVD}"]


def _starts_here(draft: Draft, tree: ast.Module) -> bool:
    """Whether a file initialises Horovod: the script does, and a module that asks for ranks when it is imported, unless the
    script has begun before that."""
    if tree is draft.module.tree:
        return True
    if is_imported_after_head(draft, tree):
        return False
    index = draft.document.member_at(draft.module.span(tree.body[0]).start)
    others = [t for t in draft.syntax.trees if t is not draft.module.tree]
    imported = run_by(draft.module, [s for t in others for s in t.body if not is_main_guard(s)])
    functions = [n for n in ast.walk(tree) if isinstance(n, FUNCTIONS)]
    for change in draft.changes:
        for edit in change.edits:
            at = edit.span.start
            if draft.document.member_at(at) != index or not asks_or_calls(draft, edit):
                continue
            # In its body: what is the default of a parameter, or decorates, runs with the file.
            around = [
                f for f in functions if draft.module.span(f.body[0]).start <= at <= draft.module.span(f).end
            ]
            if not around or any(f in imported for f in around):
                return True
    return False


def _silence(draft: Draft, tree: ast.Module, last: ast.stmt | None) -> tuple[list[str], list[str]]:
    """What silences the ranks other than 0, in the script that is run, and the imports for it."""
    outputs = outputs_of(draft)
    if not outputs.silenced or tree is not draft.module.tree:
        return [], []
    return silence.statement(draft, outputs, last)


def _missing_imports(draft: Draft, tree: ast.Module, last: ast.stmt | None, tf: str, text: str) -> list[str]:
    """Imports that the inserted code needs and the file does not have."""
    lines = list(draft.extra_imports) if len(draft.syntax.trees) == 1 else []
    root = tf.split(".", maxsplit=1)[0]
    if root and mentions(text, root) and not any(line.endswith(f" as {root}") for line in lines):
        bindings = draft.module.scopes.names[tree].get(root, [])
        end = (last.end_lineno or last.lineno, 1 << 20) if last is not None else (0, 0)
        bound = any(b.kind == "import" and (getattr(b.statement, "lineno", 0), 0) <= end for b in bindings)
        if not bound:
            known = next((b.imported for b in draft.module.scopes.imports if b.name == root), "tensorflow")
            lines.append(f"import {known}" if known == root else f"import {known} as {root}")
    if len(draft.syntax.trees) > 1:
        lines += [
            line for line in draft.extra_imports if line not in lines and mentions(text, line.split()[-1])
        ]
    return lines


# ---------------------------------------------------------------------- lines


def _between_functions(draft: Draft, tree: ast.Module) -> list[str]:
    """The blank lines before and after a function: two, one where a file with functions and classes never has two."""
    text, starts = draft.document.text, draft.document.lines.starts
    lines = itertools.pairwise([*starts[tree.body[0].lineno - 1 : tree.body[-1].end_lineno], len(text)])
    blank = [not text[start:end].strip() for start, end in lines]
    defined = [s for s in tree.body[1:] if isinstance(s, (*FUNCTIONS, ast.ClassDef))]
    return [""] if defined and not any(map(all, itertools.pairwise(blank))) else ["", ""]


def _blank_lines(draft: Draft, last: ast.stmt, wanted: int) -> list[str]:
    """What keeps the inserted block apart from the code that follows: so many blank lines."""
    index = draft.document.lines
    line, blank = last.end_lineno or last.lineno, 0
    while line + blank < len(index) and not index.content(line + blank).strip():
        blank += 1
    return [""] * (wanted - blank) if line + blank < len(index) else []


__all__ = ["PIN", "RULE", "head_place", "names"]

RULE = Rule("C1", "import and initialise Horovod", apply, __doc__ or "")
PIN = Rule("C2", "pin a GPU to each process", None, __doc__ or "")
