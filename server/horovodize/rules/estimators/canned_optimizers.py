"""The optimizer that one of TensorFlow 1's canned Estimators takes if it is given none, or only its name: part of E1.

`DNNClassifier([8], columns)` → `DNNClassifier([8], columns, optimizer=hvd.DistributedOptimizer(tf.train.AdagradOptimizer(0.05 *
hvd.size())))`"""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument
from horovodize.rules.drafting.draft import HVD, Draft
from horovodize.rules.scaling import strong
from horovodize.source import Edit
from horovodize.summary.canned import CANNED, standard_optimizer

_WHAT = "Write out the optimizer that this Estimator takes, with its rate scaled, in Horovod's wrapper"
_WHY = "What it makes by itself can't be wrapped, and the gradients of all ranks have to be averaged."


def write_out(draft: Draft, call: ast.Call) -> None:
    """Gives an Estimator the optimizers that it would make by itself."""
    for parameter in CANNED.get(draft.names.last(call.func), ()):
        standard = standard_optimizer(draft.module, draft.sites, call, parameter)
        if standard is None or not draft.once(f"written out {parameter}", call):
            continue
        given, grown = argument(call, parameter), strong.factor(draft, None)
        made = f"{draft.v1(call.func)}.train.{standard.cls}({standard.rate}{grown})"
        text = f"{HVD}.DistributedOptimizer({made})"
        edit = (
            Edit(draft.module.span(given), text)
            if given is not None
            else draft.add_argument(call, f"{parameter}={text}")
        )
        draft.change(
            "E1",
            given if given is not None else call,
            _WHAT,
            _WHY,
            [edit],
            decision=draft.scaled if grown else None,
            shown=f"learning_rate={standard.rate}",
        )


__all__ = ["write_out"]
