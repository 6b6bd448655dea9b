"""What calls say by their names, to who reads what a step gets in a turn: which give the next data, draw, measure, sum up."""

from __future__ import annotations

import ast
import re

from horovodize.facts.counting.counter_kinds import GLOBAL_STEPS
from horovodize.facts.counting.cursors import deals_by_cursor
from horovodize.facts.feeds.games import is_game
from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS
from horovodize.source.nodes import walk

_DEALING = re.compile(
    r"^next$|get_next|(next|get|sample|draw|load|make|gen\w*|fetch|random|read|feed)_?\w*batch|batch\w*(gen|sampl|iter)"
    r"|^sample|sampler?$|^fetch|next_?\w*(data|example|minibatch)"
)
# What gives the next rows in a graph: of an iterator, of a queue.
GRAPH_SOURCES = (
    "get_next", "batch", "shuffle_batch", "batch_join", "shuffle_batch_join", "dequeue", "dequeue_many", "dequeue_up_to",
)  # fmt: skip
_RANDOM = (
    "numpy.random.",
    "random.",
    "tensorflow.random.",
    "tensorflow.compat.v1.random.",
    "tensorflow.keras.backend.random",
)
_RANDOM_V1 = re.compile(r"^tensorflow\.(compat\.v1\.)?(random_\w+|truncated_normal|multinomial)$")
ORDERS = {"permutation", "permuted", "shuffle"}
MEASURES = {"len", "shape", "size", "ndim", "rank", "count_nonzero", "get_shape", "type", "isinstance", "str",
             "print", "format", "time"}  # fmt: skip
MEASURED = {"shape", "size", "ndim", "dtype", "name", "graph", "__name__"}
WEIGHTS = {"trainable_variables", "trainable_weights", "variables", "weights", "losses", "trainable_params"}
SUMMARIES = {"mean", "sum", "max", "min", "std", "var", "median", "prod", "average", "norm", "reduce_mean",
              "reduce_sum", "reduce_max", "reduce_min", "reduce_std", "reduce_variance", "reduce_prod", "item",
              "amax", "amin", "argmax_all"}  # fmt: skip
FILLED = {"ones", "zeros", "full", "fill", "eye", "ones_like", "zeros_like", "empty"}
# Calls to which a list of numbers is data, rather than a shape, strides or axes.
OF_DATA = {"array", "asarray", "constant", "convert_to_tensor", "float32", "cast", "matmul", "add", "subtract",
            "multiply", "divide", "squared_difference", "square", "pow", "Variable"}  # fmt: skip
MADE_VARIABLES = {"Variable", "get_variable", "add_weight", "add_variable", "variable"}
ARRAY_METHODS = {"reshape", "astype", "transpose", "flatten", "ravel", "squeeze", "copy", "numpy", "tolist",
                  "to_numpy", "toarray", "todense", "dot", "swapaxes", "mean", "sum", "max", "min", "std", "clip",
                  "round", "eval"}  # fmt: skip
SELECTING = {"gather", "gather_nd", "take", "boolean_mask", "dynamic_slice", "slice", "choice"}
LIBRARIES = ("tensorflow", "numpy", "math", "keras", "tf_keras", "sklearn", "scipy", "pandas", "tensorflow_probability",
              "tensorflow_addons", "operator", "builtins")  # fmt: skip
# libraries that read arrays from files, and know nothing of graphs
READERS = ("pickle.load", "cPickle.load", "_pickle.load", "six.moves.cPickle.load", "joblib.load", "dill.load", "h5py.File",
           "cv2.imread", "imageio.", "PIL.Image.open", "skimage.io.")  # fmt: skip


def is_random(name: str) -> bool:
    """Whether a canonical name is that of a function that draws at random."""
    if name.rsplit(".", 1)[-1] in ("seed", "set_seed", "default_rng", "RandomState", "Generator"):
        return False
    return name.startswith(_RANDOM) or _RANDOM_V1.match(name) is not None


def gives_count(module: Module, e: ast.Call) -> bool:
    """Whether a call gives the global step of a graph, and no rows: `tf.train.global_step(session, step)`,
    `session.run(step)`."""
    if module.names.of(e.func) == "tensorflow.compat.v1.train.global_step":
        return True
    if module.names.last(e.func) != "run" or len(e.args) != 1 or e.keywords:
        return False
    made = module.values.calls(e.args[0])
    return bool(made) and all(module.names.of(c.func) in GLOBAL_STEPS for c in made)


def gives_next(module: Module, e: ast.Call, in_graph: bool) -> bool:
    """Whether a call gives the next data: of an iterator, a queue, something that deals out."""
    name, last = module.names.of(e.func) or "", module.names.last(e.func)
    if isinstance(e.func, ast.Name) and e.func.id == "next":
        return True
    if name.startswith("tensorflow"):
        return last in (*GRAPH_SOURCES, "slice_input_producer") or ".data." in name
    if in_graph and last.startswith("dequeue"):
        return True
    callee = module.values.callee(e)
    if isinstance(callee, FUNCTIONS):
        if deals_by_cursor(callee) and not is_game(module.syntax, callee):
            return True
        return any(
            isinstance(n, (ast.Yield, ast.YieldFrom)) and module.syntax.function(n) is callee
            for n in walk(callee)
        )
    return not name.startswith(LIBRARIES) and bool(_DEALING.search(last)) and "on_batch" not in last


def is_object(module: Module, f: ast.expr) -> bool:
    """Whether what is called is an object that was made: a model, a layer, a loss, or a method of one."""
    held = f.value if isinstance(f, ast.Attribute) and not module.values.attribute_bindings(f) else f
    made = module.values.calls(held)
    if any((module.names.of(c.func) or "").startswith(LIBRARIES) for c in made):
        return True
    if any(isinstance(module.values.callee(c), ast.ClassDef) for c in made):
        return True
    called = f is held
    return called and bool(made)
