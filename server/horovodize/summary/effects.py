"""What statements do to the world outside the process, and what every rank must therefore still do.

Two questions, for the rules that leave output to one rank. What is *output*: a print, a file, a window? And what inside
it is *shared*: a training step, or something that moves on a state that all ranks must keep in step (an iterator, a random
generator, an attribute), so that it may not be left to one rank along with the output?
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from horovodize import catalogue
from horovodize.source.nodes import walk
from horovodize.summary import shell_commands
from horovodize.summary.buffers import goes_to_buffer, is_buffer
from horovodize.summary.call_paths import Drive
from horovodize.summary.drawn_orders import DrawnOrders
from horovodize.summary.module import Module
from horovodize.summary.opening import Opening
from horovodize.summary.random_generators import makers
from horovodize.summary.sites import MODEL, Sites
from horovodize.summary.syntax import FUNCTIONS, argument
from horovodize.summary.traced import traced_functions

Kind = Literal["print", "show", "write"]

_PRINTS = {
    "pprint.pprint", "pprint.pp", "tensorflow.print", "tensorflow.compat.v1.print", "sys.stdout.write", "sys.stdout.flush",
    "sys.stderr.write", "sys.stderr.flush", "IPython.display.display", "IPython.display.clear_output",
    "tensorflow.keras.utils.print_summary", "tqdm.tqdm.write", "tqdm.auto.tqdm.write", "tqdm.notebook.tqdm.write",
}  # fmt: skip
_SHOWS = {
    "matplotlib.pyplot.show", "matplotlib.pyplot.pause", "pylab.show", "pylab.pause", "cv2.imshow", "skimage.io.show",
}  # fmt: skip
# Of these, what goes to `sys.stdout`, unless it is told otherwise; and Matplotlib's windows.
_ON_STDOUT = {
    "pprint.pprint", "pprint.pp", "sys.stdout.write", "sys.stdout.flush", "tensorflow.keras.utils.print_summary",
    "tqdm.tqdm.write", "tqdm.auto.tqdm.write", "tqdm.notebook.tqdm.write",
}  # fmt: skip
_IN_WINDOWS = {"matplotlib.pyplot.show", "pylab.show"}
_READS = re.compile(
    r"(open|load(_\w+|txt)?|im(age_)?read|read(_\w+|lines?)?|genfromtxt|fromfile|(list|scan)dir|i?r?glob|walk|stat|get[scma]\w*ime"
    r"|getsize|exists|is_?(file|dir)|latest_checkpoint)$"
)
# What waits until somebody types or clicks.
_WAITS = {
    "matplotlib.pyplot.waitforbuttonpress", "matplotlib.pyplot.ginput", "pylab.waitforbuttonpress", "pylab.ginput",
    "cv2.waitKey", "msvcrt.getch", "getpass.getpass",
}  # fmt: skip
_WAITING_BUILTINS = ("input", "raw_input")
_WAITING_METHODS = ("waitforbuttonpress", "ginput")
_ELSEWHERE = ("file", "stream", "print_fn")  # arguments that send a text elsewhere
_BUILTIN_PRINTS = ("print", "display")
# Calls that any rank may make: they report to a service that `wandb.init(mode="disabled")` silences.
_SILENCED = "wandb."
WRITER = "tensorflow.compat.v1.summary.FileWriter"
_BY_MODE = {"h5py.File"}  # write or not by an argument: `Opening.written` tells
SUMMARY = "a model's summary"
_ARCHIVES = {"zipfile.ZipFile", "tarfile.open", "tarfile.TarFile", "tarfile.TarFile.open"}
_UNPACKS = {"shutil.unpack_archive"}
_KEEPERS = (
    "tensorflow.train.Checkpoint", "tensorflow.train.CheckpointManager", "tensorflow.compat.v1.train.Saver",
    "tensorflow.compat.v1.train.Checkpoint",
)  # fmt: skip
_KEEPER_NAMES = re.compile(r"(^|_)(ckpt|checkpoint|check_point|saver|manager|mngr)", re.I)
_ON_FILES = {"writelines", "writerow", "writerows"}
_SAVES = {"save", "save_weights", "save_model", "export"}

# Methods and functions that move a state on, on whatever they are called.
_CONSUMING = {
    "send", "pop", "popleft", "popitem", "append", "appendleft", "extend", "extendleft", "insert", "add", "remove", "discard",
    "clear", "update", "setdefault", "sort", "reverse", "shuffle", "assign", "assign_add", "assign_sub", "update_state",
    "reset_state", "reset_states", "read", "readline", "readlines", "get_next", "get_batch", "next_batch", "__next__",
    "set_weights", "load_weights", "restore", "put", "push", "write", "seed", "compile", "build", "adapt", "set_value",
}  # fmt: skip
_CONSUMING_BUILTINS = {"next", "setattr", "delattr", "exec"}
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


@dataclass(frozen=True)
class Output:
    """What a call puts out. print: text, harmless when every rank does it; show: a window; write: files."""

    kind: Kind
    what: str


class Effects:
    """Effects of one module's calls and statements."""

    def __init__(
        self,
        module: Module,
        sites: Sites,
        drive: Drive,
        of_all: Collection[ast.Call] = (),
        early: Collection[ast.AST] = (),
    ) -> None:
        """of_all: calls that every rank may make, and that are no output therefore. early: what runs while no rank is known."""
        self.module, self.sites, self.drive, self.of_all, self.early = module, sites, drive, of_all, early
        self.opening, self.orders = Opening(module), DrawnOrders(module, sites)
        self._shared: dict[ast.AST, bool] = {}
        self._outputs: dict[ast.Call, Output | None] = {}

    # ------------------------------------------------------------------ Keras models

    def is_model(self, receiver: ast.expr) -> bool:
        """Whether an expression surely is a Keras model: it is made as one, or it is compiled or fitted somewhere."""
        m = self.module
        if MODEL in m.values.class_names(receiver):
            return True
        owner, text = m.syntax.owner(receiver), ast.unparse(receiver)
        base = {"self": MODEL, "self.model": "tensorflow.keras.callbacks.Callback"}.get(text)
        if owner is not None and base is not None and base in m.values.ancestors(owner):
            return True
        if any(
            m.names.last(c.func) in ("load_model", "clone_model", "model_from_json")
            for c in m.values.calls(receiver)
        ):
            return True
        return text in self._model_texts

    @cached_property
    def _model_texts(self) -> set[str]:
        return {ast.unparse(c.model) for c in self.sites.compiles} | {
            ast.unparse(f.model) for f in self.sites.fits
        }

    # ------------------------------------------------------------------ output

    def output(self, call: ast.Call) -> Output | None:
        """What a call puts out itself; None for nothing, for what stays in a buffer, and for functions of this module (their
        statements count)."""
        if call not in self._outputs:
            output = self._output(call)
            self._outputs[call] = output if output is None or not goes_to_buffer(self.module, call) else None
        return self._outputs[call]

    def _output(self, call: ast.Call) -> Output | None:
        m, func = self.module, call.func
        name = m.names.of(func)
        if m.values.callee(call) is not None or call in self.of_all:
            return None
        if self.waits_for_user(call):
            return Output("show", "an answer") if isinstance(m.syntax.parent.get(call), ast.Expr) else None
        if isinstance(func, ast.Name) and func.id in _BUILTIN_PRINTS and not m.scopes.reaching(func):
            return Output("print", func.id)
        if name is not None:
            if name in _PRINTS:
                return Output("print", name)
            if name in _SHOWS:
                return Output("show", name)
            if name.startswith(_SILENCED) or name in _BY_MODE:
                return None
            if catalogue.writes_files(name):
                return Output("write", name)
            if shell_commands.deed(m, call) == "write":
                return Output("write", "a command")
        told = catalogue.written_to(name or "", func.attr if isinstance(func, ast.Attribute) else "")
        path = argument(call, *told) if told is not None else None
        if path is not None and not is_buffer(m, path):
            return Output("write", "a file")
        return self._method_output(call, func) if isinstance(func, ast.Attribute) else None

    def waits_for_user(self, call: ast.Call) -> bool:
        """Whether a call waits until somebody types or clicks."""
        m, func = self.module, call.func
        if isinstance(func, ast.Name) and func.id in _WAITING_BUILTINS:
            return not m.scopes.reaching(func)
        name = m.names.of(func)
        if name is None and isinstance(func, ast.Attribute) and func.attr in _WAITING_METHODS:
            return m.values.callee(call) is None
        return name in _WAITS

    def _method_output(self, call: ast.Call, func: ast.Attribute) -> Output | None:
        method, receiver = func.attr, func.value
        imported = self.module.names.of(func) is not None and not self.is_model(receiver)
        if WRITER in self.module.values.class_names(receiver):
            return None  # on other ranks, a silent one stands in for it
        if method in _ON_FILES and self.opening.is_opened_here(receiver, self.early):
            return None  # other ranks open the null device
        if method in catalogue.writer_methods:
            return Output("write", catalogue.writer_methods[method])
        if method == "summary" and (not imported):
            return Output("print", SUMMARY)
        if method == "show" and not imported and not call.args:
            return Output("show", "a window")
        known = method != "export" or self.is_model(receiver)
        if method in _SAVES and not imported and known and not _is_super(receiver):
            return Output("write", "a file")
        if method == "write" and self.is_keeper(receiver):
            return Output("write", "a checkpoint")
        return None

    def speaks(self, call: ast.Call) -> bool:
        """Whether all that a call puts out goes to `sys.stdout` or into a window of Matplotlib's, and it reads no file for it,
        which only rank 0 may have."""
        output = self.output(call)
        if output is None or output.kind == "write" or any(k.arg is None for k in call.keywords):
            return False
        if self.reads_files(call):
            return False
        if output.kind == "show":
            return output.what in _IN_WINDOWS
        given = [argument(call, name) for name in _ELSEWHERE]
        if any(g is not None and self.module.names.of(g) != "sys.stdout" for g in given):
            return False
        return output.what in _ON_STDOUT or output.what in ("print", SUMMARY)

    def reads_files(self, node: ast.AST) -> bool:
        """Whether something in a node reads a file, or asks about one, as far as names tell."""
        return any(
            isinstance(n, ast.Call) and _READS.match(self.module.names.last(n.func)) is not None
            for n in walk(node)
        )

    @cached_property
    def has_windows(self) -> bool:
        """Whether Matplotlib shows something while the program runs."""
        shown = (self.output(c) for c in self.module.syntax.calls)
        return any(
            o is not None and o.kind == "show" and o.what.startswith(("matplotlib.", "pylab.")) for o in shown
        )

    def is_keeper(self, receiver: ast.expr) -> bool:
        """Whether an expression is a checkpoint, a checkpoint manager or a saver."""
        names = self.module.values.class_names(receiver)
        if any(k in names for k in _KEEPERS):
            return True
        return not names and bool(_KEEPER_NAMES.search(self.module.names.last(receiver)))

    def plots(self, statement: ast.stmt) -> bool:
        """Whether a statement only draws into Matplotlib's current figure."""
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
            return False
        name = self.module.names.of(statement.value.func) or ""
        return name.startswith(("matplotlib.pyplot.", "pylab.")) and not self.shares(statement)

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
        for call in self.module.syntax.calls:
            func = call.func
            evaluates = isinstance(func, ast.Attribute) and func.attr in ("evaluate", "evaluate_generator")
            if evaluates and isinstance(func, ast.Attribute) and self.is_model(func.value):
                found.add(call)
            if self.downloads(call):
                found.add(call)
        return found

    def downloads(self, call: ast.Call) -> bool:
        """Whether a call may bring files to this host that the program then reads."""
        name = self.module.names.of(call.func)
        return name is not None and (
            catalogue.downloads(name) or shell_commands.deed(self.module, call) == "fetch"
        )

    def unpacks(self, call: ast.Call) -> bool:
        """Whether a call writes out the files of an archive, which the program then reads."""
        func = call.func
        if self.module.names.of(func) in _UNPACKS:
            return True
        if not isinstance(func, ast.Attribute) or func.attr not in ("extractall", "extract"):
            return False
        return any(
            self.module.names.of(made.func) in _ARCHIVES for made in self.module.values.calls(func.value)
        )

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

    def moves_state(self, call: ast.Call) -> bool:
        """Whether a call itself, its arguments aside, does something that every rank must do."""
        return self._node_shares(call, None)

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

    def _call_shares(self, call: ast.Call, inside: ast.AST | None) -> bool:
        m, func = self.module, call.func
        if self.output(call) is not None:
            return False  # its arguments are looked at on their own
        if self.waits_for_user(call):
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

    def _is_local(self, n: ast.Attribute | ast.Subscript, function: ast.AST) -> bool:
        """Whether an attribute or item hangs on something that the function itself has made."""
        base: ast.expr = n
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
    def traced(self) -> set[ast.AST]:
        return traced_functions(self.module, self.sites, self.drive)

    def in_traced(self, node: ast.AST) -> bool:
        """Whether TensorFlow may trace a node into a graph."""
        return any(a in self.traced for a in self.module.syntax.ancestors(node) if isinstance(a, FUNCTIONS))


def _is_super(receiver: ast.expr) -> bool:
    return (
        isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Name) and receiver.func.id == "super"
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
