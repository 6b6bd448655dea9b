"""Batches of TensorFlow 1's tutorials, `mnist.train.next_batch(100)`, whose order each process draws by itself.

`read_data_sets` seeds NumPy by its own seed, else by that of the graph, and by the clock where there is neither. Then no rank
has the order of another, and nothing can make them alike. Copies of that file which projects keep may be older: those give the
rows of the first pass in the order of the file."""

from __future__ import annotations

import ast

from horovodize.facts.draws import Draws
from horovodize.summary.module import Module
from horovodize.summary.syntax import argument, has_unpacking, says_none

_READERS = ("read_data_sets",)
_COUNTS = ("epochs_completed", "index_in_epoch")
_SEEDING = ("set_random_seed", "set_seed", "seed")


def draws_its_own(module: Module, draws: Draws, call: ast.Call) -> bool:
    """Whether a call gives the next batch of such rows, in an order that no seed fixes, and nothing goes by how many were
    given."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "next_batch" or has_unpacking(call):
        return False
    shuffle = argument(call, "shuffle", 2)
    if shuffle is not None and not (isinstance(shuffle, ast.Constant) and shuffle.value is True):
        return False
    part = call.func.value
    held = part.value if isinstance(part, ast.Attribute) and part.attr == "train" else part
    origins = module.values.origins(held)
    made = [o.node for o in origins if isinstance(o.node, ast.Call)]
    if not made or len(made) < len(origins) or not all(_is_unseeded_reader(module, c) for c in made):
        return False
    seeds = module.calls_called(*_SEEDING)
    is_asked = any(
        isinstance(n, ast.Attribute) and n.attr.lstrip("_") in _COUNTS
        for n in module.syntax.every(ast.Attribute)
    )
    return not seeds and not is_asked and not draws.is_seeded("numpy.random.shuffle")


def _is_unseeded_reader(module: Module, call: ast.Call) -> bool:
    name = module.names.of(call.func) or ""
    if not name.startswith("tensorflow.") or name.rpartition(".")[2] not in _READERS:
        return False
    seed = argument(call, "seed", 6)
    return not has_unpacking(call) and (seed is None or says_none(seed))


__all__ = ["draws_its_own"]
