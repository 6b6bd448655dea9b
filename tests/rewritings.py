"""Other ways to write a program that mean the same. Each takes a syntax tree and gives it rewritten, or None where there is
nothing that it could write otherwise."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable


class _Rewriting(ast.NodeTransformer):
    """Counts what it has written otherwise."""

    done = 0


class _SpeltOut(_Rewriting):
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if not isinstance(node.target, (ast.Name, ast.Attribute)):
            return node
        self.done += 1
        read = copy.deepcopy(node.target)
        read.ctx = ast.Load()
        return ast.Assign([node.target], ast.BinOp(read, node.op, node.value))


class _OtherArmFirst(_Rewriting):
    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        if not node.orelse or (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
            return node
        self.done += 1
        return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)


class _RemainderAsTest(_Rewriting):
    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Compare(
                left=ast.BinOp(op=ast.Mod()) as rest, ops=[ast.Eq()], comparators=[ast.Constant(value=0)]
            ):
                self.done += 1
                return ast.UnaryOp(ast.Not(), rest)
        return node


class _CountedByHand(_Rewriting):
    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        match node:
            case ast.For(
                target=ast.Tuple(elts=[ast.Name() as count, item]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[items], keywords=[]),
                orelse=[],
            ) if not any(isinstance(n, ast.Continue) for n in ast.walk(node)):
                self.done += 1
                on = ast.AugAssign(ast.Name(count.id, ast.Store()), ast.Add(), ast.Constant(1))
                return [
                    ast.Assign([ast.Name(count.id, ast.Store())], ast.Constant(0)),
                    ast.For(item, items, [*node.body, on], []),
                ]
        return node


class _NamedSettings(_Rewriting):
    """Numbers that calls are given by name get a name before; `verbose`, whose value is looked at, does not."""

    def __init__(self, named: Callable[[str], ast.expr]) -> None:
        self.named = named
        self.settings: dict[str, ast.expr] = {}

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        for keyword in node.keywords:
            given = keyword.value
            if (
                keyword.arg not in (None, "verbose")
                and isinstance(given, ast.Constant)
                and type(given.value) in (int, float)
            ):
                name = f"setting_{len(self.settings)}"
                self.settings[name] = given
                keyword.value = self.named(name)
        self.done = len(self.settings)
        return node


class _ByAnotherName(_Rewriting):
    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            self.done += 1
            first, name = ast.Name(f"each_{self.done}", ast.Load()), node.target
            node.target = ast.Name(first.id, ast.Store())
            node.body = [ast.Assign([name], first), *node.body]
        return node


def sums_spelt_out(tree: ast.Module) -> ast.Module | None:
    """`n += 1` → `n = n + 1`"""
    return _rewritten(tree, _SpeltOut())


def other_arm_first(tree: ast.Module) -> ast.Module | None:
    """`if a: … else: …` → `if not a: …`"""
    return _rewritten(tree, _OtherArmFirst())


def remainder_as_test(tree: ast.Module) -> ast.Module | None:
    """`i % 10 == 0` → `not i % 10`"""
    return _rewritten(tree, _RemainderAsTest())


def counted_by_hand(tree: ast.Module) -> ast.Module | None:
    """`for i, x in enumerate(xs):` → `i = 0`, `for x in xs:`, `i += 1`"""
    return _rewritten(tree, _CountedByHand())


def turns_by_another_name(tree: ast.Module) -> ast.Module | None:
    """`for i in range(n):` → `for each in range(n):`, `i = each`"""
    return _rewritten(tree, _ByAnotherName())


def settings_by_name(tree: ast.Module) -> ast.Module | None:
    """`epochs=3` → `epochs=setting_0`"""
    rewriting = _NamedSettings(lambda name: ast.Name(name, ast.Load()))
    made = _rewritten(tree, rewriting)
    return _after_imports(
        made, [ast.Assign([ast.Name(n, ast.Store())], e) for n, e in rewriting.settings.items()]
    )


def settings_in_a_dictionary(tree: ast.Module) -> ast.Module | None:
    """`epochs=3` → `epochs=settings["setting_0"]`"""
    rewriting = _NamedSettings(
        lambda name: ast.Subscript(ast.Name("settings", ast.Load()), ast.Constant(name), ast.Load())
    )
    made = _rewritten(tree, rewriting)
    table = ast.Dict([ast.Constant(n) for n in rewriting.settings], [*rewriting.settings.values()])
    return _after_imports(made, [ast.Assign([ast.Name("settings", ast.Store())], table)])


def _rewritten(tree: ast.Module, rewriting: _Rewriting) -> ast.Module | None:
    made = rewriting.visit(tree)
    assert isinstance(made, ast.Module)
    return made if rewriting.done else None


def _after_imports(tree: ast.Module | None, statements: list[ast.Assign]) -> ast.Module | None:
    """Puts statements behind the docstring and the imports that a module begins with."""
    if tree is None:
        return None
    place = 0
    for place, statement in enumerate(tree.body):
        docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not isinstance(statement, (ast.Import, ast.ImportFrom)) and not (docstring and place == 0):
            break
    tree.body[place:place] = statements
    return tree


ALL = (
    sums_spelt_out,
    other_arm_first,
    remainder_as_test,
    counted_by_hand,
    turns_by_another_name,
    settings_by_name,
    settings_in_a_dictionary,
)
