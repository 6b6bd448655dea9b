"""Starting values of random numbers that a run can be repeated with, without changing what a script's own seeds mean.

Python's and NumPy's generators get a seed. TensorFlow's stay without a global one: an operation that is given a seed draws the
same on every rank, one that is given none draws something else on each. Only the latter is made repeatable."""

from __future__ import annotations

import random
from typing import Any


class Randomness:
    """seed: where random numbers start. `draws` counts the unseeded operations of TensorFlow made so far."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.draws = 0
        self._at_start: tuple[Any, Any] | None = None
        self._at_first_step: tuple[Any, Any] | None = None

    def install(self) -> None:
        import numpy as np
        from tensorflow.python.framework import random_seed

        random.seed(self._seed)
        np.random.seed(self._seed)
        self._at_start = self._state()
        original = random_seed.get_seed

        def get_seed(op_seed: Any) -> Any:
            found = original(op_seed)
            if found[0] is not None or found[1] is not None:
                return found
            self.draws += 1
            return self._seed, self.draws

        random_seed.get_seed = get_seed

    def first_step(self) -> None:
        """To be called when training has begun."""
        if self._at_first_step is None:
            self._at_first_step = self._state()

    def drawn_in_training(self) -> bool:
        """Whether anything was drawn by Python or NumPy's shared generators since the first step."""
        return self._at_first_step is not None and self._at_first_step != self._state()

    def drawn_before(self) -> bool:
        """Whether anything was drawn by them before the first step, such as how long to train."""
        return self._at_first_step is not None and self._at_first_step != self._at_start

    def _state(self) -> tuple[Any, Any]:
        import numpy as np

        state = np.random.get_state()
        return random.getstate(), (state[1].tobytes(), state[2])
