"""Where a step's first broadcast goes: after which statement, under which flag."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from horovodize.catalogue.supplement import SONNET
from horovodize.python.syntax import COMPREHENSIONS, FUNCTIONS, LOOPS, Function, Loop, position
from horovodize.rules.deciding import chosen_networks
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights.one_model import Way, bindings_in, binds, is_made_in_call, is_one_model
from horovodize.source import Edit
from horovodize.summary.call_paths import Frame
from horovodize.summary.express_in_caller import lift

_UNCOUNTED = (
    "rank 0's variables have to be sent after the first step, and in this traced loop nothing tells which that is: Sonnet's "
    "optimizers count no steps; take the loop out of the `tf.function`"
)
_DRAWN = (
    "this gives another model each time it is read, and what this step trains is read once more to give all ranks the same "
    "weights; give the model a name on a line of its own first"
)


@dataclass(frozen=True, eq=False)
class Place:
    """After `statement`, which takes the step, in the scope of `way[depth]`.

    flag       where the flag lives: a local name set before the outermost loop; a module's name or an instance's attribute,
               where the function that holds the loop is itself called in a loop; None: there is no loop, so no flag
    loop       the loop that takes the steps
    since      the loop before which a local flag is set: the outermost in which the model stays the same
    choosing   the loop that picks a model in each turn (`for name in names: step(models[name])`): the flag holds for all of it
    chosen     whether it is one of several models that each step trains (`nets[step % 2]`, a step that is called with one and
               with another): each is sent when it is first trained, and there is no flag
    in_graph   the expression that counts steps, where the loop runs inside a traced function"""

    statement: ast.stmt
    way: Way
    depth: int
    flag: Literal["local", "module", "instance"] | None
    loop: Loop | None = None
    since: Loop | None = None
    choosing: Loop | None = None
    chosen: bool = False
    in_graph: str | None = None

    @property
    def frame(self) -> Frame:
        return self.way[self.depth]

    @property
    def flag_prefix(self) -> str:
        """`self.` for a flag that lives on the instance."""
        function = self.frame.function
        if self.flag == "instance" and function is not None:
            return f"{function.args.args[0].arg}."
        return ""

    def flag_key(self, draft: Draft) -> object:
        """Blocks with the same key share a flag: none do, but a block written twice is one block."""
        return draft.syntax.block(self.statement)[0]

    def initialise(self, draft: Draft, flag: str) -> list[Edit]:
        """Edits that set the flag before the first step."""
        function = self.frame.function
        line = f"{self.flag_prefix}{flag} = True"
        if self.flag == "local":
            assert self.since is not None
            return [draft.before(self.since, [line])]
        assert function is not None
        if self.flag == "instance":
            return _on_instance(draft, function, line, flag)
        top = _top_level(draft, function)
        body = draft.start_of_body(function)
        return [draft.before(top, [line, "", ""]), draft.before(body, [f"global {flag}"], level=-9)]


def place_of(draft: Draft, site: ast.Call, way: Way, expressions: list[ast.expr]) -> Place | None:
    """The place for one way down to a step; refuses into the draft where there is none."""
    buried = next((f.node for f in way if _is_buried(draft, f.node)), None)
    if buried is not None:
        _awkward(draft, site, draft.syntax.statement(buried))
        return None
    if _handed_on(draft, way, expressions):
        draft.refuse(
            "HVD006",
            site,
            f"`{way[-1].function.name}` is passed on as a value here, so what calls it, and with which optimizer, can't be "  # type: ignore[union-attr]
            "followed; call it by its name",
        )
        return None
    drawn = chosen_networks.drawn_in_place(draft, expressions)
    if drawn is not None:
        draft.refuse("HVD006", drawn, _DRAWN)
        return None
    first = draft.drive.runs_traced(way) + 1
    if any(frame.loops for frame in way[:first]):
        return _in_graph(draft, site, way)
    if first == len(way) and _is_left_over(draft, way):
        draft.note("G2", site, "this step is never taken in this file: nothing is broadcast after it")
        return None
    if first == len(way):
        draft.refuse("HVD006", site, "the traced function that takes this step is never called in this file")
        return None
    driver = next((i for i in range(first, len(way)) if way[i].loops), None)
    deepest = driver if driver is not None else len(way) - 1
    deepest = _past_guards(draft, way, first, deepest, expressions)
    for depth in range(deepest, -1, -1):
        if depth < first:
            break
        if all(lift(draft.module, e, way, depth) is not None for e in expressions):
            return _at(draft, site, way, depth, driver, expressions)
    draft.refuse(
        "HVD006", site, "the model or optimizer of this step can't be named in the loop that takes it"
    )
    return None


def _past_guards(draft: Draft, way: Way, first: int, deepest: int, expressions: list[ast.expr]) -> int:
    """The depth at which a call takes the step for sure. `def learn(self): if len(memory) < 32: return` takes none at first:
    the model may have no variables then, and what is broadcast only once would be nothing."""
    for depth in range(first, deepest):
        if not _may_leave_out(draft, way[depth]):
            continue
        statement = draft.syntax.statement(way[depth].node)
        fits = isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign)) and draft.can_put_after(statement)
        named = all(lift(draft.module, e, way, depth) is not None for e in expressions)
        return depth if fits and named and is_one_model(draft, way, depth, expressions) else deepest
    return deepest


def _may_leave_out(draft: Draft, frame: Frame) -> bool:
    """Whether a function returns at first before what a frame leads to, by something that changes in the run."""
    if frame.function is None or frame.loops:
        return False
    before = position(frame.node)  # type: ignore[arg-type]
    returns = [
        n
        for n in draft.syntax.every(ast.Return)
        if draft.syntax.function(n) is frame.function and isinstance(n, ast.Return) and position(n) < before
    ]
    return any(_changes(draft, d.test) for n in returns for d, _ in draft.syntax.conditions(n))


def _changes(draft: Draft, test: ast.expr) -> bool:
    """Whether a test is of how much was gathered or counted so far: `len(self.memory) < 32`, `self.steps < self.warmup`."""
    if not any(isinstance(n, ast.Compare) for n in ast.walk(test)):
        return False
    for n in ast.walk(test):
        if isinstance(n, ast.Call):
            return True
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load):
            if any(b.kind == "augment" for b in draft.values.attribute_bindings(n)):
                return True
    return False


def _handed_on(draft: Draft, way: Way, expressions: list[ast.expr]) -> bool:
    """Whether a function that takes a step (in no loop that can be seen, or with an optimizer that is passed to it) is only
    given to someone as a value: a thread, a table of functions."""
    function = way[-1].function
    if function is None:
        return False
    given = [
        o.node
        for e in expressions
        for n in ast.walk(e)
        if isinstance(n, ast.Name)
        for o in draft.values.origins(n)
    ]
    if any(f.loops for f in way) and not any(isinstance(o, ast.arg) for o in given):
        return False
    return any(
        function in {o.node for o in draft.values.origins(n) if not o.path} for n in _named(draft, function)
    )


def _is_left_over(draft: Draft, way: Way) -> bool:
    """Whether nothing in this file names a step's function, while other steps are run from the file's top level: an example
    that stands there to be read."""
    function = way[-1].function
    if function is None or _named(draft, function):
        return False
    others = [u.call for u in draft.sites.updates] + [f.call for f in draft.sites.fits]
    return any(w[-1].function is None for other in others for w in draft.drive.ways(other))


def _named(draft: Draft, function: Function) -> list[ast.Name | ast.Attribute]:
    """Where a function's name stands as a value: not as what is called."""
    syntax = draft.syntax
    return [
        n
        for n in syntax.nodes
        if isinstance(n, (ast.Name, ast.Attribute))
        and isinstance(n.ctx, ast.Load)
        and function.name == (n.id if isinstance(n, ast.Name) else n.attr)
        and syntax.field[n] != "func"
    ]


