"""Where a generator function of the program can be divided inside: at the numbers, or rows, by which it selects what it yields.

A rank that takes every size()-th batch of a generator has prepared the others' batches, too. Where each turn of a loop over
numbers makes one batch out of its number, and nothing else, a rank can leave out the other ranks' numbers."""

from __future__ import annotations

import ast

from horovodize.facts.differences.draws import Draws
from horovodize.facts.differences.exits import exits
from horovodize.facts.differences.known_calls import is_known
from horovodize.python.syntax import CALLABLES, Function, is_forever
from horovodize.source.nodes import names_in, walk
from horovodize.summary.effects import Effects
from horovodize.summary.feeding import Feeding
from horovodize.summary.kinds import Kind

_RANGES = ("numpy.arange",)
LISTING_FILES = (
    "os.listdir", "glob.glob", "tensorflow.io.gfile.listdir", "tensorflow.io.gfile.glob",
    "tensorflow.compat.v1.gfile.ListDirectory", "tensorflow.compat.v1.gfile.Glob",
)  # fmt: skip
_LISTS = ("sorted", "list", "tuple")
_ITERATORS = ("nditer", "ndenumerate", "ndindex", "gen_batches", "gen_even_slices")
_LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Raise, ast.Try, ast.Global, ast.Nonlocal, ast.Delete)

# Methods that leave what they are called on as it is, whatever that is.
COMPUTING = frozenset(
    "astype reshape copy transpose swapaxes flatten ravel squeeze repeat take mean sum min max round clip tolist numpy "
    "toarray todense to_numpy format split join lower upper strip replace encode decode get keys values items index "
    "count".split()
)


