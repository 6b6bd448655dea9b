"""What the quick fixes of HVD3xx share: Horovod's name in a script, and the edits that several of them make."""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument, arguments, has_unpacking
from horovodize.restrictions.aliased_member import whole_lines
from horovodize.restrictions.context import Context
from horovodize.restrictions.violation import Fix
from horovodize.source import Edit, Span

_OURS = "horovod_keras3"  # has what both of Horovod's modules have
_TENSORFLOWS = ("horovod.tensorflow", "horovod.tensorflow.keras", "horovod.keras", _OURS)
_KERAS = _TENSORFLOWS[1:]
_WRAPPERS_OF_TAPES = ("horovod.tensorflow", _OURS)
BINDING_TIGHTER = (ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Call)


def horovod(context: Context, *modules: str) -> str | None:
    """The name by which a script calls Horovod's module everywhere, of these modules or any of TensorFlow's; None without
    one."""
    top = {*context.syntax.tree.body}
    found = [
        b.name
        for b in context.scopes.imports
        if b.imported in (modules or _TENSORFLOWS) and b.statement in top and "." not in b.name
    ]
    names = [name for name in found if context.names.last(ast.Name(name)) and _is_never_set(context, name)]
    return names[0] if names else None


def keras(context: Context) -> str | None:
    """The same of a module that has callbacks and `load_model`."""
    return horovod(context, *_KERAS)


def tapes(context: Context) -> str | None:
    """The same of the module that wraps tapes."""
    return horovod(context, *_WRAPPERS_OF_TAPES)


def _is_never_set(context: Context, name: str) -> bool:
    set_here = any(n.id == name and not isinstance(n.ctx, ast.Load) for n in context.syntax.every(ast.Name))
    return not set_here and not any(a.arg == name for a in context.syntax.every(ast.arg))


def times_size(context: Context, number: ast.expr) -> tuple[Edit, ...] | None:
    """Multiplies a number by the number of ranks."""
    name = horovod(context)
    if name is None:
        return None
    before, after = ("", "") if _binds(number) else ("(", ")")
    return Edit.around(context.module.span(number), before, f"{after} * {name}.size()")


def _binds(number: ast.expr) -> bool:
    """Whether a number can stand in a product without parentheses."""
    is_product = isinstance(number, ast.BinOp) and isinstance(number.op, (ast.Mult, ast.Div))
    return is_product or isinstance(number, BINDING_TIGHTER)


def without_size(context: Context, rate: ast.expr) -> tuple[Edit, ...] | None:
    """Takes one `* hvd.size()` out of a product that is written here."""
    use = context.facts.horovod
    for node in ast.walk(rate):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            continue
        for size, other in ((node.right, node.left), (node.left, node.right)):
            if use.is_call(size, "size"):
                text = context.document.source(other)
                return (Edit(context.module.span(node), text if _binds(other) else f"({text})"),)
    return None


def wrapped(context: Context, e: ast.expr, wrapper: str, name: str | None) -> tuple[Edit, ...] | None:
    """Puts one of Horovod's wrappers around an expression that is written on one line, or in parentheses anyway."""
    return None if name is None else Edit.around(context.module.span(e), f"{name}.{wrapper}(", ")")


def by_rank_0(context: Context, call: ast.Call) -> Fix | None:
    """Lets rank 0 alone do what a statement is for: one that is a call, and gives nothing that is used."""
    name, statement = horovod(context), context.syntax.statement(call)
    if name is None or not isinstance(statement, ast.Expr) or statement.value is not call:
        return None
    if not stands_alone(context, statement):
        return None
    document, start = context.document, context.module.span(statement).start
    inner = document.newline + document.indentation(statement) + document.indent_unit
    return Fix("Let rank 0 do it alone", (Edit.insert(start, f"if {name}.rank() == 0:{inner}"),))


def stands_alone(context: Context, statement: ast.stmt) -> bool:
    """Whether nothing else but a comment stands on the lines of a statement."""
    lines, text = context.document.lines, context.document.text
    end = context.module.span(statement).end
    rest = text[end : lines.span(lines.line_of(end)).end].strip()
    return context.document.starts_line(statement) and (not rest or rest.startswith("#"))


def with_callback(context: Context, fit: ast.Call, callback: str, title: str) -> Fix | None:
    """Gives a `fit` one of Horovod's callbacks as its first, where its list is written out or there is none."""
    name = keras(context)
    given = argument(fit, "callbacks")
    if name is None or has_unpacking(fit) or len(fit.args) > 5:
        return None
    text = f"{name}.callbacks.{callback}"
    if given is None:
        (*_, last) = sorted(arguments(fit), key=lambda e: (e.end_lineno, e.end_col_offset))
        return Fix(title, (Edit.insert(context.module.span(last).end, f", callbacks=[{text}]"),))
    listed = _written_out(context, given)
    return Fix(title, (_first_in(context, listed, text),)) if listed is not None else None


def _written_out(context: Context, given: ast.expr) -> ast.List | None:
    """The only list that an expression stands for."""
    if isinstance(given, ast.List):
        return given
    origins = context.values.origins(given)
    bindings = context.scopes.reaching(given) if isinstance(given, ast.Name) else ()
    made = [b.value for b in bindings if b.kind == "assign" and not b.path]
    if len(origins) == 1 and len(made) == 1 == len(bindings) and isinstance(made[0], ast.List):
        return made[0]
    return None


def _first_in(context: Context, listed: ast.List, text: str) -> Edit:
    start = context.module.span(listed).start + 1
    if not listed.elts:
        return Edit.insert(start, text)
    first = context.module.span(listed.elts[0]).start
    line = context.document.lines.line_of(first)
    between = "" if line == context.document.lines.line_of(start) else context.document.newline
    indent = context.document.lines.content(line)[: first - context.document.lines.starts[line]]
    return Edit.insert(first, f"{text},{between}{indent}" if between else f"{text}, ")


def before_item(context: Context, item: ast.expr, text: str) -> tuple[Edit, ...] | None:
    """Puts another callback before one: in the list in which it stands, or before the statement that appends it."""
    parent = context.syntax.parent.get(item)
    if isinstance(parent, ast.List):
        span, lines = context.module.span(item), context.document.lines
        line = lines.line_of(span.start)
        head = context.document.text[lines.starts[line] : span.start]
        apart = f",{context.document.newline}{head}" if not head.strip() else ", "
        return (Edit.insert(span.start, text + apart),)
    statement = context.syntax.statement(item)
    appended = isinstance(parent, ast.Call) and isinstance(statement, ast.Expr) and statement.value is parent
    if appended and isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        if parent.func.attr == "append" and stands_alone(context, statement):
            listed = context.document.source(parent.func.value)
            start = context.module.span(statement).start
            after = context.document.newline + context.document.indentation(statement)
            return (Edit.insert(start, f"{listed}.append({text}){after}"),)
    return None


def without_item(context: Context, item: ast.expr) -> tuple[Edit, ...] | None:
    """Takes a callback out of the list in which it stands, or its `append` out of the script."""
    parent, statement = context.syntax.parent.get(item), context.syntax.statement(item)
    if isinstance(parent, ast.List):
        at = parent.elts.index(item)
        if at:
            return (
                Edit(Span(context.module.span(parent.elts[at - 1]).end, context.module.span(item).end), ""),
            )
        return None
    if (
        isinstance(statement, ast.Expr)
        and statement.value is parent
        and len(context.syntax.block(statement)) > 1
    ):
        lines = whole_lines(context, statement)
        return (Edit(lines, ""),) if lines is not None else None
    return None
