"""Lists of callbacks and hooks that a call is given: what is in them, putting something first, leaving one to rank 0."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from horovodize.python.syntax import CALLABLES
from horovodize.rules.drafting.draft import KERAS, LINE, ON_ROOT, Draft
from horovodize.rules.drafting.guards import Guards, outputs_of
from horovodize.source import Edit, Span

_LISTS = (ast.List, ast.Tuple, ast.BinOp, ast.ListComp)
# Given the elements of a new list: what to pass, and the edits that make it.
MakeList = Callable[[list[str]], tuple[str, list[Edit]]]


def in_place(elements: list[str]) -> tuple[str, list[Edit]]:
    """A new list, written where it is passed."""
    return f"[{', '.join(elements)}]", []


def extended(
    draft: Draft, given: ast.expr, first: Sequence[str], base: str, make: MakeList, through: str = ""
) -> list[Edit]:
    """The user's elements after `first`: a literal list is extended, anything else is taken into a new list.

    base     canonical name of the class of which a single element is an instance
    make     makes the new list for a name
    through  a function that gives what is to be taken of a list that is no literal, or of None"""
    if make is not in_place and not through and (literal := _only_for(draft, given)) is not None:
        given = literal
    joined = ", ".join(first)
    span = draft.module.span(given)
    if isinstance(given, (ast.List, ast.Tuple)):
        if isinstance(given, ast.Tuple) and draft.document.text[span.start] != "(":
            return list(Edit.around(span, f"[{joined}, *(", ")]", -1))
        if not given.elts:
            one = "," if isinstance(given, ast.Tuple) and len(first) == 1 else ""
            return [Edit.insert(span.start + 1, joined + one)]
        head = given.elts[0]
        at = draft.module.span(head)
        line = draft.document.lines.content(head.lineno - 1)
        lead = line[: len(line) - len(line.lstrip())]
        if head.lineno > given.lineno:  # one element a line, as the user has them
            separator = f",{draft.newline}{lead}"
            return [Edit.insert(at.start, separator.join(first) + separator, at, -1)]
        leading = _leading(draft, given, first)
        return [Edit.insert(at.start, leading, at, -1), *_each_on_its_line(draft, given, leading)]
    kind = kind_of(draft, given, base)
    if isinstance(given, (ast.Name, ast.Attribute)) and kind != "element":
        users = draft.module.text(given) if kind == "list" else f"({draft.module.text(given)} or [])"
        users = f"{through}({draft.module.text(given)})" if through else users
        value, edits = make([*first, f"*{users}"])
        return [*edits, Edit(span, value)]
    before = f"[{_leading(draft, given, first)}"
    if through and kind != "element":
        return list(Edit.around(span, f"{before}*{through}(", ")]", -1))
    if kind == "list":
        return list(Edit.around(span, f"{before}*", "]", -1))
    if kind == "element":
        return list(Edit.around(span, before, "]", -1))
    return list(Edit.around(span, f"{before}*(", " or [])]", -1))


def _leading(draft: Draft, given: ast.expr, first: Sequence[str]) -> str:
    """What comes first in a list, with what separates it from the user's: on lines of their own where several would make the
    line a long one."""
    line = draft.document.lines.content(given.lineno - 1)
    joined = ", ".join(first) + ", "
    if len(first) == 1 or len(line) + len(joined.replace(KERAS, "hvd")) <= LINE:
        return joined
    own = draft.newline + line[: len(line) - len(line.lstrip())] + draft.unit
    return "".join(f"{own}{element}," for element in first) + own


def _each_on_its_line(draft: Draft, given: ast.List | ast.Tuple, leading: str) -> list[Edit]:
    """Puts the user's elements on lines of their own as well, where those before them have some."""
    own = leading[leading.rindex(",") + 1 :]
    if own.isspace() and draft.newline in own and given.elts[-1].end_lineno == given.lineno:
        text, starts = draft.document.text, [draft.module.span(e).start for e in given.elts[1:]]
        spaces = [(len(text[:at].rstrip(" ")), at) for at in starts]
        return [Edit(Span(begin, end), own) for begin, end in spaces if text[begin - 1] == ","]
    return []


