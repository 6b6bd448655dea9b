"""HVD003 unreadable: the document is not Python that can be parsed.

## What it protects
Everything: nothing is known of a text that has no syntax tree, so nothing is checked and nothing is changed.

## When it is reported
When a file that mentions TensorFlow or Keras does not parse: a syntax error (Python 2 is recognised and said so), bytes that
are not text in the declared encoding, null bytes, or nesting that is too deep to be followed. It is then the only finding.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf
model.fit(x, y  # HVD003
```

## Near misses
```python
import tensorflow as tf
print("\\d")
```

## Source
Not in the seed, which starts from a module that parses.
"""

from __future__ import annotations

from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.source import Span

RESTRICTION = Restriction(
    "HVD003", "unreadable", "the document is not Python that can be parsed", Severity.ERROR, __doc__ or ""
)


def violation(message: str, span: Span = Span(0, 0)) -> Violation:  # noqa: B008 - immutable
    return Violation(RESTRICTION.code, RESTRICTION.name, message, span, RESTRICTION.severity)
