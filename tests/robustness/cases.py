"""How many cases a property is tried with: the same few in every run of the tests, ever new and many times as many in
`make fuzz`, which says how often."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

TIMES = int(os.environ.get("HOROVODIZE_FUZZ", "1"))  # as many cases as in a usual run
TRIED: Counter[str] = Counter()  # cases, by the property's name


def cases(count: int, *strategies: SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """Tries a test, whose last arguments the strategies give, with so many cases."""

    def decorated(test: Callable[..., None]) -> Any:
        @wraps(test)
        def counted(*args: Any, **kwargs: Any) -> None:
            TRIED[test.__name__] += 1
            test(*args, **kwargs)

        profile = settings(
            max_examples=count * TIMES,
            derandomize=TIMES == 1,
            database=None,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        )
        return pytest.mark.fuzz(profile(given(*strategies)(counted)))

    return decorated