class Generators:
    """The generator functions of one module."""

    def __init__(self, feeding: Feeding, effects: Effects, draws: Draws) -> None:
        self.feeding, self.effects, self.draws = feeding, effects, draws

    def numbers(self, function: Function) -> ast.expr | None:
        """The `range(…)` of the loop that yields once in each turn what its number selects, or what it draws by no seed; None
        where there is no such loop, or where that can't be seen."""
        loop = self._yielding(function)
        if loop is None or not self._is_range(loop.iter) or not isinstance(loop.target, ast.Name):
            return None
        alike = self._goes_by(loop, draws=True) and self._passes_are_alike(loop, function)
        return loop.iter if alike else None

    def is_endless(self, function: Function) -> bool:
        """Whether a generator function yields for ever, whatever it goes through: `while True:` that nothing leaves."""
        inside = [n for n in walk(function) if self.feeding.syntax.function(n) is function]
        if any(isinstance(n, ast.Return) for n in inside):
            return False
        return any(isinstance(s, ast.While) and is_forever(s) and not exits(s) for s in function.body)

    def rows(self, function: Function) -> list[ast.expr]:
        """The numbers, lists or arrays by whose items a loop yields a row in each turn, to be divided each: of
        `for path, label in zip(paths, labels)` both. What it draws beside, no seed may fix: each rank draws for its rows.
        Nothing where there is no such loop, or where that can't be seen."""
        loop = self._yielding(function)
        if loop is None:
            return []
        is_zip = isinstance(loop.iter, ast.Call) and self._is_builtin(loop.iter, ("zip",))
        given = loop.iter.args if is_zip and isinstance(loop.iter, ast.Call) else [loop.iter]
        if not all(self._is_range(e) or self._is_list(e) for e in given):
            return []
        alike = self._goes_by(loop, draws=True) and self._passes_are_alike(loop, function)
        return list(given) if alike else []

    def _yielding(self, function: Function) -> ast.For | None:
        """The loop of a function that yields once in each turn, if nothing else yields."""
        yields = [n for n in walk(function) if isinstance(n, (ast.Yield, ast.YieldFrom))]
        if len(yields) != 1 or not isinstance(yields[0], ast.Yield) or yields[0].value is None:
            return None
        statement = self.feeding.syntax.statement(yields[0])
        loop = self.feeding.syntax.parent.get(statement)
        if not isinstance(statement, ast.Expr) or not isinstance(loop, ast.For) or loop.orelse:
            return None
        return loop if self.feeding.syntax.function(loop) is function else None

    def _is_list(self, e: ast.expr) -> bool:
        """Whether something surely has a length, and parts that are taken by numbers."""
        origins = self.feeding.values.origins(e)
        made = [o.node for o in origins if not o.path]
        if any(isinstance(n, ast.Call) and self._may_be_iterator(n) for n in made):
            return False
        if isinstance(e, ast.Starred) or not made or len(made) < len(origins):
            return bool(origins) and self.feeding.kinds.of(e) is Kind.ARRAY
        lists = (isinstance(n, ast.Call) and self._gives_list(n) for n in made)
        return all(lists) or self.feeding.kinds.of(e) in (Kind.ARRAY, Kind.ARRAYS)

    def _gives_list(self, call: ast.Call) -> bool:
        return self._is_builtin(call, _LISTS) or self.feeding.names.of(call.func) in LISTING_FILES

    def _may_be_iterator(self, call: ast.Call) -> bool:
        """`pd.read_csv(path, chunksize=100)`, `np.ndenumerate(x)`"""
        name = self.feeding.names.of(call.func) or ""
        return name.startswith(("pandas.", "scipy.")) or name.rpartition(".")[2] in _ITERATORS

    def _is_builtin(self, call: ast.Call, names: tuple[str, ...]) -> bool:
        is_named = isinstance(call.func, ast.Name) and call.func.id in names
        return is_named and self.feeding.module.scopes.is_builtin(call.func)

    def _is_range(self, e: ast.expr) -> bool:
        if not isinstance(e, ast.Call) or self.feeding.kinds.is_endless(e):
            return False
        return self.feeding.kinds.is_range(e) or self.feeding.names.of(e.func) in _RANGES

    def _goes_by(self, loop: ast.For, *, draws: bool = False) -> bool:
        """Whether a turn of the loop makes what it yields from its number, and leaves nothing behind for the next.

        draws: whether it may draw by no seed, from the number or beside it"""
        made, given = names_in(loop.target), next(n for n in walk(loop) if isinstance(n, ast.Yield))
        for statement in loop.body:
            if any(isinstance(n, _LEAVING) for n in walk(statement)):
                return False
            if self._passes_on(statement, loop, made, draws=draws):
                return False
            for assign in (
                n for n in walk(statement) if isinstance(n, ast.Assign)
            ):  # in both arms of an `if`, too
                if names_in(assign.value) & made:
                    made |= {name for target in assign.targets for name in names_in(target)}
        calls = [n for n in walk(loop) if isinstance(n, ast.Call)] if draws else []
        is_own = bool(names_in(given) & made) or any(map(self._draws_freely, calls))
        return is_own and not self._is_read_before(loop)

    def _passes_are_alike(self, loop: ast.For, function: Function) -> bool:
        """Whether each pass through the loop goes through the same rows, in whatever order. Where passes bring rows of their
        own (`for name in names:` around it), what is left over of each pass would be left out of all of them."""
        read = _read(loop)
        for around in self.feeding.syntax.ancestors(loop):
            if around is function:
                return True
            if self._own_to_a_pass(around, loop) & read:
                return False
        return False

    def _own_to_a_pass(self, around: ast.AST, loop: ast.For) -> set[str]:
        """The names that each turn of a loop around another one gives other values: its target, and what is made of it, of what
        is counted on, of what a call gives that isn't seen. An order that is drawn is none: it is of the same rows."""
        if not isinstance(around, (ast.For, ast.While)):
            return set()
        own = names_in(around.target) if isinstance(around, ast.For) else set[str]()
        beside = [s for s in around.body if not self.feeding.syntax.inside(loop, s)]
        for _ in range(2):  # what a later statement sets, an earlier one reads in the next turn
            for statement in beside:
                calls = [n for n in walk(statement) if isinstance(n, ast.Call)]
                steady = all(
                    is_known(self.feeding.names.of(c.func) or "") or self._only_computes(c, set())
                    for c in calls
                )
                counts = any(isinstance(n, ast.AugAssign) for n in walk(statement))
                if counts or not steady or _read(statement) & own:
                    own |= _set_in([statement])
        return own

    def _passes_on(self, statement: ast.stmt, loop: ast.For, made: set[str], *, draws: bool) -> bool:
        """Whether a statement may change something that outlives the turn, or draws at random. What is not seen is taken to
        go by the number where it is given what is made of it, and to matter to nothing where its value is not used."""
        local = _set_in(loop.body)
        for n in walk(statement):
            if isinstance(n, ast.AugAssign):
                return True
            if isinstance(n, (ast.Attribute, ast.Subscript)) and not isinstance(n.ctx, ast.Load):
                return True
            if isinstance(n, ast.Call) and not self._only_computes(n, local):
                if draws and self._draws_freely(n):
                    continue
                idle = isinstance(statement, ast.Expr) and statement.value is n
                if not self._is_unseen(n) or not (idle or names_in(n) & made):
                    return True
        return False

    def _draws_freely(self, call: ast.Call, depth: int = 4) -> bool:
        """Whether a call draws, by no seed, and does nothing else that lasts."""
        callee, name = self.feeding.values.callee(call), self.feeding.names.of(call.func) or ""
        if callee is None:
            maker = self.draws.maker(call)
            seeded = self.draws.gives_seed(maker) if maker else self.draws.is_seeded(name, call)
            return (maker is not None or self.draws.is_drawn(name)) and not seeded
        if depth == 0 or not isinstance(callee, CALLABLES):
            return False
        inside = [n for n in walk(callee) if n is not callee]
        keeps = any(
            isinstance(n, (ast.Global, ast.Nonlocal))
            or (isinstance(n, (ast.Attribute, ast.Subscript)) and not isinstance(n.ctx, ast.Load))
            for n in inside
        )
        calls = (n for n in inside if isinstance(n, ast.Call))
        return not keeps and all(
            self._only_computes(c, set()) or self._draws_freely(c, depth - 1) for c in calls
        )

    def _only_computes(self, call: ast.Call, local: set[str]) -> bool:
        callee = self.feeding.values.callee(call)
        if callee is not None:
            return not self.effects.function_shares(callee)
        if self.effects.moves_state(call):
            return False
        name = self.feeding.names.of(call.func)
        if name is not None:
            return is_known(name)
        if isinstance(call.func, ast.Name):
            return self.feeding.module.scopes.is_builtin(call.func)
        base: ast.expr = call.func
        while isinstance(base, (ast.Attribute, ast.Subscript)):
            base = base.value
        own = isinstance(base, ast.Call) or (isinstance(base, ast.Name) and base.id in local)
        return own or (isinstance(call.func, ast.Attribute) and call.func.attr in COMPUTING)

    def _is_unseen(self, call: ast.Call) -> bool:
        """Whether a call is of a function of another package or file that is not read, and not of one that draws."""
        name = self.feeding.names.of(call.func)
        known = name is None or is_known(name) or self.effects.moves_state(call)
        return not known and self.feeding.values.callee(call) is None

    def _is_read_before(self, loop: ast.For) -> bool:
        """Whether a name that the loop sets may be read before a turn has set it, or after the loop."""
        names = _set_in(loop.body)
        if _set_after(loop.body, names, names_in(loop.target)) is None:
            return True
        function = self.feeding.syntax.function(loop)
        inside = set(walk(loop))
        after = (n for n in walk(function) if n not in inside) if function is not None else iter(())
        return bool({n.id for n in after if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} & names)


def _set_after(body: list[ast.stmt], names: set[str], before: set[str]) -> set[str] | None:
    """Which names a turn has surely set after some statements, of `if` in both arms; None where they read one of `names` before
    the turn has set it."""
    fresh = set(before)
    for statement in body:
        if isinstance(statement, ast.If):
            arms = [_set_after(arm, names, fresh) for arm in (statement.body, statement.orelse)]
            if (_read(statement.test) & names) - fresh or arms[0] is None or arms[1] is None:
                return None
            fresh = arms[0] & arms[1]
            continue
        value = statement.value if isinstance(statement, ast.Assign) else statement
        if (_read(value) & names) - fresh:
            return None
        if isinstance(statement, ast.Assign):
            fresh |= _set_in([statement])
    return fresh


def _set_in(statements: list[ast.stmt]) -> set[str]:
    nodes = (n for s in statements for n in walk(s))
    return {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


def _read(e: ast.AST) -> set[str]:
    """The names that are read, without those that a comprehension sets for itself."""
    clauses = [c.target for c in walk(e) if isinstance(c, ast.comprehension)]
    loads = {n.id for n in walk(e) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return loads - {name for target in clauses for name in names_in(target)}