def _only_for(draft: Draft, given: ast.expr) -> ast.List | None:
    """The literal list that a name stands for which is only appended to and passed once, as often as it is made: what is put
    first can stand in it. (Horovod's callbacks broadcast once; two `fit`s need two of them.)"""
    if not isinstance(given, ast.Name) or draft.options.elastic:
        return None
    scopes, syntax = draft.module.scopes, draft.syntax
    bindings = scopes.reaching(given)
    made = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
    if not isinstance(made, ast.List) or bindings[0].path:
        return None
    function, scope = syntax.function(given), scopes.lookup(given.id, given)
    same = [n for n in syntax.every(ast.Name) if n.id == given.id and scopes.lookup(n.id, n) is scope]
    of_one_file = function is not None or len(syntax.trees) == 1
    others = [n for n in same if n is not given and not _is_receiver(draft, n, ("append", "extend"))]
    set_once = len(others) == 1 and isinstance(others[0].ctx, ast.Store)
    if not set_once or not of_one_file or outputs_of(draft).is_early(made):
        return None
    alike = syntax.function(made) is function and syntax.loops(made) == syntax.loops(given)
    return made if alike else None


def _is_receiver(draft: Draft, name: ast.Name, methods: Sequence[str]) -> bool:
    """Whether a name is read for nothing but a call of one of these methods."""
    read = draft.syntax.parent[name]
    called = draft.syntax.parent[read] if isinstance(read, ast.Attribute) and read.attr in methods else None
    return isinstance(called, ast.Call) and called.func is read


def kind_of(draft: Draft, given: ast.expr, base: str) -> str:
    """Whether an expression is surely a list, surely one element, or may be None or either."""
    kinds = set()
    for origin in draft.values.origins(given):
        if isinstance(origin.node, (ast.List, ast.Tuple, ast.ListComp)) and not origin.path:
            kinds.add("list")
        elif origin.call is not None and base in draft.values.made_by(origin.call):
            kinds.add("element")
        else:
            kinds.add("unknown")
    if kinds == {"list"} and isinstance(given, (ast.Name, ast.Attribute)):
        return "list" if not _may_be_none(draft, given) else "unknown"
    return kinds.pop() if kinds == {"element"} else "unknown"


def _may_be_none(draft: Draft, given: ast.expr) -> bool:
    """Whether an expression is a parameter with a default: another file may leave it out, though no call here does."""
    return isinstance(given, ast.Name) and any(
        b.kind == "parameter"
        and isinstance(b.statement, CALLABLES)
        and any(
            isinstance(d, ast.Constant) for d in (*b.statement.args.defaults, *b.statement.args.kw_defaults)
        )
        for b in draft.module.scopes.reaching(given)
    )


# ---------------------------------------------------------------------- what is in a list


def elements(draft: Draft, given: ast.expr) -> list[ast.expr]:
    """The elements of a list that a call is given: those of its literals, and what is appended to them."""
    found: list[ast.expr] = []
    seen: set[ast.AST] = set()
    todo: list[ast.expr] = [given]
    while todo:
        e = todo.pop(0)
        if e in seen:
            continue
        seen.add(e)
        if isinstance(e, (ast.List, ast.Tuple)):
            todo += e.elts
        elif isinstance(e, ast.Starred):
            todo.append(e.value)
        elif isinstance(e, ast.BinOp) and isinstance(e.op, ast.Add):
            todo += [e.left, e.right]
        elif isinstance(e, ast.ListComp) and (some := _some_of(e)) is not None:
            todo.append(some)
        elif isinstance(e, ast.Name) and e is not given and _is_element_name(draft, e):
            found.append(e)
        else:
            inner = [
                o.node
                for o in draft.values.origins(e)
                if isinstance(o.node, ast.expr) and not o.path and o.node is not e
            ]
            lists = [n for n in inner if isinstance(n, _LISTS)]
            todo += lists
            todo += _added(draft, e)
            if not lists:
                found.append(e)
    return [e for e in found if not isinstance(e, ast.Constant)]


