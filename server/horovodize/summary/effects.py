"""What every rank must do, though it stands beside output: what statements share between ranks.

*Shared* is a training step, or something that moves on a state that all ranks must keep in step (an iterator, a random
generator, an attribute): it may not be left to one rank along with a print, a file or a window (`output_calls.py`).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection
from functools import cached_property

from horovodize import catalogue
from horovodize.python import shell_commands
from horovodize.python.module import Module
from horovodize.python.random_generators import makers
from horovodize.python.syntax import FUNCTIONS, argument
from horovodize.summary.call_paths import Drive
from horovodize.summary.drawn_orders import DrawnOrders
from horovodize.summary.output_calls import OutputCalls
from horovodize.summary.sites import MODEL, Sites
from horovodize.summary.traced import traced_functions

_ARCHIVES = {"zipfile.ZipFile", "tarfile.open", "tarfile.TarFile", "tarfile.TarFile.open"}
_UNPACKS = {"shutil.unpack_archive"}
# Methods and functions that move a state on, on whatever they are called.
_CONSUMING = {
    "send", "pop", "popleft", "popitem", "append", "appendleft", "extend", "extendleft", "insert", "add", "remove", "discard",
    "clear", "update", "setdefault", "sort", "reverse", "shuffle", "assign", "assign_add", "assign_sub", "update_state",
    "reset_state", "reset_states", "read", "readline", "readlines", "get_next", "get_batch", "next_batch", "__next__",
    "set_weights", "load_weights", "restore", "put", "push", "write", "seed", "compile", "build", "adapt", "set_value",
}  # fmt: skip
_READING = ("read", "readline", "readlines")
_CONSUMING_BUILTINS = {"next", "setattr", "delattr", "exec"}
# Functions that change what they are handed first, and methods of queues that take from them.
_CHANGING_FIRST = {
    "heapq.heappop", "heapq.heappush", "heapq.heappushpop", "heapq.heapreplace", "heapq.heapify", "bisect.insort",
    "bisect.insort_left", "bisect.insort_right", "operator.setitem", "operator.delitem", "random.shuffle",
}  # fmt: skip
_QUEUES = re.compile(r"(queue|multiprocessing|multiprocessing\.queues|Queue)\.\w*Queue$")
_TAKING = ("get", "get_nowait")
_GOING_THROUGH = {"list", "tuple", "set", "sorted", "sum", "max", "min"}
_RANDOM = re.compile(
    r"(numpy\.random|random|tensorflow\.random|tensorflow\.compat\.v1)\.(?!stateless|set_seed|set_random_seed|Generator)"
    r"(random\w*|normal|uniform|randint|rand|randn|choice|choices|sample|permutation|shuffle|truncated_normal|gauss|seed)$"
)
_ASKING = ("get_state", "getstate")  # leave a generator of random numbers as it is
_UNKNOWN_TRAINING = re.compile(
    r"(^|_)(train|fit|step|update|next|optimi[sz]e|learn(?!ing_rate)|backward|minimize|evaluate)", re.I
)


_GRAPH_INPUTS = {
    "make_one_shot_iterator", "make_initializable_iterator", "from_structure", "from_string_handle", "get_next",
    "shuffle_batch", "batch_join", "shuffle_batch_join", "start_queue_runners", "string_input_producer",
    "slice_input_producer", "dequeue", "dequeue_many",
}  # fmt: skip
_METRIC = "tensorflow.keras.metrics.Metric"
_BUILT = {MODEL, _METRIC, "tensorflow.keras.layers.Layer", "tensorflow.Variable", "tensorflow.Module"}
_BUILT_BY = ("tensorflow.keras.models.", "tensorflow.keras.applications.", "tensorflow_hub.")
_HARMLESS_PACKAGES = sys.stdlib_module_names | {
    "tensorflow", "numpy", "pandas", "matplotlib", "scipy", "sklearn", "PIL", "cv2", "skimage", "seaborn", "plotly", "tabulate",
    "prettytable", "rich", "termcolor", "colorama", "yaml", "IPython", "tqdm", "wandb", "mlflow", "h5py", "joblib", "imageio",
}  # fmt: skip


class Effects:
    """Effects of one module's calls and statements. of_all, early: as of `OutputCalls`."""

    def __init__(
        self,
        module: Module,
        sites: Sites,
        drive: Drive,
        of_all: Collection[ast.Call] = (),
        early: Collection[ast.AST] = (),
    ) -> None:
        self.module, self.sites, self.drive = module, sites, drive
        self.output_calls = OutputCalls(module, sites, of_all, early)
        self.opening, self.orders = self.output_calls.opening, DrawnOrders(module, sites)
        self._shared: dict[ast.AST, bool] = {}

    def plots(self, statement: ast.stmt) -> bool:
        """Whether a statement only draws into Matplotlib's current figure."""
        call = statement.value if isinstance(statement, ast.Expr) else None
        return isinstance(call, ast.Call) and draws_alone(self.module, call) and not self.shares(statement)

    # ------------------------------------------------------------------ shared

    @cached_property
    def steps(self) -> set[ast.AST]:
        """Calls that every rank must make: they train, evaluate, or (downloads) get a barrier of their own."""
        found: set[ast.AST] = {f.call for f in self.sites.fits}
        found |= {run.call for run in self.sites.graph.runs}
        if self.draws_in_graph:  # a run that takes an element: the other ranks have to take one, too
            found |= {call for call in self.sites.graph.all_runs if self._takes_input(call)}
        for update in self.sites.updates:
            found |= {update.call, *update.gradients}
        for call in self.module.calls_written.get(".evaluate", ".evaluate_generator"):
            if isinstance(call.func, ast.Attribute) and self.output_calls.models.is_one(call.func.value):
                found.add(call)
        return found.union(self.downloads)

    @property
    def downloads(self) -> list[ast.Call]:
        """The calls that may bring files to this host that the program then reads."""
        return self.module.calls_which(_downloads)

    @property
    def unpacks(self) -> list[ast.Call]:
        """The calls that write out the files of an archive, which the program then reads."""
        return self.module.calls_which(_unpacks)

    @cached_property
    def draws_in_graph(self) -> bool:
        """Whether a TF1 graph draws its data itself: from an iterator or a queue."""
        if not self.sites.builds_graph:
            return False
        names = {self.module.names.last(c.func) for c in self.module.syntax.calls}
        return bool(names & _GRAPH_INPUTS)

    def _takes_input(self, call: ast.Call) -> bool:
        """Whether what a session runs may be computed from an iterator's or a queue's next element."""
        fetched = [*call.args[:1], *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
        return any(
            isinstance(n, ast.Call) and self.module.names.last(n.func) in _GRAPH_INPUTS
            for n in self.module.values.depends(fetched, 800)
        )

    def shares(self, node: ast.AST, aside: Collection[ast.AST] = ()) -> bool:
        """Whether running a node does something that every rank must do, `aside` not counted."""
        return any(n not in aside and self._node_shares(n, None) for n in _executed(node))

    def moves_state(self, call: ast.Call, inside: ast.AST | None = None) -> bool:
        """Whether a call itself, its arguments aside, does something that every rank must do. inside: the function that it
        stands in, whose own locals are its own affair"""
        return self._node_shares(call, inside)

    def _node_shares(self, n: ast.AST, inside: ast.AST | None) -> bool:
        """`inside` is the function whose body is being read: what it does to its own locals is its own affair."""
        if n in self.steps or isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)):
            return True
        if isinstance(n, ast.NamedExpr):
            return inside is None
        if isinstance(n, (ast.For, ast.comprehension)) and self.orders.is_drawn_anew(n.iter):
            return True
        if isinstance(n, ast.Call):
            return self._call_shares(n, inside)
        if inside is not None:
            if isinstance(n, (ast.Global, ast.Nonlocal)):
                return True
            if isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.ctx, (ast.Store, ast.Del)):
                return not self._is_local(n, inside)
        return False

    def _is_read_there(self, opening: ast.Call) -> bool:
        """Whether a call opens a file for reading: `open(path).read()`."""
        return self.opening.is_open(opening) and self.opening.written(opening) is None

    def _is_copied(self, reading: ast.Call) -> bool:
        """Whether what is read goes into a file that is opened for it: `open(path, "wb").write(f.read())`."""
        written = self.module.syntax.parent[reading]
        opened = (
            written.func.value
            if isinstance(written, ast.Call) and isinstance(written.func, ast.Attribute)
            else None
        )
        return isinstance(opened, ast.Call) and self.opening.written(opened) is not None

    def _is_read_once(self, file: ast.expr) -> bool:
        """Whether a name is given one file, which is read in this place alone: `f = open(path)`, `f.read()`, `f.close()`."""
        scopes, syntax = self.module.scopes, self.module.syntax
        bound = scopes.reaching(file) if isinstance(file, ast.Name) else []
        if len(bound) != 1 or bound[0].kind not in ("assign", "with") or bound[0].path:
            return False
        owner = scopes.lookup(bound[0].name, file)
        named = (
            n for n in syntax.every(ast.Name) if n.id == bound[0].name and scopes.lookup(n.id, n) is owner
        )
        read = (n for n in named if isinstance(n.ctx, ast.Load) and n is not file)
        around = (syntax.parent[n] for n in read)
        return all(isinstance(a, ast.Attribute) and a.attr == "close" for a in around)

    def _call_shares(self, call: ast.Call, inside: ast.AST | None) -> bool:
        m, func = self.module, call.func
        if self.output_calls.of(call) is not None:
            return False  # its arguments are looked at on their own
        if self.output_calls.waits_for_user(call):
            return True
        callee = m.values.callee(call)
        if isinstance(callee, ast.ClassDef):
            inits = [s for s in callee.body if isinstance(s, FUNCTIONS) and s.name == "__init__"]
            return any(self.function_shares(s, constructor=True) for s in inits)
        if callee is not None:
            return self.function_shares(callee)
        name = m.names.of(func)
        if (
            (name is not None and _RANDOM.match(name))
            or self._builds(call, name)
            or self._draws(call, inside)
        ):
            return True
        training = argument(call, "training")
        if isinstance(training, ast.Constant) and training.value is True:
            return True  # moves the statistics of batch normalisation on
        if name in _CHANGING_FIRST:
            return inside is None or not all(self._is_local(e, inside) for e in call.args[:1])
        if isinstance(func, ast.Attribute) and func.attr in _TAKING and self._is_queue(func.value):
            return inside is None or not self._is_local(func, inside)
        if isinstance(func, ast.Name):
            if not m.scopes.reaching(func):
                through = func.id in _GOING_THROUGH and any(map(self.orders.is_drawn_anew, call.args[:1]))
                return func.id in _CONSUMING_BUILTINS or through
            imported = name is not None and not name.startswith(("tensorflow.", "numpy."))
            return imported and bool(_UNKNOWN_TRAINING.search(func.id))
        if isinstance(func, ast.Attribute):
            if name is not None and catalogue.function(name) is not None:
                return False
            if func.attr in _CONSUMING:
                if isinstance(func.value, ast.Call) and self._is_read_there(func.value):
                    return False  # nobody else reads on in it
                if func.attr in _READING and self._is_copied(call) and self._is_read_once(func.value):
                    return False
                return name is None and (inside is None or not self._is_local(func, inside))
            return _UNKNOWN_TRAINING.search(func.attr) is not None and not (name or "").startswith(
                ("tensorflow.", "numpy.")
            )
        return False

    def generators(self, call: ast.Call) -> list[ast.Call]:
        """The calls that make what moves on where a generator of random numbers draws: `default_rng(0)` of `rng.normal()`."""
        return [] if self.module.names.last(call.func) in _ASKING else makers(self.module, call)

    def _draws(self, call: ast.Call, inside: ast.AST | None) -> bool:
        """Whether a call draws from a generator that goes on after it: none of the function's own."""
        made = self.generators(call)
        return any(inside is None or not self.module.syntax.inside(m, inside) for m in made)

    def _builds(self, call: ast.Call, name: str | None) -> bool:
        """Whether a call makes a model, a layer, a variable or a metric, or moves a metric on. Keras numbers what it makes,
        Horovod goes by the names that come of it: made on one rank only, they differ from then on, and training stalls."""
        values = self.module.values
        if _BUILT & values.made_by(call) or (name or "").startswith(_BUILT_BY):
            return True
        if isinstance(call.func, (ast.Name, ast.Attribute)) and _METRIC in values.class_names(call.func):
            return True
        last = self.module.names.last(call.func)
        return (
            last[:1].isupper()
            and name is not None
            and name.lstrip(".").split(".")[0] not in _HARMLESS_PACKAGES
        )

    def function_shares(self, function: ast.AST, constructor: bool = False) -> bool:
        """Whether running a function of the program does something that every rank must do."""
        if function not in self._shared:
            self._shared[function] = False  # recursion adds nothing
            self._shared[function] = any(
                self._node_shares(n, function) and not (constructor and self._sets_self(n, function))
                for s in (
                    function.body
                    if isinstance(function, FUNCTIONS)
                    else [getattr(function, "body", function)]
                )
                for n in _executed(s)
            )
        return self._shared[function]

    def _sets_self(self, n: ast.AST, function: ast.AST) -> bool:
        """A constructor may set attributes of what it makes."""
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and isinstance(function, FUNCTIONS):
            return bool(function.args.args) and n.value.id == function.args.args[0].arg
        return False

    def _is_queue(self, e: ast.expr) -> bool:
        return any(
            _QUEUES.match(self.module.names.of(made.func) or "") for made in self.module.values.calls(e)
        )

    def _is_local(self, n: ast.expr, function: ast.AST) -> bool:
        """Whether something, or what an attribute or item hangs on, is made by the function itself."""
        base = n
        while isinstance(base, (ast.Attribute, ast.Subscript)):
            base = base.value
        if isinstance(base, ast.Call):
            return True
        if not isinstance(base, ast.Name) or self.module.scopes.lookup(base.id, base) is not function:
            return False
        bindings = self.module.scopes.names[function][base.id]
        return all(
            b.kind == "assign" and isinstance(b.value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.Call))
            for b in bindings
        )

    # ------------------------------------------------------------------ traced code

    @cached_property
    def _traced(self) -> set[ast.AST]:
        return traced_functions(self.module, self.sites, self.drive)

    def may_be_traced(self, node: ast.AST) -> bool:
        """Whether TensorFlow may trace a node into a graph: also in what Keras traces, or calls in what it traces."""
        return any(a in self._traced for a in self.module.syntax.ancestors(node) if isinstance(a, FUNCTIONS))


