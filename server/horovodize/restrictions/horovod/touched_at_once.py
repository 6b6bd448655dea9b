"""HVD332 touched-at-once: what one rank writes, another must not touch at the same time.

## What it protects
Between two collectives nothing says which rank is first. What rank 0 writes there, another rank may read before it is written,
or when half of it is; two that write one file mix what they write; of two that make one folder, the second fails.

## When it is reported
On the first of two steps of two ranks, between the same two collectives, on one path that is surely the same for both: a file
that is written and read or looked for, a folder that several make (without `exist_ok=True`), that is made by one rank and
written into by others, or removed, a download into one cache, which another rank reads or downloads, too, a folder that an
archive is unpacked into; also where a command does it (`os.system("wget …")`). Also on what reads from a temporary folder of
its own a file that only some ranks write into theirs. Not where both do the same in a `with` of what a library that isn't
known gives: that may be a lock. What is written by all ranks alike is HVD314.

## Quick fix
None: usually a collective between the two (`hvd.allreduce(tf.constant(0.0), name="saved")`; Horovod has no barrier for
TensorFlow), `exist_ok=True` where folders are made, and downloads by `hvd.local_rank() == 0` first, then, after a collective,
by the others.

## Example that breaks it
```python
import numpy as np
import horovod.tensorflow as hvd

hvd.init()
if hvd.rank() == 0:
    np.save("rows.npy", prepare())  # HVD332
rows = np.load("rows.npy")
```

```python
import os
import horovod.tensorflow as hvd

hvd.init()
if not os.path.exists("out"):
    os.makedirs("out")  # HVD332
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
path = tf.keras.utils.get_file("rows.npz", "https://example.org/rows.npz")  # HVD332
```

```python
import tarfile
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
if hvd.local_rank() == 0:
    with tarfile.open("images.tar") as archive:
        archive.extractall("images")  # HVD332
rows = tf.keras.utils.image_dataset_from_directory("images")
```

## Near misses
```python
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
if hvd.rank() == 0:
    np.save("rows.npy", prepare())
hvd.allreduce(tf.constant(0.0), name="saved")
rows = np.load("rows.npy")
```

```python
import os
import horovod.tensorflow as hvd

hvd.init()
os.makedirs("out", exist_ok=True)
with open(f"out/log-{hvd.rank()}.txt", "w") as log:
    log.write("started")
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
if hvd.local_rank() == 0:
    tf.keras.utils.get_file("rows.npz", "https://example.org/rows.npz")
hvd.allreduce(tf.constant(0.0), name="downloaded")
path = tf.keras.utils.get_file("rows.npz", "https://example.org/rows.npz")
```

```python
import os
import tensorflow as tf
import horovod.tensorflow as hvd
from filelock import FileLock

hvd.init()
with FileLock(os.path.expanduser("~/.lock")):
    (x, y), _ = tf.keras.datasets.mnist.load_data()
```

## Source
The orders of an execution are those of the seed on TensorFlow's semantics, with ranks in place of threads. Horovod's own
examples give each rank a cache of its own (`mnist-%d.npz`) for this reason.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from horovodize.interleaving import Trouble
from horovodize.python.syntax import position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod import written_by_all
from horovodize.restrictions.horovod.temporary_folders import missed
from horovodize.restrictions.horovod.ways_of_ranks import as_related, troubles
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation

# What makes processes take turns is of a package of its own: threads' locks and files don't, nor does a data set.
_NO_LOCKS = frozenset(("tensorflow", "keras", "numpy", "horovod", "h5py", "tqdm", *sys.stdlib_module_names))


def find(context: Context) -> Iterator[Violation]:
    for read, written, made in missed(context):
        yield RESTRICTION.at(
            context,
            read,
            "each rank has a temporary folder of its own, and finds nothing there that only some ranks have written: let all "
            "use rank 0's, sent by `hvd.broadcast_object`",
            related=[
                context.related(made, "another one on each rank"),
                context.related(written, "written by some ranks only"),
            ],
        )
    if written_by_all.leaves_for_own_folder(context):
        return
    races = troubles(context, Trouble.RACE)
    told = {v.span for v in written_by_all.find(context)} if races else set()
    for race in races:
        related = as_related(context, race)
        if any(r.span in told for r in related):
            continue
        first, second = race.moments
        if _left_between(context, first.where, second.where):
            continue
        if first.what == second.what and _takes_turns(context, first.where, second.where):
            continue
        yield RESTRICTION.at(
            context,
            race.where,
            f"rank {first.rank} {first.what}, and nothing keeps rank {second.rank} from being there at the same time, which "
            f"{second.what}",
            related=related,
        )


def _left_between(context: Context, one: ast.AST, other: ast.AST) -> bool:
    """Whether ranks may be in another folder at one place than at the other: not if all that leaves one is before both."""
    left = context.module.calls_of("os.chdir")
    if one is other or not left:
        return False
    first = min(_times(context, one) + _times(context, other))
    return any(time >= first for call in left for time in _times(context, call))


def _times(context: Context, node: ast.AST) -> list[tuple[int, int]]:
    """Where the module's own statements come to a node; at any time where none is seen that does."""
    outermost = [way[-1] for way in context.ways(node)]
    seen = [
        position(f.node) for f in outermost if f.function is None and isinstance(f.node, (ast.expr, ast.stmt))
    ]
    return seen if seen and len(seen) == len(outermost) else [(0, 0), (sys.maxsize, 0)]


def _takes_turns(context: Context, one: ast.AST, other: ast.AST) -> bool:
    """Whether ranks may come here one after the other: in a `with` of what an unknown library gives, a lock, say."""
    locks = _locks(context, one)
    return bool(locks & _locks(context, other))


def _locks(context: Context, node: ast.AST) -> set[str]:
    items = [
        item.context_expr
        for a in context.syntax.ancestors(node)
        if isinstance(a, (ast.With, ast.AsyncWith))
        for item in a.items
    ]
    made = {ast.unparse(e): context.values.calls(e) for e in items}
    return {text for text, calls in made.items() if any(_may_lock(context, c) for c in calls)}


def _may_lock(context: Context, call: ast.Call) -> bool:
    name = context.names.of(call.func) or ""
    return bool(name) and name.split(".")[0] not in _NO_LOCKS


RESTRICTION = Restriction(
    "HVD332",
    "touched-at-once",
    "what one rank writes, another must not touch at the same time",
    Severity.WARNING,
    __doc__ or "",
    find,
)
