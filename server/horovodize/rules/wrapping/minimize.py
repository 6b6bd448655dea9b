"""G3 minimize: `optimizer.minimize(loss_fn, variables)` makes a tape of its own, so the optimizer is wrapped.

What it does   The optimizer whose `minimize` is called becomes `hvd.DistributedOptimizer(…)` where it is made.
Why            There is no tape to wrap; a wrapped optimizer averages what its own tape computes.
Before         opt = tf.keras.optimizers.SGD(0.1)
               for step in range(1000):
                   opt.minimize(loss_fn, [w, b])
After          opt = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.1 * hvd.size()))
               for step in range(1000 // hvd.size()):
                   opt.minimize(loss_fn, [w, b])
Leaves alone   `scipy.optimize.minimize`; `minimize` in a TF1 graph.
Refuses        An optimizer that can't be followed to where it is made: wrapping it at each step would make a new one each
               time (HVD105).
Source         Beyond the seed's strict form.
"""

from __future__ import annotations

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.scaling import strong
from horovodize.rules.wrapping.optimizers import trained_optimizers, wrap

_WHY = "`minimize` makes its own tape: the optimizer has to average."


def apply(draft: Draft) -> None:
    receivers = {u.optimizer for u in draft.sites.updates if u.method == "minimize" and u.step_of is None}
    for trained in trained_optimizers(draft):
        if trained.sink != "update" or trained.used_at not in receivers:
            continue
        if trained.outermost is not None:
            op = strong.operation(draft, strong.sites_of(draft, trained.used_at))
            wrap(draft, "G3", trained.outermost, _WHY, op)
        else:
            draft.refuse(
                "HVD105",
                trained.used_at,
                "where this optimizer is made can't be followed, so it can't be wrapped",
            )


RULE = Rule("G3", "wrap the optimizer of minimize", apply, __doc__ or "")