def _downloads(module: Module, call: ast.Call) -> bool:
    name = module.names.of(call.func)
    told = next((k.value for k in call.keywords if k.arg == "download"), None)
    if isinstance(told, ast.Constant) and told.value is False:
        return False  # `tfds.load("mnist", download=False)` reads what is there
    return name is not None and (catalogue.downloads(name) or shell_commands.deed(module, call) == "fetch")


def _unpacks(module: Module, call: ast.Call) -> bool:
    func = call.func
    if module.names.of(func) in _UNPACKS:
        return True
    if not isinstance(func, ast.Attribute) or func.attr not in ("extractall", "extract"):
        return False
    return any(module.names.of(made.func) in _ARCHIVES for made in module.values.calls(func.value))


def draws_alone(module: Module, call: ast.Call) -> bool:
    """Whether a statement is nothing but a call that draws by Matplotlib's `pyplot`."""
    name = module.names.of(call.func) or ""
    return name.startswith(("matplotlib.pyplot.", "pylab.")) and isinstance(
        module.syntax.parent.get(call), ast.Expr
    )


def in_place(module: Module, node: ast.expr) -> bool:
    """Whether a node's text stands where its position says. Inside f-strings Python before 3.12 is not always right."""
    if not any(isinstance(a, ast.JoinedStr) for a in module.syntax.ancestors(node)):
        return True
    try:
        found = ast.parse(f"({module.text(node)})", mode="eval").body
    except SyntaxError:
        return False
    return ast.dump(found) == ast.dump(node)


def _executed(node: ast.AST) -> list[ast.AST]:
    """The nodes that run when a node runs: not the bodies of functions and classes that it only defines. (Of a lambda the
    body counts: it is likely to be called at once.)"""
    found: list[ast.AST] = []
    todo = [node]
    while todo:
        n = todo.pop()
        found.append(n)
        if isinstance(n, (*FUNCTIONS, ast.ClassDef)):
            continue
        todo += ast.iter_child_nodes(n)
    return found
