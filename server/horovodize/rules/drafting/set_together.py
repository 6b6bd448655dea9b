"""Variables that one call sets together: `K.batch_set_value([(optimizer.lr, rate), (beta, 0.5)])` sets each of them as
`K.set_value` would. Part of C5."""

from __future__ import annotations

import ast
from collections.abc import Callable

from horovodize.python.syntax import argument, arguments
from horovodize.python.tables import in_order
from horovodize.rules.drafting.draft import Draft

_SETS = "batch_set_value"
_LIMIT = 400
_WHAT = "Multiply the learning rate by the number of ranks"
_WHY = "A step averages size() batches: the batch is size() times larger, and so is the rate."
_UNPAIRED = "what sets the rate here can't be seen, so it isn't scaled: multiply it by the number of ranks"


def pairs(draft: Draft, call: ast.Call | None = None) -> list[ast.Tuple]:
    """The pairs of a variable and what it is set to that such a call is given, or all such calls; also of a list that has a
    name, or is filled: `todo.append((optimizer.lr, rate))`."""
    calls = [call] if call is not None else draft.module.calls_called(_SETS)
    given = [
        e for c in calls if draft.names.last(c.func) == _SETS if (e := argument(c, "tuples", 0)) is not None
    ]
    given += [added for e in given if isinstance(e, ast.Name) for added in draft.sites.flow.appended(e)]
    found = [n for n in (draft.values.depends(given, _LIMIT) if given else []) if isinstance(n, ast.Tuple)]
    return in_order([n for n in dict.fromkeys(found) if len(n.elts) == 2 and isinstance(n.ctx, ast.Load)])


def is_pair(draft: Draft, node: ast.Tuple) -> bool:
    """Whether something is such a pair."""
    return bool(draft.module.calls_called(_SETS)) and node in pairs(draft)


def ask_of_unpaired(draft: Draft, is_rate: Callable[[Draft, ast.expr], bool]) -> None:
    """Asks where such a call is given an optimizer's rate, and no pair tells its value: `zip(rates, values)`."""
    for call in draft.module.calls_called(_SETS) if draft.growth else ():
        kept = {id(n) for pair in pairs(draft, call) for n in ast.walk(pair)}
        given = draft.values.depends(arguments(call), _LIMIT)
        loose = [n for n in given if isinstance(n, ast.Attribute) and id(n) not in kept and is_rate(draft, n)]
        if loose:
            draft.ask("C5", call, _WHAT, _WHY, _UNPAIRED)
