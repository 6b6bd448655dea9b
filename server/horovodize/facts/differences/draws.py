"""Which random numbers are the same on every rank: those that a seed fixes, itself the same on every rank."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from horovodize.facts.differences import command_line
from horovodize.facts.differences.answers import Uniform
from horovodize.facts.differences.sources import (
    ALWAYS_OWN,
    DRAWN_OF_SCIPY,
    FUNCTIONS,
    NOT_DRAWN,
    PREFIXES,
    SEED_ARGUMENTS,
    SEED_GENERATOR,
    SEEDS,
    STATELESS,
    Source,
)
from horovodize.python.random_generators import MAKERS, initializers, is_of_layer, makers
from horovodize.python.syntax import argument, arguments, is_main_guard, position, says_none
from horovodize.source.nodes import walk

if TYPE_CHECKING:
    from horovodize.facts.differences.uniform import Uniformity
    from horovodize.summary.call_paths import Frame

# Of Python's and NumPy's functions those that give several numbers whatever they are given.
_SEVERAL = {
    "permutation",
    "permuted",
    "shuffle",
    "sample",
    "choices",
    "randbytes",
    "bytes",
    "train_test_split",
    "resample",
}
_SHAPED = {
    "rand",
    "randn",
    "random_sample",
    "standard_normal",
    "ranf",
    "random",
    "random_integers",
    "dirichlet",
}
_ONE_BEFORE_SIZE = {"choice", "poisson", "exponential", "geometric", "chisquare", "rayleigh"}

_DRAWING = tuple(prefix for prefix, source in PREFIXES if source is Source.CHANCE)

_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)
_PLAIN = ("numpy.", "random.", "tensorflow.random.", "tensorflow.compat.v1.set_random_seed", "os.", "glob.")

_WEIGHTS = "tensorflow.random."  # what seeds first weights


class Draws:
    """The random draws of one module."""

    def __init__(self, uniformity: Uniformity) -> None:
        self.uniformity, self.module = uniformity, uniformity.module
        self._seeding: list[ast.Call] | None = None

    def is_drawn(self, name: str) -> bool:
        """Whether a function of this name draws at random."""
        if name in NOT_DRAWN or name in MAKERS:
            return False
        if name.startswith("scipy.stats.") and ".qmc." not in name:
            return name.rpartition(".")[2] in DRAWN_OF_SCIPY
        if FUNCTIONS.get(name) is Source.CHANCE:
            return True
        return name.startswith(_DRAWING)

    def draws(self, call: ast.Call) -> bool:
        """Whether a call draws at random: a library's function, a method of a generator, or what draws first weights."""
        of_library = self.is_drawn(self.module.names.of(call.func) or "")
        of_weights = bool(initializers(self.module, call)) or is_of_layer(call)
        return of_library or self.maker(call) is not None or of_weights

    def draws_own_weights(self, call: ast.Call) -> bool:
        """Whether a call draws first weights, `tf.keras.initializers.HeNormal()([4, 16])`, that no seed fixes."""
        made = initializers(self.module, call)
        return any(not self.is_fixed(m, _WEIGHTS) for m in made) or (
            is_of_layer(call) and not self.is_seeded(_WEIGHTS, call)
        )

    def maker(self, call: ast.Call) -> ast.Call | None:
        """The call that made the generator whose method draws here: `np.random.default_rng()`."""
        made = makers(self.module, call)
        return next((m for m in made if not self.gives_seed(m)), made[0]) if made else None

    def key(self, call: ast.Call) -> ast.expr | None:
        """By what a call draws that goes by nothing else: `seed=(7, step)` of `tf.random.stateless_uniform`."""
        name = self.module.names.of(call.func) or ""
        if not name.startswith(STATELESS):
            return None
        return argument(call, "seed", 2 if name.endswith("categorical") else 1)

    def has_stream(self, call: ast.Call) -> bool:
        """Whether a draw is from a stream of Python's or NumPy's: a method of a generator, bound or not."""
        if self.maker(call) is not None:
            return True
        return (self.module.names.of(call.func) or "").startswith(("random.", "numpy.random."))

    def is_fixed(self, call: ast.Call, name: str) -> bool:
        """Whether a seed fixes what a call of a function of this name draws, the same on all ranks."""
        if name.startswith(STATELESS):
            return True
        for keyword in SEED_ARGUMENTS:
            given = argument(call, keyword)
            if given is not None and not says_none(given):
                return self._are_seeded(given) and isinstance(self.uniformity.of(given), Uniform)
        return self.is_seeded(name, call)

    def _are_seeded(self, seed: ast.expr) -> bool:
        """Whether the generators of seeds that a draw is given have one: Keras draws that of `SeedGenerator()` from Python's
        stream. Also of a seed that is no generator."""
        made = [c for c in self.module.values.calls(seed) if self.module.names.of(c.func) == SEED_GENERATOR]
        return all(self.gives_seed(c) or self.is_seeded("random.", c) for c in made)

    def is_seeded(self, name: str, draw: ast.AST | None = None) -> bool:
        """Whether the program seeds, whatever way it takes, what the function of that name draws from: before `draw`."""
        if isinstance(draw, ast.Call) and self.is_seeded_just_before(draw):
            return True
        return any(
            name.startswith(SEEDS[self.module.names.of(seed.func) or ""])
            and not self._is_conditional(seed, draw)
            and (draw is None or not self._comes_after(seed, draw))
            and not self.is_undone(seed, draw)
            for seed in self._seeds
        )

    def is_undone(self, seed: ast.Call, draw: ast.AST | None = None) -> bool:
        """Whether the program takes a seed back before a draw: `np.random.seed(1); shuffle(x); np.random.seed(None)`."""
        same = self.module.calls_of(self.module.names.of(seed.func) or "")
        undoing = [c for c in same if self._takes_back(c) and position(c) > position(seed)]
        syntax = self.module.syntax
        between = draw is not None and any(
            isinstance(draw, ast.expr)
            and syntax.function(draw) is syntax.function(c) is syntax.function(seed)
            and position(seed) < position(draw) < position(c)
            for c in undoing
        )
        return bool(undoing) and not between

    def _takes_back(self, call: ast.Call) -> bool:
        """`np.random.seed()`, `np.random.seed(None)`"""
        given = arguments(call)
        return not given or (isinstance(given[0], ast.Constant) and given[0].value is None)

    @property
    def _seeds(self) -> list[ast.Call]:
        if self._seeding is None:
            self._seeding = []  # a seed that is drawn itself is fixed by no other
            self._seeding = [call for call in self.module.calls_of(*SEEDS) if self.gives_seed(call)]
        return self._seeding

    def is_seeded_just_before(self, draw: ast.Call) -> bool:
        """Whether a draw follows a seed in its block, the same on all ranks, and nothing between them draws on each rank as
        often as it likes: no loop, no function of the program, no training."""
        return self._seed_just_before(draw) in self._seeds

    def own_seeds(self, draw: ast.Call) -> list[ast.expr]:
        """The seeds of a rank's own that it draws by, given just before a draw or where its generator is made, and given again:
        rows and targets that are shuffled by one, one after the other, come out in one order."""
        before = self._seed_just_before(draw)
        found = []
        for seeding in [before] if before is not None else makers(self.module, draw):
            seed = self._seed(seeding)
            if seed is None or says_none(seed) or isinstance(self.uniformity.of(seed), Uniform):
                continue
            if self._seeds_again(seeding, seed):
                found.append(seed)
        return found

    def _seeds_again(self, seeding: ast.Call, seed: ast.expr) -> bool:
        """Whether the same seed is given again: beside this, or with each turn of a loop or call of the function around it."""
        syntax, own = self.module.syntax, [r.where for r in self.uniformity.reasons(seed)]
        if any(syntax.inside(where, seed) for where in own):
            return False  # `np.random.seed(int(time.time()))`
        function, text = syntax.function(seeding), ast.dump(seed)
        beside = [c for c in self.module.calls_of(*SEEDS, *MAKERS) if syntax.function(c) is function]
        given = [self._seed(c) for c in beside if c is not seeding]
        if any(other is not None and ast.dump(other) == text for other in given):
            return True
        if any(not any(syntax.inside(where, loop) for where in own) for loop in syntax.loops(seeding)):
            return True
        is_handed = function is not None and not any(syntax.inside(where, function) for where in own)
        return is_handed and len(list(self.uniformity.drive.ways(seeding))) > 1

    def _seed_just_before(self, draw: ast.Call) -> ast.Call | None:
        syntax, name = self.module.syntax, self.module.names.of(draw.func) or ""
        statement = syntax.statement(draw)
        if not isinstance(statement, _SIMPLE) or any(
            isinstance(a, ast.Lambda) for a in syntax.ancestors(draw)
        ):
            return None
        block = syntax.block(statement)
        for before in reversed(block[: block.index(statement)]):
            call = before.value if isinstance(before, ast.Expr) else None
            if isinstance(call, ast.Call) and name.startswith(
                SEEDS.get(self.module.names.of(call.func) or "", ())
            ):
                return call
            if not isinstance(before, _SIMPLE) or not all(map(self._is_plain, _calls(before))):
                return None
        return None

    def _is_plain(self, call: ast.Call) -> bool:
        """Whether a call is of a function of a library that is known, or a builtin one: it doesn't train."""
        name = self.module.names.of(call.func)
        if name is not None:
            return name.startswith(_PLAIN)
        return isinstance(call.func, ast.Name) and self.module.scopes.is_builtin(call.func)

    def gives_seed(self, call: ast.Call) -> bool:
        """Whether a call that seeds, or makes a generator, gives it a seed, the same on every rank."""
        seed = self._seed(call)
        return seed is not None and self.may_give_seed(call) and not self._may_be_none(seed)

    def may_give_seed(self, call: ast.Call) -> bool:
        """The same, or where it depends on an option that may be None: `np.random.seed(args.seed)`."""
        seed = self._seed(call)
        if seed is None or says_none(seed):
            return False
        origins = self.module.values.origins(seed)
        return isinstance(self.uniformity.of(seed), Uniform) and not all(says_none(o.node) for o in origins)

    def _seed(self, call: ast.Call) -> ast.expr | None:
        if self.module.names.of(call.func) in ALWAYS_OWN:
            return None
        given = arguments(call)
        return given[0] if given else None  # the first, whatever it is called

    def _may_be_none(self, seed: ast.expr) -> bool:
        """Whether a seed may be None, which seeds each process differently: an option, unless its default is a number."""
        for o in self.module.values.origins(seed):
            if says_none(o.node) or self._is_of_the_system(o.node):
                return True
            if isinstance(o.node, ast.Attribute) and self.module.names.of(o.node) is None:
                if self._is_counted(o.node):
                    continue
                default = self.default_of(o.node.attr)
                if default is None or says_none(default):
                    return True
        return False

    def _is_of_the_system(self, made: ast.AST) -> bool:
        """Whether a seed is what the operating system gives, `SeedSequence()`: another on each rank."""
        if not isinstance(made, ast.Call) or self.module.names.of(made.func) != "numpy.random.SeedSequence":
            return False
        given = arguments(made)
        return not given or says_none(given[0])

    def _is_counted(self, held: ast.Attribute) -> bool:
        """Whether something is added to what an object holds, which is a number then: `self.epoch += 1`."""
        bound = self.module.values.attribute_bindings(held)
        return any(b.kind == "augment" for b in bound)

    def default_of(self, setting: str) -> ast.expr | None:
        """What a setting is unless the program is given another: an option of the command line, a class or a namespace."""
        return command_line.default(self.module, setting) or self._set_in_class(setting)

    def _set_in_class(self, name: str) -> ast.expr | None:
        """What an attribute is for all objects of a class, or of a namespace: `class Config: seed = 7`, `Namespace(seed=7)`."""
        found: list[ast.expr | None] = []
        for b in self.module.syntax.every(ast.ClassDef):
            for s in b.body:
                targets = (
                    s.targets
                    if isinstance(s, ast.Assign)
                    else [s.target]
                    if isinstance(s, ast.AnnAssign)
                    else []
                )
                if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                    found.append(s.value)  # type: ignore[attr-defined]
        for call in self.module.calls_called(
            "SimpleNamespace", "Namespace", "EasyDict", "edict", "AttrDict", "Munch"
        ):
            found += [k.value for k in call.keywords if k.arg == name]
        doubtful = [v for v in found if not isinstance(v, ast.Constant) or v.value is None]
        return (doubtful or found or [None])[0]

    def _is_conditional(self, call: ast.Call, draw: ast.AST | None = None) -> bool:
        """`if args.seed is not None: …`; of a draw elsewhere also where a function seeds that is called under a condition."""
        syntax = self.module.syntax

        def is_under_test(node: ast.AST) -> bool:
            return any(isinstance(a, ast.If) and not is_main_guard(a) for a in syntax.ancestors(node))

        if draw is None or syntax.function(draw) is syntax.function(call):
            return is_under_test(call)
        ways = self.uniformity.drive.ways(call)
        return all(any(is_under_test(frame.node) for frame in way) for way in ways)

    def _comes_after(self, seed: ast.Call, draw: ast.AST) -> bool:
        """Whether the program may come to a draw before it seeds, or never seeds: in a function that nothing calls."""
        seeding = self.uniformity.drive.ways(seed)
        return any(not any(self._is_before(s, d) for s in seeding) for d in self.uniformity.drive.ways(draw))

    def _is_before(self, first: tuple[Frame, ...], then: tuple[Frame, ...]) -> bool:
        """Whether one way through the program comes to its end before another; each is given from its end outwards."""
        for one, other in zip(reversed(first), reversed(then), strict=False):
            if one.function is not other.function:
                return (
                    one.function is None
                )  # what is called from elsewhere runs later than a module's own statements
            if one.node is not other.node:
                file = self._file(one.node)
                if file is not self._file(other.node):
                    return file is not self.module.tree  # the script's own statements come after its imports
                return _at(one.node) < _at(other.node) or bool(other.loops)
        return False

    def _file(self, node: ast.AST) -> ast.AST:
        return [node, *self.module.syntax.ancestors(node)][-1]

    def gives_one(self, call: ast.Call, last: str) -> bool:
        """Whether a draw gives a single value, rather than an array of them."""
        name = self.module.names.of(call.func) or ""
        if name.startswith("tensorflow.") or argument(call, "size") is not None or last in _SEVERAL:
            return False
        if last in _SHAPED:
            return not call.args
        return len(call.args) < (2 if last in _ONE_BEFORE_SIZE else 3)


def _at(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _calls(statement: ast.stmt) -> list[ast.Call]:
    return [n for n in walk(statement) if isinstance(n, ast.Call)]
