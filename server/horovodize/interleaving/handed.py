"""Functions that train and are handed to something unseen, which calls them on all ranks: `study.optimize(objective)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeAlias

from horovodize.facts.facts import Facts
from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES, FUNCTIONS, argument

Handed: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_MEASURING = ("timeit.timeit", "timeit.repeat")


def handed(facts: Facts, trains: Callable[[ast.AST], bool]) -> list[Handed]:
    """Such functions, each once, that nothing in the module calls itself. Not what some ranks alone may hand on."""
    found = dict[Handed, None]()
    for call in facts.module.calls_which(_runs_what_is_unseen):
        functions = [f for f in _functions(facts, call) if trains(f)]
        if functions and not facts.rank_tests.may_be_guarded(call):
            found.update(dict.fromkeys(functions))
    return list(found)


def _runs_what_is_unseen(module: Module, call: ast.Call) -> bool:
    values = module.values
    if not call.args and not call.keywords:
        return False  # it is handed nothing
    return not (module.names.of(call.func) or values.callee(call) is not None or values.graph.runs(call))


def run_at_once(facts: Facts, call: ast.Call) -> list[Handed]:
    """The function that a call measures, and so runs: `timeit.timeit(lambda: train_step(rows), number=10)`."""
    if facts.module.names.of(call.func) not in _MEASURING:
        return []
    measured = argument(call, "stmt", 0)
    made = (
        [o.node for o in facts.module.values.origins(measured) if not o.path] if measured is not None else []
    )
    return [f for f in made if isinstance(f, CALLABLES)]


def _functions(facts: Facts, call: ast.Call) -> Iterator[Handed]:
    """The functions among a call's arguments, where it's seen which these are."""
    for given in (*call.args, *(k.value for k in call.keywords)):
        if isinstance(given, ast.Lambda):
            yield given
        elif isinstance(given, ast.Name):
            origins = facts.module.values.origins(given)
            made = origins[0].node if len(origins) == 1 and not origins[0].path else None
            if isinstance(made, FUNCTIONS) and not facts.module.values.callers(made):
                yield made


def is_of_a_trial(facts: Facts, raised: ast.expr | None) -> bool:
    """Whether what is raised ends one trial of a search, and the process goes on: Optuna's `TrialPruned`, in a function that
    nothing here calls."""
    made = raised.func if isinstance(raised, ast.Call) else raised
    if made is None:
        return False
    name, function = facts.module.names.of(made) or "", facts.module.syntax.function(made)
    of_optuna = name.startswith("optuna.") and name.endswith(".TrialPruned")
    return of_optuna and isinstance(function, FUNCTIONS) and not facts.module.values.callers(function)
