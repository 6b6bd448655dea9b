"""What attributes are assigned: `self.model = …`, found by the class that `self` is of."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from horovodize.python.binding import Binding
from horovodize.python.memo import CALLERS, CYCLE, Memo
from horovodize.python.reaching import paths
from horovodize.python.syntax import FUNCTIONS, end, position
from horovodize.source.nodes import walk

if TYPE_CHECKING:
    from horovodize.python.values import Values


class Attributes:
    """The attributes of one module. It follows values to find what they hang on, and values follow it. `before`: those of an
    earlier reading of the same module."""

    def __init__(self, values: Values, before: Attributes | None) -> None:
        self.values = values
        self.syntax, self.scopes, self.reads = values.syntax, values.scopes, values.reads
        self._assigned: Memo[str, dict[object, list[tuple[int, Binding]]] | None] = Memo(
            self.reads, self._find_assigned, None, before._assigned if before is not None else None
        )

    def bindings(self, e: ast.Attribute) -> list[Binding]:
        """The assignments `x.attr = …` that may give `x.attr` its value here."""
        of_project = self.scopes.links.of_module(e)
        if of_project is not None:
            return of_project
        self.reads.note("any attribute", e.attr)
        if e.attr not in self.scopes.attributes:
            return []
        outside, self.reads.mask = self.reads.mask, 0
        candidates = self._assigned(e.attr)  # of which only what hangs on the same counts
        self.reads.mask = outside | self.reads.mask & (CYCLE | CALLERS)
        mine = self.values.receiver(e.value)
        for member in mine:
            self.reads.note("attribute of", _entry(e.attr, member))
        if candidates is None:  # asked for while it is being found: one by one
            self.reads.note("attribute", e.attr)
            every = self.scopes.attributes[e.attr]
            return self._latest([b for b in every if self._receiver_of_target(b) & mine], e)
        found = {i: b for member in mine for i, b in candidates.get(member, ())}
        return self._latest([found[i] for i in sorted(found)], e)

    def made_in_class(self, e: ast.Attribute) -> list[ast.expr]:
        """What the body of a class of this module makes, and `self.attr` or `Class.attr` gives, where nothing else sets it:
        `class Trainer: optimizer = Adam(0.1)`. Not of decorated classes, whose objects may be told another one."""
        classes = self.values.definitions.classes_with(e.attr)
        if not classes or self.values.names.of(e) is not None:
            return []
        named = [o.node for o in self.values.origins(e.value) if isinstance(o.node, ast.ClassDef)]
        mine = self.values.receiver(e.value).union(*(self.values.family(c) for c in named))
        return [
            b.value
            for c in classes
            if not c.decorator_list and mine & self.values.family(c)
            for b in self.scopes.names[c][e.attr]
            if b.kind == "assign" and not b.path and isinstance(b.value, ast.Call)
        ]

    def bring_up_to_date(self, changed: int) -> int:
        """Gives what has changed of the assignments to attributes, for `Reads`."""
        outdated = self._assigned.outdated(changed)
        self._assigned.forget(changed)
        outside, entries = self.reads.mask, set[str]()
        for attribute, (old, old_mask) in outdated.items():
            self.reads.mask = 0
            new = self._assigned(attribute)
            same_kind = not (self.reads.mask ^ old_mask) & CALLERS
            for member in {*(old or ()), *(new or ())}:
                before, after = ([b for _, b in (table or {}).get(member, ())] for table in (old, new))
                if before != after or not same_kind:
                    entries.add(_entry(attribute, member))
        self.reads.mask = outside
        return self.reads.of("attribute of", entries)

    def _find_assigned(self, attribute: str) -> dict[object, list[tuple[int, Binding]]]:
        """The assignments to an attribute so called, by what it hangs on, with their order."""
        self.reads.note("attribute", attribute)
        found: dict[object, list[tuple[int, Binding]]] = {}
        for i, binding in enumerate(self.scopes.attributes.get(attribute, ())):
            for member in self._receiver_of_target(binding):
                found.setdefault(member, []).append((i, binding))
        return found

    def _receiver_of_target(self, binding: Binding) -> frozenset[object]:
        target = binding.anchor
        return self.values.receiver(target.value) if isinstance(target, ast.Attribute) else frozenset()

    def _latest(self, bindings: list[Binding], use: ast.Attribute) -> list[Binding]:
        """In the use's own function the last assignment before it, and what has been added to it, or calls have set, since;
        elsewhere all that are not overwritten at once."""
        syntax = self.syntax
        bindings = [b for b in bindings if b.anchor is not use]
        here = [
            b
            for b in bindings
            if syntax.function(b.anchor) is syntax.function(use)
            and end(b.anchor) < position(use)  # type: ignore[arg-type]
            and b.statement is not syntax.statement(use)
        ]
        if here:
            chosen: list[Binding] = []
            for b in reversed(here):
                reaches, dominates = paths(syntax, b.statement, use)
                if reaches:
                    chosen.append(b)
                    if dominates and b.kind != "augment":
                        return chosen + self._set_between([o for o in bindings if o not in here], b, use)
            return chosen + [b for b in bindings if b not in here]
        last: dict[tuple[ast.AST | None, str | None], tuple[int, int]] = {}
        for b in bindings:
            if b.kind != "augment":  # `self.loss += penalty` goes on from what was assigned
                block, at = self._block(b), position(b.statement)  # type: ignore[arg-type]
                last[block] = max(at, last.get(block, at))
        return [b for b in bindings if position(b.statement) >= last.get(self._block(b), (0, 0))]  # type: ignore[arg-type]

    def _set_between(self, others: list[Binding], since: Binding, use: ast.Attribute) -> list[Binding]:
        """Those of other functions that are run between an assignment and a use: `self.step = 0`, then `self.resume()`."""
        syntax = self.syntax
        by_name: dict[str, list[Binding]] = {}
        for b in others:
            function = syntax.function(b.anchor)
            if isinstance(function, FUNCTIONS) and function is not syntax.function(use):
                by_name.setdefault(function.name, []).append(b)
        if not by_name:
            return []
        held, start, stop = ast.dump(use.value), end(since.anchor), position(use)  # type: ignore[arg-type]
        called = set[str]()
        for statement in syntax.block(since.statement):  # type: ignore[arg-type]
            for n in walk(statement) if start <= end(statement) and position(statement) < stop else ():
                if isinstance(n, ast.Call) and start <= position(n) < stop:
                    called |= _runs_of(n, held)
        return [b for name in called & by_name.keys() for b in by_name[name]]

    def _block(self, b: Binding) -> tuple[ast.AST | None, str | None]:
        """The statements among which one stands that binds something."""
        parent = self.syntax.parent.get(b.statement)
        return parent, None if parent is None else self.syntax.field[b.statement]


def _runs_of(call: ast.Call, held: str) -> set[str]:
    """The name of the method of something that a call runs, or of the function that it is handed to."""
    func = call.func
    if isinstance(func, ast.Attribute) and ast.dump(func.value) == held:
        return {func.attr}
    if isinstance(func, ast.Name) and any(ast.dump(a) == held for a in call.args):
        return {func.id}
    return set()


def _entry(attribute: str, member: object) -> str:
    """An attribute of what it hangs on, as an entry of a table."""
    return f"{attribute} {member.name if isinstance(member, (ast.ClassDef, *FUNCTIONS)) else member}"
