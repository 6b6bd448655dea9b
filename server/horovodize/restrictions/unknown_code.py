"""HVD004 unknown-code: a comment that ignores findings must name some that exist.

## What it protects
You: a comment with a misspelt code silences nothing, and looks as if it did.

## When it is reported
Where `# horovodize: ignore[…]` or `ignore-file[…]` names something that is neither the code nor the name of a finding. It is
informational: `check` exits with 0.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf

optimizer = tf.keras.optimizers.SGD(0.1)
alias = optimizer  # horovodize: ignore[HVD15]  # HVD004
```

## Near misses
```python
import tensorflow as tf

# horovodize: ignore-file[late-import]
optimizer = tf.keras.optimizers.SGD(0.1)
alias = optimizer  # horovodize: ignore[HVD105, hvd106]
other = optimizer  # horovodize: ignore
```

## Source
Not in the paper; linters such as ruff warn of the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.suppress import Suppressions
from horovodize.restrictions.violation import Severity, Violation
from horovodize.source import Span

RESTRICTION = Restriction(
    "HVD004",
    "unknown-code",
    "a comment that ignores findings must name some that exist",
    Severity.INFORMATION,
    __doc__ or "",
)


def violations(suppressions: Suppressions) -> Iterator[Violation]:
    """One for each unknown code of the comments of a document."""
    for directive in suppressions.directives:
        if directive.brackets is None:
            continue
        inside = Span(directive.brackets.start + 1, directive.brackets.end - 1)
        text = suppressions.document.text[inside.start : inside.end]
        for match in re.finditer(r"[^,\s](?:[^,]*[^,\s])?", text):
            message = _unknown(match[0])
            if message:
                span = Span(inside.start + match.start(), inside.start + match.end())
                yield Violation(RESTRICTION.code, RESTRICTION.name, message, span, RESTRICTION.severity)


def _unknown(written: str) -> str:
    """What to say of a code or name; "" for one that exists."""
    from horovodize.restrictions import RESTRICTIONS

    known = {name.upper(): name for r in RESTRICTIONS.values() for name in (r.code, r.name)}
    if written.upper() in known:
        return ""
    from difflib import get_close_matches

    is_code = re.fullmatch(r"HVD\d{3}", written.upper())  # one number is as near as another
    near = [] if is_code else get_close_matches(written.upper(), known, n=1)
    hint = f"; did you mean {known[near[0]]}?" if near else "; `horovodize explain` lists them"
    return f"{written} is not the code or name of a finding, so this comment does not silence it{hint}"
