"""Comprehensions, and what `map` and `reduce` do, as loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from horovodize.summary.buried import Buried, Form
from horovodize.taking_apart.nodes import (
    Statement,
    assign,
    block,
    comments_in,
    evaluate,
    line,
    negated,
    standing_alone,
)

_EMPTY = {cst.SetComp: "set()", cst.DictComp: "{}"}


@dataclass(frozen=True)
class _Clause:
    target: cst.BaseAssignTargetExpression
    items: cst.BaseExpression
    tests: Sequence[cst.BaseExpression]


@dataclass(frozen=True)
class _Turns:
    """What a comprehension or a mapping goes through, and what it makes of each item (of a dictionary: with its key)."""

    clauses: Sequence[_Clause]
    value: cst.BaseExpression
    whole: cst.BaseExpression
    key: cst.BaseExpression | None = None

    @property
    def of_value(self) -> list[cst.EmptyLine]:
        """The comments before and after the value, as far as where the loop begins."""
        return [c for c in self._comments if id(c.comment) in self._first]

    @property
    def comments(self) -> list[cst.EmptyLine]:
        """The other comments between the parts."""
        return [c for c in self._comments if id(c.comment) not in self._first]

    @property
    def _first(self) -> set[int]:
        first = getattr(self.whole, "for_in", None)
        if first is None:
            return set()
        after = [
            id(c.comment) for c in comments_in(first, [])[len(comments_in(first.whitespace_before, [])) :]
        ]
        return {id(c.comment) for c in self._comments} - set(after) - self._of_end()

    def _of_end(self) -> set[int]:
        return {
            id(c.comment)
            for name in ("rbracket", "rbrace", "rpar")
            for end in _as_list(getattr(self.whole, name, ()))
            for c in comments_in(end, [])
        }

    @property
    def _comments(self) -> list[cst.EmptyLine]:
        parts: list[cst.CSTNode] = [self.value, *([self.key] if self.key is not None else [])]
        for clause in self.clauses:
            parts += [clause.target, clause.items, *clause.tests]
        return comments_in(self.whole, parts)


def loop(buried: Buried, node: cst.BaseExpression) -> list[Statement] | None:
    """The statements that do what an expression does."""
    name = buried.name or ""
    if buried.form is Form.FOLDED:
        return _folded(node, name, buried.renamed)
    turns = _turns(node, buried.renamed)
    if turns is None:
        return None
    comments = turns.comments
    match buried.form:
        case Form.DROPPED:
            return [_nested(turns, [evaluate(turns.value)], comments)]
        case Form.ANY | Form.ALL:
            if len(turns.clauses) != 1:
                return None
            is_any = buried.form is Form.ANY
            test = turns.value if is_any else negated(turns.value)
            leaves = [assign(name, cst.Name(str(is_any))), line("break")]
            return [
                assign(name, cst.Name(str(not is_any))),
                _nested(turns, [cst.If(test, block(leaves))], comments),
            ]
        case _:
            begin = line(f"{name} = {_EMPTY.get(type(node), '[]')}")
            return [begin, _nested(turns, [_collects(name, node, turns)], comments)]


def merged(statement: cst.For, node: cst.BaseExpression, renamed: Mapping[str, str]) -> cst.For | None:
    """`for x in (f(y) for y in items)` as one loop."""
    turns = _turns(node, renamed)
    if turns is None or len(turns.clauses) != 1 or not isinstance(statement.body, cst.IndentedBlock):
        return None
    clause = turns.clauses[0]
    skips: list[cst.BaseStatement] = [cst.If(negated(t), block([line("continue")])) for t in clause.tests]
    target = cst.AssignTarget(statement.target)
    value = cst.SimpleStatementLine([cst.Assign([target], standing_alone(turns.value))])
    body = statement.body.with_changes(body=[*skips, value, *statement.body.body])
    return statement.with_changes(
        target=clause.target,
        iter=standing_alone(clause.items),
        body=body,
        leading_lines=[*statement.leading_lines, *turns.comments],
    )


def branched(statement: cst.SimpleStatementLine, node: cst.BaseExpression) -> cst.If | None:
    """`x = a if test else b` and `test and f()` as an `if`."""
    small = statement.body[0]

    def arm(value: cst.BaseExpression) -> cst.IndentedBlock:
        return block([cst.SimpleStatementLine([small.with_changes(value=standing_alone(value))])])

    orelse = None
    match node:
        case cst.IfExp():
            test, body, orelse = node.test, arm(node.body), cst.Else(arm(node.orelse))
        case cst.BooleanOperation(operator=cst.And()):
            test, body = node.left, arm(node.right)
        case cst.BooleanOperation(operator=cst.Or()):
            test, body = negated(node.left), arm(node.right)
        case _:
            return None
    made = cst.If(standing_alone(test), body, orelse, leading_lines=statement.leading_lines)
    comment = statement.trailing_whitespace
    return made.with_changes(body=body.with_changes(header=comment)) if comment.comment is not None else made


def _collects(name: str, node: cst.BaseExpression, turns: _Turns) -> cst.BaseStatement:
    if turns.key is not None:
        place = cst.parse_expression(f"{name}[0]")
        assert isinstance(place, cst.Subscript)
        target = place.with_changes(slice=[cst.SubscriptElement(cst.Index(turns.key))])
        return cst.SimpleStatementLine([cst.Assign([cst.AssignTarget(target)], standing_alone(turns.value))])
    method = "add" if isinstance(node, cst.SetComp) else "append"
    return evaluate(cst.Call(cst.Attribute(cst.Name(name), cst.Name(method)), [cst.Arg(turns.value)]))


def _nested(turns: _Turns, inner: Sequence[cst.BaseStatement], comments: Sequence[cst.EmptyLine]) -> cst.For:
    body = [inner[0].with_changes(leading_lines=turns.of_value), *inner[1:]]
    made: cst.For | None = None
    for clause in reversed(turns.clauses):
        for test in reversed(clause.tests):
            body = [cst.If(standing_alone(test), block(body))]
        made = cst.For(clause.target, standing_alone(clause.items), block(body))
        body = [made]
    assert made is not None
    return made.with_changes(leading_lines=comments)


def _as_list(found: object) -> list[cst.CSTNode]:
    return [found] if isinstance(found, cst.CSTNode) else list(found)  # type: ignore[call-overload]


def _folded(node: cst.BaseExpression, name: str, renamed: Mapping[str, str]) -> list[Statement] | None:
    """`reduce(lambda total, x: …, items, first)`."""
    if not isinstance(node, cst.Call) or not isinstance(node.args[0].value, cst.Lambda):
        return None
    carried = node.args[0].value.params.params[0].name.value
    function = _renamed(node.args[0].value, {**renamed, carried: name})
    assert isinstance(function, cst.Lambda)
    item = function.params.params[1].name
    turns = _Turns([_Clause(item, node.args[1].value, ())], function.body, node)
    begin = assign(name, node.args[2].value)
    return [begin, _nested(turns, [assign(name, function.body)], turns.comments)]


def _turns(node: cst.BaseExpression, renamed: Mapping[str, str]) -> _Turns | None:
    if isinstance(node, cst.Call):
        return _mapped(node, renamed)
    if not isinstance(node, (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)):
        return None
    # What is gone through first is evaluated outside, where names mean what they mean there.
    after = _renamed(node, renamed, node.for_in.iter)
    assert isinstance(after, (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp))
    clauses, clause = list[_Clause](), after.for_in
    while True:
        clauses.append(_Clause(clause.target, clause.iter, [c.test for c in clause.ifs]))
        if clause.inner_for_in is None:
            break
        clause = clause.inner_for_in
    if isinstance(after, cst.DictComp):
        return _Turns(clauses, after.value, after, after.key)
    return _Turns(clauses, after.elt, after)


def _mapped(node: cst.Call, renamed: Mapping[str, str]) -> _Turns | None:
    """`map(f, items)`, `map(lambda a, b: …, first, second)`."""
    function, items = node.args[0].value, [a.value for a in node.args[1:]]
    if isinstance(function, cst.Lambda):
        function = _renamed(function, renamed)
        assert isinstance(function, cst.Lambda)
        names = [p.name for p in function.params.params]
        value = function.body
    else:
        names = [cst.Name(renamed[str(i)]) for i in range(len(items))]
        value = cst.Call(function, [cst.Arg(n) for n in names])
    through = items[0] if len(items) == 1 else cst.Call(cst.Name("zip"), [cst.Arg(i) for i in items])
    target = names[0] if len(names) == 1 else cst.Tuple([cst.Element(n) for n in names], lpar=[], rpar=[])
    return _Turns([_Clause(target, through, ())], value, node)


class _Rename(cst.CSTTransformer):
    """Gives names others, but in a part that is not to be looked into; names of attributes and keywords are none."""

    def __init__(self, renamed: Mapping[str, str], left: cst.CSTNode | None) -> None:
        super().__init__()
        self._renamed, self._left = renamed, left

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node is not self._left

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> object:  # type: ignore[override]
        if original_node is self._left:
            return original_node
        match updated_node, original_node:
            case cst.Name(), _:
                return updated_node.with_changes(
                    value=self._renamed.get(updated_node.value, updated_node.value)
                )
            case cst.Attribute(), cst.Attribute():
                return updated_node.with_changes(attr=original_node.attr)
            case cst.Arg(), cst.Arg():
                return updated_node.with_changes(keyword=original_node.keyword)
            case _:
                return updated_node


def _renamed(
    node: cst.BaseExpression, renamed: Mapping[str, str], left: cst.CSTNode | None = None
) -> cst.BaseExpression:
    after = node.visit(_Rename(renamed, left))
    assert isinstance(after, cst.BaseExpression)
    return after
