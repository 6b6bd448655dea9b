"""What each name is bound to, and which bindings reach a use.

Flow-sensitive inside a scope (by position, branch and loop), flow-insensitive across scopes: a function that reads a global
may see any of its bindings. So an answer may hold a value that no run sees, never lack one that a run does (`exec`, `setattr`
and star imports aside).
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict

from horovodize.python.augmented import augmented
from horovodize.python.binding import Binding, Kind
from horovodize.python.links import Links, Targets
from horovodize.python.memo import Memo, Reads
from horovodize.python.reaching import paths, reaching
from horovodize.python.syntax import CALLABLES, COMPREHENSIONS, Syntax
from horovodize.source.outline import Piece, Replaced

# The nodes that bind names. All others are passed over quickly: there are many.
_BINDING = frozenset({
    ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For, ast.AsyncFor,
    ast.comprehension, ast.withitem, *CALLABLES, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar,
    ast.Expr,
})  # fmt: skip
_SCOPE_TYPES = frozenset({*CALLABLES, *COMPREHENSIONS, ast.ClassDef})


class _Bound:
    """What the names of one piece of a module are bound to, where others can see it."""

    def __init__(self) -> None:
        self.names: dict[str, list[Binding]] = defaultdict(list)  # of the module itself
        self.attributes: dict[str, list[Binding]] = defaultdict(list)
        self.star_imports: list[tuple[str, ast.ImportFrom]] = []
        self.imports: list[Binding] = []
        self.elsewhere: list[Binding] = []


class Scopes:
    """All scopes of a module.

    reads  notes which names of the module itself are looked up, for those who remember what they found"""

    def __init__(self, syntax: Syntax, targets: Targets | None = None, reads: Reads | None = None) -> None:
        self.syntax = syntax
        self.links = Links(self, targets or {})
        self.reads = reads or Reads()
        self.left_out: set[str] = set()  # names in code of the same files that is not read
        self.names: dict[ast.AST, dict[str, list[Binding]]] = defaultdict(lambda: defaultdict(list))
        # by the attribute's own name; and items of dictionaries, by `item_name`, what is put into lists, by `PUT`
        self.attributes: dict[str, list[Binding]] = defaultdict(list)
        self.star_imports: list[tuple[str, ast.ImportFrom]] = []
        self.imports: list[Binding] = []
        self._packages: set[str] | None = None  # that are imported; None: not looked for yet
        self.local = True  # whether no `nonlocal` reaches the module itself (Python would not run that)
        self._scope_of: dict[ast.AST, ast.AST] = {}
        self._globals: dict[ast.AST, set[str]] = defaultdict(set)
        self._nonlocals: dict[ast.AST, set[str]] = {}
        self._elsewhere: set[Binding] = set()  # bindings of a scope's names that functions inside it make
        self._of_piece: dict[Piece, _Bound] = {}
        self._bound = _Bound()
        self.bound = Memo[ast.Name, list[Binding]](self.reads, self._find_bound, [])
        for piece in syntax.outline.pieces:
            self._bind_all(piece)
        for bound in self._of_piece.values():
            self._add_to_tables(bound)

    def _add_to_tables(self, bound: _Bound) -> None:
        for name, bindings in bound.attributes.items():
            self.attributes[name] += bindings
        self.star_imports += bound.star_imports
        self.imports += bound.imports

    def replace(self, replaced: Replaced) -> int:
        """Brings everything up to date with an outline of which pieces were replaced. Gives what has changed, for `Reads`."""
        old = [self._of_piece.pop(piece) for piece in replaced.removed]
        for piece in replaced.removed:
            for node in piece.nodes:
                self._scope_of.pop(node, None)
                if type(node) in _SCOPE_TYPES:
                    self.names.pop(node, None)
                    self._globals.pop(node, None)
                    self._nonlocals.pop(node, None)
        for bound in old:
            self._elsewhere.difference_update(bound.elsewhere)
        for piece in replaced.added:
            self._bind_all(piece)
        changed = old + [self._of_piece[piece] for piece in replaced.added]
        every = [self._of_piece[piece] for piece in self.syntax.outline.pieces]
        names = {name for bound in changed for name in bound.names}
        attributes = {name for bound in changed for name in bound.attributes}
        assigned = {name for name in attributes if name in self.attributes}
        table = self.names[self.syntax.tree]
        for name in names:
            _set(table, name, [b for bound in every for b in bound.names.get(name, ())])
        for name in attributes:
            _set(self.attributes, name, [b for bound in every for b in bound.attributes.get(name, ())])
        if any(bound.imports for bound in changed):
            self.imports = [b for bound in every for b in bound.imports]
            self._packages = None
        mask = self.reads.of("name", names) | self.reads.of("attribute", attributes)
        mask |= self.reads.of(
            "any attribute", {n for n in attributes if (n in assigned) != (n in self.attributes)}
        )
        mask |= self.reads.of("import", {_package(b) for bound in changed for b in bound.imports})
        if any(bound.star_imports for bound in changed):
            self.star_imports = [b for bound in every for b in bound.star_imports]
            mask |= self.reads.of("star import", [""])
        return mask

    # ------------------------------------------------------------------ scopes

    def scope(self, node: ast.AST) -> ast.AST:
        """The scope in which a node is evaluated."""
        known = self._scope_of.get(node)
        if known is not None:
            return known
        parent, field = self.syntax.parent, self.syntax.field
        result: ast.AST = self.syntax.tree
        child, around = node, parent.get(node)
        while around is not None:
            kind = type(around)
            if kind in _SCOPE_TYPES:
                if isinstance(around, COMPREHENSIONS):
                    if not (child is around.generators[0] and self._in_first_iter(node, around)):
                        result = around
                        break
                elif field[child] == "body":
                    result = around
                    break
            elif kind is ast.Module:
                result = around
                break
            child, around = around, parent.get(around)
        self._scope_of[node] = result
        return result

    def root(self, node: ast.AST) -> ast.Module:
        """The module that a node stands in."""
        while not isinstance(node, ast.Module):
            node = self.scope(node)
        return node

    def _in_first_iter(self, node: ast.AST, comprehension: ast.AST) -> bool:
        """The first iterable of a comprehension is evaluated outside it."""
        assert isinstance(comprehension, COMPREHENSIONS)
        first = comprehension.generators[0].iter
        return self.syntax.inside(node, first)

    def lookup(self, name: str, node: ast.AST) -> ast.AST | None:
        """The scope that binds a name as seen from a node; None for builtins and star imports."""
        scope, innermost = self.scope(node), True
        while True:
            if name in self._globals[scope]:
                root = self.root(scope)
                self.reads.note("name", name)
                return root if name in self.names[root] else None
            if isinstance(scope, ast.Module):
                self.reads.note("name", name)
                return scope if name in self.names[scope] else None
            if (innermost or not isinstance(scope, ast.ClassDef)) and name in self.names[scope]:
                return scope
            innermost = False
            scope = self.scope(scope)

    def imports_package(self, package: str) -> bool:
        """Whether a package, or something in it, is imported anywhere."""
        self.reads.note("import", package)
        if self._packages is None:
            self._packages = {_package(b) for b in self.imports}
        return package in self._packages

    def all_names(self) -> set[str]:
        """Every identifier in the module: a fresh name is one that is not among them."""
        found = set(self.left_out)
        found.update([node.id for node in self.syntax.every(ast.Name)])
        found.update([node.arg for node in self.syntax.every(ast.arg)])
        for node in self.syntax.every(ast.Global, ast.Nonlocal):
            found.update(node.names)
        for table in self.names.values():
            found.update(table)
        return found

    # ------------------------------------------------------------------ bindings

    def _bind_all(self, piece: Piece) -> None:
        self._bound = self._of_piece[piece] = _Bound()
        nonlocals = dict[ast.AST, set[str]]()
        for node in piece.every((ast.Global, ast.Nonlocal)):
            if isinstance(node, ast.Global):
                self._globals[self.scope(node)].update(node.names)
            elif isinstance(node, ast.Nonlocal):
                nonlocals.setdefault(self.scope(node), set()).update(node.names)
        self._nonlocals |= nonlocals
        for node in piece.nodes:
            if type(node) in _BINDING:
                self._bind(node)
        for scope, names in nonlocals.items():
            for name in names:
                self._move_out(name, scope)

    def _move_out(self, name: str, scope: ast.AST) -> None:
        """Gives the bindings of a `nonlocal` name to the function around that has it."""
        bindings = self.names[scope].pop(name, [])
        home = self.scope(scope)
        while not isinstance(home, ast.Module) and (
            not isinstance(home, CALLABLES)
            or name not in self.names[home]
            or name in self._nonlocals.get(home, ())
        ):
            home = self.scope(home)
        self.local &= not isinstance(home, ast.Module)
        self._elsewhere.update(bindings)
        self._bound.elsewhere += bindings
        self.names[home][name] += bindings

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    name = alias.asname or alias.name.split(".")[0]
                    path = alias.name if alias.asname else name
                    self._add(Binding("import", name, node, alias, imported=path), node)
            case ast.ImportFrom():
                base = "." * node.level + (node.module or "")
                for alias in node.names:
                    if alias.name == "*":
                        self._bound.star_imports.append((base, node))
                    else:
                        path = f"{base}.{alias.name}" if not base.endswith(".") else base + alias.name
                        self._add(
                            Binding("import", alias.asname or alias.name, node, alias, imported=path), node
                        )
            case ast.Assign() | ast.NamedExpr():
                spelt_out, statement = augmented(node), self.syntax.statement(node)
                if spelt_out is not None:
                    self._bind_target(
                        spelt_out.target, "augment", spelt_out.value, statement, operator=spelt_out.operator
                    )
                else:
                    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                        self._bind_target(target, "assign", node.value, statement)
            case ast.AnnAssign(value=ast.expr() as value):
                self._bind_target(node.target, "assign", value, node)
            case ast.AugAssign():
                self._bind_target(node.target, "augment", node.value, node, operator=node.op)
            case ast.For() | ast.AsyncFor():
                self._bind_target(node.target, "item", node.iter, node)
            case ast.comprehension():
                self._bind_target(node.target, "item", node.iter, self.syntax.statement(node))
            case ast.withitem(optional_vars=ast.expr() as target):
                self._bind_target(target, "with", node.context_expr, self.syntax.statement(node))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._add(Binding("def", node.name, node, node), node)
                self._parameters(node)
            case ast.Lambda():
                self._parameters(node)
            case ast.ClassDef():
                self._add(Binding("class", node.name, node, node), node)
            case ast.ExceptHandler(name=str() as name):
                self._add(
                    Binding("except", name, self.syntax.statement(self.syntax.parent[node]), node), node
                )
            case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                self._add(Binding("match", name, self.syntax.statement(node), node), node)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(attr="append" | "insert", value=held), args=[*_, put])
            ) if isinstance(put, (ast.Name, ast.Attribute, ast.Lambda, ast.Call, ast.Subscript)):
                self._bound.attributes[PUT].append(Binding("put", PUT, node, held, put))
            case _:
                pass

    def _parameters(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        a = node.args
        every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x)]
        for parameter in every:
            self.names[node][parameter.arg].append(Binding("parameter", parameter.arg, node, parameter))

    def _add(self, binding: Binding, node: ast.AST) -> None:
        scope = self.scope(node)
        while isinstance(scope, COMPREHENSIONS) and isinstance(self.syntax.parent.get(node), ast.NamedExpr):
            scope = self.scope(scope)  # a walrus binds outside comprehensions
        if binding.name in self._globals[scope] and not isinstance(scope, ast.Module):
            scope = self.root(scope)
            self._elsewhere.add(binding)
            self._bound.elsewhere.append(binding)
        self.names[scope][binding.name].append(binding)
        if isinstance(scope, ast.Module):
            self._bound.names[binding.name].append(binding)
        if binding.kind == "import":
            self._bound.imports.append(binding)

    def _bind_target(
        self,
        target: ast.expr,
        kind: Kind,
        value: ast.expr,
        statement: ast.stmt,
        path: tuple[int, ...] = (),
        operator: ast.operator | None = None,
    ) -> None:
        match target:
            case ast.Name():
                self._add(Binding(kind, target.id, statement, target, value, path, operator=operator), target)
            case ast.Attribute():
                binding = Binding(kind, target.attr, statement, target, value, path, operator=operator)
                self._bound.attributes[target.attr].append(binding)
            case ast.Subscript(slice=ast.Constant(value=str() as key)):
                binding = Binding(kind, key, statement, target, value, path, operator=operator)
                self._bound.attributes[item_name(key)].append(binding)
            case ast.Subscript(value=table) if kind == "assign" and not path and isinstance(value, ast.Name):
                self._bound.attributes[KEYED].append(Binding("put", KEYED, statement, table, value))
            case ast.Starred():
                self._bind_target(target.value, kind, value, statement, (*path, -1))
            case ast.Tuple() | ast.List():
                same = (
                    kind == "assign"
                    and not path
                    and isinstance(value, (ast.Tuple, ast.List))
                    and len(value.elts) == len(target.elts)
                    and not any(isinstance(e, ast.Starred) for e in (*value.elts, *target.elts))
                )
                for i, element in enumerate(target.elts):
                    if same and isinstance(value, (ast.Tuple, ast.List)):
                        self._bind_target(element, kind, value.elts[i], statement)
                    else:
                        self._bind_target(element, kind, value, statement, (*path, i))
            case _:
                pass

    # ------------------------------------------------------------------ reaching definitions

    def reaching(self, use: ast.Name) -> list[Binding]:
        """The bindings that may give a name its value at a use; latest first. Of a project, those in the module that an
        imported name comes from."""
        found = self.bound(use)
        if not self.links.targets:
            return found
        if not found:
            return list(self.links.starred(use.id, self.root(use)))
        return [b for f in found for b in self.links.followed(f)]

    def is_builtin(self, e: ast.expr) -> bool:
        """Whether an expression is a name that Python itself gives its meaning: `len`, `print`; in Python 2 `xrange`."""
        known = isinstance(e, ast.Name) and (hasattr(builtins, e.id) or e.id == "xrange")
        return known and not self.reaching(e)  # type: ignore[arg-type]

    def dominates(self, binding: Binding, use: ast.AST) -> bool:
        """Whether a binding must have run before a use, whichever branches were taken."""
        return paths(self.syntax, binding.statement, use)[1]

    def _find_bound(self, use: ast.Name) -> list[Binding]:
        """The bindings of the use's own module that may give a name its value at a use; latest first."""
        scope = self.lookup(use.id, use)
        if scope is None:
            return []
        every = self.names[scope][use.id]
        if scope is not self.scope(use) or len(every) == 1:
            return list(reversed(every))
        elsewhere = [b for b in reversed(every) if b in self._elsewhere]
        if elsewhere:  # made by calls, which may come before or after anything
            every = [b for b in every if b not in self._elsewhere]
        return reaching(self.syntax, every, use) + elsewhere


PUT = "[]"  # by what name that which is put into lists is among the attributes: `hooks.append(save)`
KEYED = "[…]"  # the same for names that are put into tables by a key that is computed: `HOOKS[cls.__name__] = cls`


def item_name(key: str) -> str:
    """By what name items of a key are among the attributes: `table["rate"] = …`"""
    return f"[{key!r}]"


def _package(binding: Binding) -> str:
    return binding.imported.partition(".")[0]


def _set(table: dict[str, list[Binding]], name: str, bindings: list[Binding]) -> None:
    if bindings:
        table[name] = bindings
    else:
        table.pop(name, None)
