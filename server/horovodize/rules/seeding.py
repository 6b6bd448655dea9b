"""What fixes random numbers, so that all ranks draw the same ones: seeds that are the same on every rank."""

from __future__ import annotations

import ast

from horovodize.rules.draft import Draft
from horovodize.summary.syntax import is_main_guard

# What each seeds, by the beginnings of the functions' names that draw then.
SEEDS = {
    "numpy.random.seed": ("numpy.random.",),
    "random.seed": ("random.",),
    "tensorflow.random.set_seed": ("tensorflow.random.",),
    "tensorflow.keras.utils.set_random_seed": ("numpy.random.", "random.", "tensorflow.random."),
}
# Generators that are given their seed, or none.
MAKERS = (
    "numpy.random.RandomState",
    "numpy.random.default_rng",
    "random.Random",
    "tensorflow.random.Generator.from_seed",
)
# A seed that comes of one of these is another one on each rank: `np.random.seed(int(time.time()))`.
_EACH_ITS_OWN = ("time.", "datetime.", "os.", "random.", "numpy.random.", "secrets.", "uuid.", "socket.")


def is_fixed(draft: Draft, name: str) -> bool:
    """Whether the program seeds, whatever way it takes, what the function of that name draws from."""
    return any(
        name.startswith(SEEDS[draft.names.of(call.func) or ""])
        and gives_seed(draft, call)
        and not _is_conditional(draft, call)
        for call in draft.module.calls_of(*SEEDS)
    )


def gives_seed(draft: Draft, call: ast.Call) -> bool:
    """Whether a call of one of these gives a seed, the same on every rank."""
    given = [*call.args, *(k.value for k in call.keywords)]
    seed = given[0] if given else None  # the first, whatever it is called
    if seed is None or (isinstance(seed, ast.Constant) and seed.value is None):
        return False
    made = [n for n in ast.walk(seed) if isinstance(n, ast.Call)]
    for n in ast.walk(seed):
        if isinstance(n, (ast.Name, ast.Attribute)):
            made += draft.values.calls(n)
    return not any((draft.names.of(c.func) or "").startswith(_EACH_ITS_OWN) for c in made)


def _is_conditional(draft: Draft, call: ast.Call) -> bool:
    """`if args.seed is not None: …`"""
    return any(isinstance(a, ast.If) and not is_main_guard(a) for a in draft.syntax.ancestors(call))
