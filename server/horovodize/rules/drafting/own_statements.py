"""C8 statements: a training step that is buried in another statement gets a statement of its own.

What it does   A comprehension, a generator that `sum`, `any` or `list` goes through, `map` and `functools.reduce` become
               loops; a `lambda` becomes a function; a step in the header of an `if`, `elif`, `while`, `for`, `with`,
               `assert` or `return` is taken before it; an arm of `a if test else b` becomes that of an `if` statement.
               Statements on one line are put on lines of their own where something has to stand between them. What a `fit`
               is given by `*data` and `**settings` is written out, where it is seen: `data[0], data[1]`,
               `epochs=settings["epochs"]`; rows, steps and callbacks are changed where they are passed. Numbers that one
               assignment counts on (`step, rows = step + 1, rows + len(x)`) are counted one after the other, where one of
               them has to count for all ranks.
Why            Horovod's calls need a place after a step, and only the turns of a loop can be divided among the ranks.
Before         losses = [train_step(batch) for batch in dataset]  # one epoch
After          losses = []  # one epoch
               first_batch = True
               for batch in dataset:
                   losses.append(train_step(batch))
Leaves alone   Comprehensions that take no step; `fit` in a comprehension; gradients and variables gone through within a step.
Refuses        What can't be taken out with everything still evaluated in the same order: a generator that is kept to be gone
               through later, a step behind `and` or in an arm within a larger expression, after a call in the same statement,
               in the body of a class, or in an f-string before Python 3.12 (HVD108).
Source         Beyond the seed, which asks for it by hand (2.1, restriction 8).
"""

from __future__ import annotations

from horovodize.rules.drafting.rule import Rule

RULE = Rule("C8", "give training steps statements of their own", None, __doc__ or "")
