"""How a script uses Horovod: its calls by name, what is wrapped or scaled, and whether the file shows all of it.

Calls are found by what their names mean, whatever they are imported as. Only Horovod's TensorFlow and Keras modules count, and
`horovod.torch` in a file that has none of these: beside them it trains something else, as its other modules do."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePath

from horovodize.facts.horovod.size_factors import SizeFactors
from horovodize.facts.horovod.unseen_modules import are_given_nothing
from horovodize.python.module import Module
from horovodize.python.syntax import argument
from horovodize.summary.call_paths import Drive

_LAUNCHERS = ("horovod.spark.", "horovod.ray.", "sparkdl.")  # start ranks of their own
_OTHER = ("torch", "mxnet", "spark", "ray", "runner", "run", "common")
COLLECTIVES = frozenset(
    "allreduce allreduce_ grouped_allreduce allgather grouped_allgather broadcast broadcast_ broadcast_variables "
    "broadcast_global_variables broadcast_object allgather_object alltoall reducescatter grouped_reducescatter join "
    "barrier broadcast_parameters broadcast_optimizer_state".split()
)
WRAPPERS = ("DistributedOptimizer", "PartialDistributedOptimizer")
TAPES = ("DistributedGradientTape", "PartialDistributedGradientTape")
# Packages that never start Horovod for a script. Anything else might, so with it nothing is said to be missing.
_ELSEWHERE = frozenset(
    "tensorflow keras tf_keras horovod numpy scipy pandas sklearn matplotlib seaborn PIL cv2 skimage imageio tqdm h5py yaml "
    "absl six psutil requests packaging tensorflow_datasets tensorflow_addons tensorflow_hub tensorflow_probability "
    "horovod_keras3 google mpi4py filelock joblib plotly __future__ gym gymnasium nltk gensim librosa soundfile albumentations "
    "imgaug networkx wandb mlflow omegaconf click fire docopt termcolor colorama rich tabulate nibabel pydicom SimpleITK "
    "torch torchvision torchaudio torchtext torchmetrics filelock timm apex transformers datasets "
    "rasterio netCDF4 xarray zarr astropy uproot awkward numba pyarrow tokenizers sentencepiece".split()
)
_SHARING = (  # methods of datasets; schedules and hooks that count steps
    "shard", "take", "StopAtStepHook", "piecewise_constant", "piecewise_constant_decay", "exponential_decay", "cosine_decay",
    "polynomial_decay", "PiecewiseConstantDecay", "ExponentialDecay", "CosineDecay", "PolynomialDecay",
)  # fmt: skip
# Under MPI, Horovod's ranks are those of its world.
_OF_MPI = {"mpi4py.MPI.COMM_WORLD.Get_rank": "rank", "mpi4py.MPI.COMM_WORLD.Get_size": "size"}
_STEPS = (
    "steps_per_epoch", "validation_steps", "num_shards", "last_step", "num_steps", "decay_steps", "boundaries",
)  # fmt: skip
_GIVING = ("__iter__", "__next__", "__getitem__")
_DEPTH = 12


class HorovodUse:
    """What one module does with Horovod."""

    def __init__(self, module: Module, drive: Drive) -> None:
        self.module, self.drive = module, drive

    @cached_property
    def of_torch(self) -> bool:
        """Whether the module trains with `horovod.torch`, and with no other module of Horovod."""
        return self.module.imports("horovod.torch") and not self.module.imports(
            "horovod.tensorflow", "horovod.keras", "horovod_keras3"
        )

    @cached_property
    def _by_name(self) -> dict[str, list[ast.Call]]:
        found: dict[str, list[ast.Call]] = {}
        for full in self.module.calls:
            parts = full.split(".")
            if parts[0] != "horovod" or len(parts) < 2:
                continue
            if parts[1] not in _OTHER or (parts[1] == "torch" and self.of_torch):
                found.setdefault(parts[-1], []).extend(self.module.calls_of(full))
        for asked, name in _OF_MPI.items() if found else ():
            found.setdefault(name, []).extend(self.module.calls_of(asked))
        return found

    def calls(self, *names: str) -> list[ast.Call]:
        """The calls of Horovod's functions and classes with these own names, in the order of the text."""
        found = [call for name in names for call in self._by_name.get(name, ())]
        return sorted(found, key=lambda c: (c.lineno, c.col_offset))

    def is_call(self, node: ast.AST, *names: str) -> bool:
        """Whether a node is a call of one of these functions and classes of Horovod's."""
        return isinstance(node, ast.Call) and self._names.get(node) in names

    @cached_property
    def _names(self) -> dict[ast.Call, str]:
        """What each of these calls calls, by its own name."""
        return {call: name for name, calls in self._by_name.items() for call in calls}

    def name_of(self, call: ast.Call) -> str:
        """What a call is called in Horovod: "horovod.tensorflow.keras.rank"; "" for anything else."""
        full = self.module.names.of(call.func) or ""
        return full if full.startswith("horovod.") else ""

    # ------------------------------------------------------------------ how much the file shows

    @cached_property
    def starts(self) -> list[ast.expr]:
        """Where Horovod is initialised: calls of `init`, of any of its modules, and places where `init` itself is passed on."""
        return [
            node
            for node in self.module.loads.get("init")
            if (self.module.names.of(node) or "").startswith("horovod.")
        ]

    @cached_property
    def is_passed_on(self) -> bool:
        """Whether Horovod's module itself is given away, or all its names are imported: then others may use it unseen."""
        names, syntax = self.module.names, self.module.syntax
        if any(base.startswith("horovod") for base, _ in self.module.scopes.star_imports):
            return True
        bound = {b.name for b in self.module.scopes.imports if b.imported.startswith("horovod")}
        for name in bound:
            for node in self.module.loads.get(name):
                outside = syntax.parent.get(node)
                asks = isinstance(outside, ast.Call) and names.last(outside.func) in ("hasattr", "print")
                attribute = isinstance(outside, ast.Attribute) or asks
                full = names.of(node) or ""
                if not attribute and full.startswith("horovod") and not full[-1:].isupper() and "." in full:
                    if full.rsplit(".", 1)[-1] in ("tensorflow", "keras", "horovod", "torch"):
                        return True
        return False

    @cached_property
    def members(self) -> frozenset[str]:
        """How the modules and packages of the project are called that are read together with the script."""
        members = getattr(self.module.document, "members", ())
        return frozenset(
            {PurePath(m.path).stem for m in members} | {PurePath(m.path).parent.name for m in members}
        )

    @cached_property
    def is_whole(self) -> bool:
        """Whether the file shows all that is done with Horovod: it imports nothing that might do some of it (modules of its
        own project, packages that are not known), and gives Horovod to nobody."""
        return not self._unseen and not self._is_launched and not self.is_passed_on

    @cached_property
    def shows_training(self) -> bool:
        """Whether the file shows all that is done with what it trains: what it imports besides is given nothing of it."""
        if self.is_whole:
            return True
        return (
            not self._is_launched and not self.is_passed_on and are_given_nothing(self.module, self._unseen)
        )

    @cached_property
    def _unseen(self) -> set[str]:
        """What is imported and might use Horovod, too."""
        known = _ELSEWHERE | sys.stdlib_module_names | self.members
        return {path.split(".")[0] for path in self.module.imported} - known

    @cached_property
    def _is_launched(self) -> bool:
        return any(self.module.imports(f"horovod.{part}") for part in ("spark", "ray"))

    @cached_property
    def ranks_begin_elsewhere(self) -> bool:
        """Whether the script is no rank itself, and gives functions to Spark or Ray, which run them as ranks."""
        return any(name.startswith(_LAUNCHERS) for name in self.module.calls)

    def on_ranks(self, node: ast.AST) -> bool:
        """Whether what runs a node is a rank: surely the script, unless ranks begin elsewhere; then a function with `init`."""
        if not self.ranks_begin_elsewhere:
            return True
        begin = {self.module.syntax.function(start) for start in self.starts} - {None}
        ways = self.drive.ways(node)
        return bool(ways) and all(any(frame.function in begin for frame in way) for way in ways)

    def runs(self, node: ast.AST) -> bool:
        """Whether running the file runs a node: a way leads to it from the module's own statements."""
        return any(way[-1].function is None for way in self.drive.ways(node))

    # ------------------------------------------------------------------ values

    def depends_on(self, e: ast.AST, *names: str, limit: int = 400) -> bool:
        """Whether calls of Horovod so named contribute to a value, as far as it can be followed."""
        return any(self.is_call(node, *names) for node in self._behind(e, limit))

    def _behind(self, e: ast.AST, limit: int) -> Iterator[ast.AST]:
        """What contributes to a value: also what objects of the script's own classes give to who goes through them."""
        values = self.module.values
        todo, classes = [e], set[ast.ClassDef]()
        while todo:
            for node in values.depends([todo.pop()], limit):
                yield node
                made = values.callee(node) if isinstance(node, ast.Call) else None
                if isinstance(made, ast.ClassDef) and made not in classes:
                    classes.add(made)
                    methods = (
                        m for name in _GIVING for m in values.definitions.methods_of(name, frozenset([made]))
                    )
                    todo += (value for m in methods for value in values.returned(m))

    @cached_property
    def _factors(self) -> SizeFactors:
        return SizeFactors(self)

    def factor(self, e: ast.expr) -> int | None:
        """How many times a value is multiplied by the number of ranks (0: not at all; -1: divided by it); None where that
        can't be seen, or differs from case to case."""
        found = self._factors.of(e)
        return next(iter(found)) if len(found) == 1 else None

    def parameter_of_estimator(self, e: ast.expr) -> ast.expr:
        """What an Estimator hands to its `model_fn` under a key, `params["steps"]`; any other expression as it is."""
        found = self._factors.parameter_of_estimator(e) if isinstance(e, ast.Subscript) else None
        return found if found is not None else e

    def most(self, e: ast.expr) -> int:
        """The most times that a value is multiplied by the number of ranks in any case that is seen; 0 if none is."""
        return max((f for f in self._factors.of(e) if f is not None), default=0)

    def is_number_of_shares(self, read: ast.AST) -> bool:
        """Whether `hvd.size` is read for nothing but to divide rows or the steps of an epoch, or to print it."""
        return self._is_share(read, _DEPTH)

    def _is_share(self, read: ast.AST, depth: int) -> bool:
        parent = self.module.syntax.parent
        child, e = read, parent.get(read)
        while isinstance(
            e,
            (
                ast.Call,
                ast.BinOp,
                ast.FormattedValue,
                ast.JoinedStr,
                ast.keyword,
                ast.UnaryOp,
                ast.Slice,
                ast.List,
                ast.Tuple,
            ),
        ):
            if isinstance(e, ast.Slice):
                return True  # the rows of a rank
            if isinstance(e, ast.BinOp) and not (
                isinstance(e.op, (ast.FloorDiv, ast.Div)) and child is e.right
            ):
                text = isinstance(e.op, ast.Mod) and isinstance(e.left, (ast.Constant, ast.JoinedStr))
                if not text and not self._is_in_slice(e):
                    return False
            if isinstance(e, ast.keyword) and e.arg not in _STEPS:
                return False
            if isinstance(e, ast.keyword):
                return True
            if isinstance(e, ast.Call) and child is not e.func:
                last = self.module.names.last(e.func)
                return last in _SHARING or (last == "print" and isinstance(parent.get(e), ast.Expr))
            child, e = e, parent.get(e)
        if isinstance(e, ast.Assign) and depth and len(e.targets) == 1 and isinstance(e.targets[0], ast.Name):
            read_later = [
                n
                for n in self.module.loads.get(e.targets[0].id)
                if isinstance(n, ast.Name) and any(b.statement is e for b in self.module.scopes.reaching(n))
            ]
            return bool(read_later) and all(self._is_share(n, depth - 1) for n in read_later)
        return False

    def _is_in_slice(self, e: ast.AST) -> bool:
        """Whether a sum or a product is a bound of a slice: `rows[rank * share : (rank + 1) * share]`."""
        parent = self.module.syntax.parent
        outer: ast.AST | None = e
        while isinstance(outer, (ast.BinOp, ast.UnaryOp)):
            outer = parent.get(outer)
        return isinstance(outer, ast.Slice)

    # ------------------------------------------------------------------ optimizers

    @cached_property
    def wrapped(self) -> list[ast.Call]:
        """The calls that wrap an optimizer."""
        return self.calls(*WRAPPERS)

    def inside(self, wrapper: ast.Call) -> ast.expr | None:
        """What a wrapper wraps."""
        return argument(wrapper, "optimizer", 0) or argument(wrapper, "gradtape", 0)

    def rates(self, wrapper: ast.Call) -> Iterator[ast.expr]:
        """The rates that a wrapped optimizer may be made with, where they are written."""
        inner = self.inside(wrapper)
        for call in self.module.values.calls(inner) if inner is not None else ():
            if self.module.is_optimizer(call):
                yield from rates_of(call)


def rates_of(call: ast.Call) -> Iterator[ast.expr]:
    """The learning rate that an optimizer's constructor is given."""
    found = argument(call, "learning_rate", 0) or argument(call, "lr", 0)
    if found is not None:
        yield found
