"""Which metrics a script's own callbacks get that are those of one rank alone, as `on_epoch_end(self, epoch, logs)` does."""

from __future__ import annotations

import ast

from horovodize.facts.facts import Facts

_AVERAGES = "MetricAverageCallback"


def own_logs(facts: Facts) -> set[ast.AST]:
    """The parameters under which callbacks get metrics that aren't averaged over the ranks before."""
    averaged_for: dict[ast.AST, bool] = {}
    for fit in facts.sites.fits:
        averaged = False
        for item in facts.callback_items.of(fit.call):
            classes = {name.rsplit(".", 1)[-1] for name in facts.callback_items.classes(item)}
            averaged = averaged or not item.made or _AVERAGES in classes
            for hook in (h for made in item.made for h in facts.hooks.given_by(made)):
                for arg in (*hook.function.args.posonlyargs, *hook.function.args.args):
                    if arg.arg == hook.logs:
                        earlier = averaged_for.get(arg, False)
                        averaged_for[arg] = earlier or (averaged and not hook.is_of_batches)
    return {arg for arg, averaged in averaged_for.items() if not averaged}


__all__ = ["own_logs"]
