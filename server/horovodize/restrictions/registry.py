"""Every restriction by its code, in the order of the codes, with the module below this package that it stands in.

A module is imported when its restriction is first asked for: most files use no Horovod yet and run no graphs, and what looks
at those that do is a third of what would be loaded for the first diagnostics."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module

from horovodize.restrictions.restriction import Restriction

# What a script must keep to be distributed.
OF_SCRIPTS = {
    "HVD001": "not_distributed",
    "HVD003": "unreadable",
    "HVD004": "unknown_code",
    "HVD101": "late_import",
    "HVD102": "module_by_call",
    "HVD103": "aliased_member",
    "HVD104": "printed_effect",
    "HVD105": "aliased_optimizer",
    "HVD106": "reassigned_optimizer",
    "HVD107": "conditional_optimizer",
    "HVD108": "buried_update",
    "HVD109": "changed_global",
    "HVD110": "aliased_checkpoint",
    "HVD201": "split_loop",
    "HVD202": "unsupported_loop",
    "HVD203": "several_loops",
    "HVD204": "function_value",
    "HVD205": "conditional_loop",
    "HVD901": "estimator_gone",
    "HVD902": "other_keras",
}
# Of scripts that use Horovod already.
OF_DISTRIBUTED = {
    "HVD301": "horovod.not_initialized",
    "HVD302": "horovod.gpu_by_rank",
    "HVD303": "horovod.gpus_not_pinned",
    "HVD304": "horovod.not_averaged",
    "HVD305": "horovod.averaged_twice",
    "HVD306": "horovod.not_broadcast",
    "HVD307": "horovod.broadcast_every_step",
    "HVD308": "horovod.rate_not_scaled",
    "HVD309": "horovod.scaled_twice",
    "HVD310": "horovod.warm_up_rate",
    "HVD311": "horovod.steered_by_one_rank",
    "HVD312": "horovod.metrics_not_averaged",
    "HVD313": "horovod.on_some_ranks",
    "HVD314": "horovod.written_by_all",
    "HVD315": "horovod.other_binding",
    "HVD316": "horovod.not_reloaded",
    "HVD317": "horovod.summed_and_scaled",
    "HVD318": "horovod.name_by_rank",
    "HVD319": "horovod.shuffled_apart",
    "HVD320": "horovod.same_batches",
    "HVD321": "horovod.steps_not_divided",
    "HVD322": "horovod.pinned_late",
    "HVD323": "horovod.uneven_shards",
    "HVD324": "horovod.elastic_state",
    "HVD325": "horovod.schedule_not_divided",
    "HVD326": "horovod.compiled_by_xla",
    "HVD331": "horovod.waits_forever",
    "HVD332": "horovod.touched_at_once",
    "HVD333": "horovod.drifts_apart",
}
# Those of them that are looked for in files of `horovod.torch`, too.
OF_TORCH = (
    *("HVD301", "HVD302", "HVD304", "HVD305", "HVD306", "HVD309", "HVD313"),
    *("HVD314", "HVD318", "HVD320", "HVD323", "HVD331", "HVD332", "HVD333"),
)
# Of what sessions run of graphs, in any script.
OF_GRAPHS = {
    "HVD341": "graph.assigned_in_no_order",
    "HVD342": "graph.read_while_assigned",
    "HVD343": "graph.updates_not_run",
    "HVD344": "graph.trained_and_assigned",
    "HVD345": "graph.py_function_with_state",
}
MODULES = dict(sorted((OF_SCRIPTS | OF_DISTRIBUTED | OF_GRAPHS).items()))


@cache
def restriction(code: str) -> Restriction:
    """The restriction with a code. Raises KeyError."""
    found = import_module(f"{__package__}.{MODULES[code]}").RESTRICTION
    assert isinstance(found, Restriction)
    return found


def restrictions(codes: Iterable[str]) -> list[Restriction]:
    """The restrictions with some codes. Raises KeyError."""
    return [restriction(code) for code in codes]
