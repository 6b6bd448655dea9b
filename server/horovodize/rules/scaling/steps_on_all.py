"""Steps on all of the data by a function that takes others on batches, part of C5: `step(x, y)` where a script is told so, else
`step(x[rows], y[rows])`. They are asked about: every rank sees the same rows there, and there is no larger batch that a larger
rate and fewer steps would go with."""

from __future__ import annotations

from horovodize.facts.feeds.whole_ways import whole_ways
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.scaling import strong

_WHAT = "Check the steps that see all of the data"
_WHY = "A larger rate and fewer steps go with a larger batch; steps on all of the data have none."
_WHOLE = (
    "the step that is taken here sees all of the data on every rank, by the larger rate and as seldom as those on a rank's "
    "batches: where the script trains so, divide the rows (`rows[hvd.rank() :: hvd.size()]`), and keep the rate and the number "
    "of steps"
)


def ask(draft: Draft, rule: str) -> None:
    known = feeding(draft)
    sites = dict.fromkeys(site for driver in known.drivers for site in driver.steps)
    for site in sites if draft.options.split_data else ():
        if strong.scaling(draft, site) is not strong.Scaling.WEAK:
            continue
        for call in whole_ways(draft.facts.steps, site):
            if call not in known.beside and draft.once("steps on all", call):
                draft.ask(rule, call, _WHAT, _WHY, _WHOLE)
