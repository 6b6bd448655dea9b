"""One statement that keeps the other ranks quiet, instead of a guard around each that prints. Part of C6.

What they print goes to the null device, and Matplotlib gets a backend without windows. What writes files is still guarded one
by one, and so is what prints by other ways: to `sys.stderr`, by TensorFlow's own `tf.print`, into a notebook's cells."""

from __future__ import annotations

import ast

from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import ON_ROOT, RANK, Draft
from horovodize.summary.effects import draws_alone
from horovodize.summary.outputs import Outputs

FEW = 3  # up to so many statements that print or draw, a guard around each is less to read
_LINES = 2 * FEW  # unless they are long ones: a guard moves each of their lines
_BACKENDS = {"matplotlib.use", "matplotlib.pyplot.switch_backend", "pylab.switch_backend"}
_PYPLOT = ("matplotlib.pyplot", "pylab")


def is_wanted(draft: Draft, outputs: Outputs) -> bool:
    """Whether the other ranks are silenced at the start: the user says so, or more than a few statements speak. Never where the
    program itself puts another stream in the place of `sys.stdout`, chooses the windows' backend, or draws what it reads."""
    if draft.options.elastic:
        return False  # another rank may become rank 0
    if draft.options.output == "guard" or _is_replaced(draft) or _draws_files(draft, outputs):
        return False
    speaking = _speaking(draft, outputs)
    if draft.options.output == "silence":
        return bool(speaking)
    return len(speaking) > FEW or _lines_of_guards(draft, speaking) > _LINES


def _speaking(draft: Draft, outputs: Outputs) -> set[ast.stmt]:
    """The statements that only print or draw, on ranks that are known."""
    spoken = outputs.effects.output_calls
    speaking = [*_drawing(outputs), *filter(spoken.speaks, spoken.candidates)]
    return {draft.syntax.statement(call) for call in speaking if not outputs.is_early(call)}


def _lines_of_guards(draft: Draft, speaking: set[ast.stmt]) -> int:
    """How many lines guards around statements would add or move: neighbours share one, and the test of an `if` around nothing
    else takes it in."""
    lines, blocks = 0, dict[ast.stmt, list[ast.stmt]]()
    for statement in speaking:
        block = draft.syntax.block(statement)
        blocks[block[0]] = block
    for block in blocks.values():
        around = draft.syntax.parent.get(block[0])
        if isinstance(around, ast.If) and not around.orelse and all(s in speaking for s in block):
            lines += 1
            continue
        for before, s in zip([None, *block], block, strict=False):
            if s in speaking:
                lines += (before not in speaking) + (s.end_lineno or s.lineno) - s.lineno + 1
    return lines


def _drawing(outputs: Outputs) -> list[ast.Call]:
    """The calls that draw into Matplotlib's current figure, each a statement."""
    syntax, plots = outputs.module.syntax, outputs.effects.plots
    return [c for c in outputs.module.calls_which(draws_alone) if plots(syntax.statement(c))]


def _draws_files(draft: Draft, outputs: Outputs) -> bool:
    """Whether something is drawn from a file: only rank 0 may have it."""
    return any(map(outputs.effects.output_calls.reads_files, _drawing(outputs)))


def _is_replaced(draft: Draft) -> bool:
    if draft.module.which(_sets_stdout, ast.Attribute):
        return True
    return not all(map(_is_windowless, draft.module.calls_of(*_BACKENDS)))


def _sets_stdout(module: Module, n: ast.Attribute) -> bool:
    return (
        n.attr == "stdout" and isinstance(n.ctx, (ast.Store, ast.Del)) and module.names.of(n) == "sys.stdout"
    )


def _is_windowless(call: ast.Call) -> bool:
    backend = argument(call, "backend", 0) or argument(call, "newbackend")
    return (
        isinstance(backend, ast.Constant)
        and isinstance(backend.value, str)
        and backend.value.lower() in ("agg", "pdf", "svg", "ps", "cairo")
    )


def statement(draft: Draft, outputs: Outputs, last: ast.stmt | None) -> tuple[list[str], list[str]]:
    """The lines that silence, and the imports that they need: not those up to `last`, a statement of the script's block of
    imports.

    (The stream replaces what it can't encode: `PYTHONIOENCODING` may be set for the terminal alone.)"""
    imported, imports = _imported(draft, last), list[str]()

    def name(module: str) -> str:
        if module not in imported:
            bound = draft.module.scopes.names[draft.module.tree].get(module, [])
            free = all(b.kind == "import" and b.imported == module for b in bound)
            imported[module] = module if free else draft.fresh(module)
            imports.append(f"import {module}" + ("" if free else f" as {imported[module]}"))
        return imported[module]

    nowhere = f"{imported['os']}.devnull" if "os" in imported else draft.quoted("/dev/null")
    null = f"{nowhere}, {draft.quoted('w')}, errors={draft.quoted('replace')}"
    stream = f"{name('sys')}.stdout"
    if not outputs.effects.output_calls.has_windows:
        return [f"{stream} = {stream} if {ON_ROOT} else open({null})"], imports
    pyplot = next((imported[p] for p in _PYPLOT if p in imported), None)
    use = f"{pyplot}.switch_backend" if pyplot is not None else f"{name('matplotlib')}.use"
    return [f"if {RANK} != 0:", f"    {stream} = open({null})", f"    {use}({draft.quoted('Agg')})"], imports


def _imported(draft: Draft, last: ast.stmt | None) -> dict[str, str]:
    """What modules are called after a statement of the script ("os" → "os"), as far as that is sure."""
    tree = draft.module.tree
    if last is None:
        return {}
    return {
        b.imported: b.name
        for b in draft.module.scopes.imports
        if isinstance(b.statement, ast.Import)
        and b.statement in tree.body
        and b.statement.lineno <= last.lineno
        and len(draft.module.scopes.names[tree][b.name]) == 1
    }