def _is_buried(draft: Draft, node: ast.AST) -> bool:
    """Whether a step is taken inside an expression that runs it many times or later: a comprehension, a lambda."""
    for a in draft.syntax.ancestors(node):
        if isinstance(a, ast.stmt):
            return False
        if isinstance(a, (*COMPREHENSIONS, ast.Lambda)):
            return True
    return False


def _at(
    draft: Draft, site: ast.Call, way: Way, depth: int, driver: int | None, expressions: list[ast.expr]
) -> Place | None:
    frame = way[depth]
    statement = draft.syntax.statement(frame.node)
    header = isinstance(statement, (*LOOPS, ast.If, ast.With, ast.Return))
    if (header and not draft.sites.updates_in(statement)) or not draft.can_put_after(statement):
        _awkward(draft, site, statement)
        return None
    if driver is None:
        # A function that nothing here calls is called by a loop elsewhere, with each step.
        elsewhere = frame.function is not None and way[-1].function is not None
        return Place(statement, way, depth, _outliving(draft, frame.function) if elsewhere else None)
    loops = _not_choosing(draft, frame.loops, expressions, way, depth)
    choosing = frame.loops[-len(loops) - 1] if len(loops) < len(frame.loops) else None
    outside = expressions if choosing is None else _outside(draft, choosing, expressions, way, depth)
    driving = [d.loop for d in draft.facts.feeding.drivers if site in d.steps]
    chosen = any(
        a in driving or chosen_networks.are_chosen_in(draft, a, expressions)
        for a in frame.loops[: len(frame.loops) - len(loops)]
    )
    one_model = is_one_model(draft, way, depth, outside)
    if choosing is not None and not chosen and not draft.can_insert(choosing):
        _awkward(draft, site, choosing)
        return None
    if depth < driver:
        return Place(statement, way, depth, _outliving(draft, frame.function), chosen=not one_model)
    again = any(f.loops for f in way[depth + 1 :])
    if one_model and again and not is_made_in_call(draft, way, depth, outside):
        return Place(
            statement,
            way,
            depth,
            _outliving(draft, frame.function),
            frame.loops[0],
            choosing=choosing,
            chosen=chosen,
        )
    since = loops[0] if loops else frame.loops[-1]
    for loop in loops[1:]:
        if binds(draft, loop, outside, way, depth):
            break  # another model in each turn: each of them has a first batch
        since = loop
    if not draft.can_insert(since):
        _awkward(draft, site, since)
        return None
    return Place(statement, way, depth, "local", frame.loops[0], since, choosing, chosen)