def _is_element_name(draft: Draft, e: ast.Name) -> bool:
    return not any(isinstance(o.node, (ast.List, ast.Tuple)) and not o.path for o in draft.values.origins(e))


def _some_of(e: ast.ListComp) -> ast.expr | None:
    """Of what a comprehension takes some as they are: `[c for c in (stop, checkpoint) if c is not None]`."""
    match e:
        case ast.ListComp(
            elt=ast.Name(id=taken), generators=[ast.comprehension(target=ast.Name(id=name), iter=whole)]
        ):
            return whole if taken == name else None
    return None


def _added(draft: Draft, e: ast.expr) -> list[ast.expr]:
    """What `callbacks.append(c)`, `.extend(…)`, `.insert(i, c)` and `+=` add to a list, under all names that it had before,
    of fields (`self.callbacks = make()`) and items of dictionaries (`fit_options["callbacks"]`), too."""
    found: list[ast.expr] = []
    todo, seen = [e], set[ast.expr]()
    while todo:
        name = todo.pop(0)
        if name in seen:
            continue
        seen.add(name)
        if isinstance(name, ast.Call):
            function = draft.values.callee(name)
            todo += draft.values.returned(function) if isinstance(function, CALLABLES) else []
        elif isinstance(name, (ast.Name, ast.Attribute, ast.Subscript)):
            found += _added_to(draft, name)
        elif isinstance(name, (ast.BoolOp, ast.IfExp)):
            todo += name.values if isinstance(name, ast.BoolOp) else [name.body, name.orelse]
        if isinstance(name, ast.Subscript):
            todo += draft.values.held.items_of(name)
        elif isinstance(name, (ast.Name, ast.Attribute)):
            for b in draft.values.bindings(name):
                if b.kind == "augment" and b.value is not None:
                    found.append(b.value)
                elif b.kind == "assign" and b.value is not None and not b.path:
                    todo.append(b.value)
                elif b.kind == "parameter":
                    todo += draft.values.passed(b)
    return list(dict.fromkeys(found))


def _added_to(draft: Draft, e: ast.Name | ast.Attribute | ast.Subscript) -> list[ast.expr]:
    """What the methods of lists add under this very name."""
    text, found = ast.unparse(e), list[ast.expr]()
    scope = draft.module.scopes.lookup(e.id, e) if isinstance(e, ast.Name) else None
    for call in draft.sites.method_calls("append", "insert", "extend"):
        assert isinstance(call.func, ast.Attribute)
        holder = call.func.value
        if ast.unparse(holder) == text and call.args:
            if not isinstance(holder, ast.Name) or draft.module.scopes.lookup(holder.id, holder) is scope:
                found.append(call.args[-1])
    return found


# ---------------------------------------------------------------------- rank 0's


def only_on_root(draft: Draft, rule: str, element: ast.expr, noun: str, why: str) -> None:
    """Leaves one element that writes to rank 0, where it enters the list; refuses where that can't be done.

    noun   what it is called: "callback", "hook" """
    what = f"Keep this {noun} on rank 0"
    parent = draft.syntax.parent.get(element)
    statement = draft.syntax.statement(element)
    span = draft.module.span(element)
    if isinstance(parent, (ast.List, ast.Tuple)):
        edits = Edit.around(span, "*([", f"] if {ON_ROOT} else [])")
        draft.change(rule, element, what, why, edits)
    elif (
        isinstance(parent, ast.Call)
        and isinstance(statement, ast.Expr)
        and statement.value is parent
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr in ("append", "insert")
        and draft.can_insert(statement)
    ):
        draft.change(rule, element, what, why, Guards(draft).put(statement, statement))
    elif isinstance(parent, (ast.keyword, ast.Call)):  # callbacks=checkpoint
        edits = Edit.around(span, "*([", f"] if {ON_ROOT} else [])")
        draft.change(rule, element, what, why, edits)
    else:
        draft.refuse(
            "HVD006",
            element,
            f"this {noun} writes files, and every rank would; add it in a statement of its own",
        )


__all__ = ["MakeList", "elements", "extended", "in_place", "kind_of", "only_on_root"]
