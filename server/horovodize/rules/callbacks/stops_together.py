"""K3 for library callbacks that stop training by what one rank sees: a loss of its own rows that isn't a number, its clock.
The others would wait for it; they now stop with it. Part of K3."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.source import Edit

_WHAT = "Stop on all ranks together"
_WHY = "This stops training by what one rank sees; the other ranks would wait for it forever."
# Each with the method in which it stops.
_STOP = {
    "tensorflow.keras.callbacks.TerminateOnNaN": "on_train_batch_end",
    "tensorflow_addons.callbacks.TimeStopping": "on_epoch_end",
}


def stop_together(draft: Draft, element: ast.expr) -> None:
    """Wraps such callbacks where they are made."""
    for origin in draft.values.origins(element):
        call = origin.node
        hook = _STOP.get(draft.names.of(call.func) or "") if isinstance(call, ast.Call) else None
        if hook is None or draft.in_graph or draft.sites.is_tf1 or not draft.once("stops together", call):
            continue
        quote, helper = draft.document.quote, draft.helper("stops_together")
        edits = Edit.around(draft.module.span(call), f"{helper}(", f", {quote}{hook}{quote})")
        draft.change("K3", call, _WHAT, _WHY, edits)