def _not_choosing(
    draft: Draft, loops: Sequence[Loop], expressions: list[ast.expr], way: Way, depth: int
) -> Sequence[Loop]:
    """The loops around a step, innermost first, without those next to it whose turns say which model it trains."""
    for i, loop in enumerate(loops):
        if not chosen_networks.are_chosen_in(draft, loop, expressions) and not any(
            b.statement is loop for b in bindings_in(draft, loop, expressions, way, depth)
        ):
            return loops[i:]
    return ()


def _outside(draft: Draft, loop: Loop, expressions: list[ast.expr], way: Way, depth: int) -> list[ast.expr]:
    """What expressions go back to outside a loop: `models` and `names` of `models[name]` in `for name in names`."""
    bindings = bindings_in(draft, loop, expressions, way, depth)
    bound = {b.name for b in bindings}
    found, seen = list[ast.expr](), set[ast.AST]()
    todo: list[ast.AST] = [
        *(lift(draft.module, e, way, depth) or e for e in expressions),
        *(b.value for b in bindings if b.value is not None),
    ]
    while todo:
        node = todo.pop()
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and isinstance(node, (ast.Name, ast.Attribute)):
            if root.id not in bound and node not in seen:
                seen.add(node)
                found.append(node)
        else:
            todo += ast.iter_child_nodes(node)
    return found


def _awkward(draft: Draft, site: ast.Call, statement: ast.stmt) -> None:
    draft.refuse(
        "HVD108", statement, "no statement can be put after this step; give it a statement of its own"
    )


def _outliving(draft: Draft, function: Function | None) -> Literal["module", "instance"]:
    """Where a flag lives that must survive the function's return."""
    if draft.syntax.method_class(function) is not None and function is not None and function.args.args:
        return "instance"
    return "module"


def _in_graph(draft: Draft, site: ast.Call, way: Way) -> Place | None:
    """A loop inside a traced function: the step count of the optimizer is the only flag that exists there."""
    statement = draft.syntax.statement(site)
    if not draft.can_put_after(statement) or isinstance(statement, ast.Return):
        _awkward(draft, site, statement)
        return None
    assert isinstance(site.func, ast.Attribute)
    if is_sonnets(draft, site.func.value):
        draft.refuse("HVD006", site, _UNCOUNTED)
        return None
    counter = f"{draft.module.text(site.func.value)}.iterations"
    return Place(statement, way, 0, None, in_graph=counter)


def is_sonnets(draft: Draft, optimizer: ast.expr) -> bool:
    """Whether an optimizer is one of Sonnet's, which has no method `variables`, and no `iterations`."""
    return any(
        name.startswith(SONNET) for c in draft.values.calls(optimizer) for name in draft.values.made_by(c)
    )


def _on_instance(draft: Draft, function: Function, line: str, flag: str) -> list[Edit]:
    cls = draft.syntax.method_class(function)
    assert cls is not None
    init = next((s for s in cls.body if isinstance(s, FUNCTIONS) and s.name == "__init__"), None)
    if init is not None and draft.can_insert(init.body[-1]) and not isinstance(init.body[-1], ast.Return):
        own = init.args.args[0].arg if init.args.args else "self"
        return [draft.after(init.body[-1], [f"{own}.{flag} = True"], level=3)]
    body = draft.start_of_body(cls)
    return [draft.before(body, [f"{flag} = True", ""])]


def _top_level(draft: Draft, function: Function) -> ast.stmt:
    top: ast.AST = function
    for a in draft.syntax.ancestors(function):
        if isinstance(a, ast.stmt):
            top = a
    assert isinstance(top, ast.stmt)
    return top
