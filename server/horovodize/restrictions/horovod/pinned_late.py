"""HVD322 pinned-late: a process must choose its GPU before TensorFlow takes all of them.

## What it protects
TensorFlow takes the GPUs with its first tensor, session or question for logical devices; data sets, optimizers, metrics and
models that know the shape of their input make tensors, too. `set_visible_devices` then raises "Visible devices cannot be
modified after being initialized", and `CUDA_VISIBLE_DEVICES` is no longer read. A `ConfigProto` works for the session that is
given it, and for no other.

## When it is reported
Where GPUs are chosen by Horovod's ranks after something that surely has made TensorFlow take them, and on a
`visible_device_list` of a `ConfigProto` that nothing is given.

## Quick fix
None: choose right after `hvd.init()`.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
weight = tf.Variable(0.0)
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")  # HVD322
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])

hvd.init()
model = build()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")  # HVD322
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())  # HVD322
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

def rows():
    yield tf.constant(1.0)

tf.random.set_seed(1)
policy = tf.keras.mixed_precision.set_global_policy("mixed_float16")
layer = tf.keras.layers.Dense(1)
drawn = rows()
hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
optimizer = tf.keras.optimizers.Adam()
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
weight = tf.Variable(0.0)
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

def start():
    return tf.Variable(0.0)

hvd.init()
if hvd.size() == 1:
    weight = start()
else:
    gpus = tf.config.list_physical_devices("GPU")
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
    weight = start()
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

def configured():
    config = tf.ConfigProto()
    config.gpu_options.visible_device_list = str(hvd.local_rank())
    return config

hvd.init()
with tf.Session(config=configured()) as session:
    session.run(tf.global_variables_initializer())
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
```

```python
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
config = tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list=str(hvd.local_rank())))
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
with tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list=str(hvd.local_rank())))) as session:
    session.run(tf.global_variables_initializer())
```

## Source
Horovod's guide for TensorFlow, step 2; `python/eager/context.py` of TensorFlow 2.15, whose error this is. What takes the GPUs
was tried one by one with TensorFlow 2.15.1 and 2.21.0; Horovod's issues 676 and 35 (`list_local_devices`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import argument, position
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.gpu_by_rank import choices
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.source.nodes import walk

_V1 = "tensorflow.compat.v1."
# These take the GPUs of the process also where a graph is built, and its sessions run later.
_ASK_FOR_DEVICES = (
    *(
        f"{module}test.{name}"
        for module in ("tensorflow.", _V1)
        for name in ("is_gpu_available", "gpu_device_name")
    ),
    "tensorflow.python.client.device_lib.list_local_devices",
)
_TAKES = frozenset(
    {
        *(
            f"tensorflow.{name}"
            for name in ("constant", "Variable", "zeros", "ones", "convert_to_tensor", "range")
        ),
        *(f"tensorflow.random.{name}" for name in ("normal", "uniform", "truncated_normal")),
        *(f"tensorflow.config.{name}list_logical_devices" for name in ("", "experimental.")),
        *(
            f"tensorflow.data.{name}"
            for name in (
                *("TFRecordDataset", "TextLineDataset", "FixedLengthRecordDataset"),
                *(
                    f"Dataset.{made}"
                    for made in ("from_tensor_slices", "from_tensors", "from_generator", "range")
                ),
                "Dataset.list_files",
            )
        ),
        *_ASK_FOR_DEVICES,
    }
)
_KERAS = "tensorflow.keras."
_MAKE_VARIABLES = (_KERAS + "optimizers.", _KERAS + "metrics.", _KERAS + "applications.")
_SESSIONS = frozenset({_V1 + "Session", _V1 + "InteractiveSession"})
_CONFIG = _V1 + "ConfigProto"
_DEPTH = 3  # calls in each other
_Place = ast.expr | ast.stmt


def find(context: Context) -> Iterator[Violation]:
    use, sites = context.facts.horovod, context.sites
    configured = _by_configs(context)
    sessions = [s for s in context.module.calls_of(*_SESSIONS) if not _has_its_own(context, s, configured)]
    takes = [*sessions, *context.module.calls_of(*_ASK_FOR_DEVICES)]
    if not sites.builds_graph:
        takes += [*context.module.calls_of(*_TAKES), *_making_variables(context)]
    for chosen in choices(context):
        if not use.depends_on(chosen, "local_rank", "rank", limit=200):
            continue
        of_session = chosen in configured or _is_in_options(context, chosen)
        taking = sessions if of_session else takes
        first = next((call for call in taking if _is_before(context, call, chosen)), None)
        if first is not None:
            yield RESTRICTION.at(
                context,
                chosen,
                "TensorFlow has taken all GPUs before this: choose right after `init()`",
                related=[context.related(first, "taken here")],
            )
        elif of_session and chosen in configured and not _is_used(context, configured[chosen]):
            yield RESTRICTION.at(
                context,
                chosen,
                f"no session is given `{configured[chosen]}`, so each process takes all GPUs: give it to what trains",
            )


def _has_its_own(context: Context, session: ast.Call, configured: dict[ast.expr, str]) -> bool:
    """Whether a session is shown the GPU of its process only: by the `ConfigProto` that it is given."""
    config = argument(session, "config", 2)
    if config is None:
        return False
    made = set(context.values.depends([config], 200))
    by_name = {n.id for n in made if isinstance(n, ast.Name)} & {*configured.values()}
    return bool(by_name) or any(chosen in made for chosen in choices(context))


def _is_in_options(context: Context, chosen: ast.expr) -> bool:
    """`tf.GPUOptions(visible_device_list=…)`, for one session."""
    return isinstance(context.syntax.parent.get(chosen), ast.keyword)


def _is_used(context: Context, name: str) -> bool:
    """Whether a config is used for something but setting what is in it."""
    nodes = context.module.loads.get(name)
    return any(not isinstance(context.syntax.parent.get(node), ast.Attribute) for node in nodes)


def _by_configs(context: Context) -> dict[ast.expr, str]:
    """The choices that stand in a `ConfigProto` with a name, and that name."""
    found = {}
    for binding in context.scopes.attributes.get("visible_device_list", ()):
        inner = binding.anchor
        while isinstance(inner, ast.Attribute):
            inner = inner.value
        if binding.value is None or not isinstance(inner, ast.Name):
            continue
        made = context.values.calls(inner)
        if made and all(context.names.of(call.func) == _CONFIG for call in made):
            found[binding.value] = inner.id
    return found


def _making_variables(context: Context) -> Iterator[ast.Call]:
    """Calls of Keras that make variables at once: optimizers, metrics, known models, and models that are told a shape."""
    for name in context.module.calls:
        made = name.rsplit(".", 1)[-1]
        if name.startswith(_MAKE_VARIABLES) and made[:1].isupper() and name.count(".") == 3:
            yield from context.module.calls_of(name)
    for call in context.module.calls_called("Sequential", "Model"):
        if (context.names.of(call.func) or "").startswith(_KERAS) and context.facts.built.at_once(call):
            yield call


def _is_before(context: Context, call: ast.Call, chosen: ast.expr) -> bool:
    """Whether a call has run whenever GPUs are chosen, on every way there."""
    return all(
        any(
            _precedes(context, done, frame.node)
            for frame in way
            if isinstance(frame.node, (ast.expr, ast.stmt))
            for done in _runs(context, call, frame.function)
        )
        for way in context.ways(chosen)
    )


def _precedes(context: Context, done: _Place, then: _Place) -> bool:
    """Whether one place of a function surely runs before another one."""
    return (
        position(done) < position(then)
        and {test for test, _ in context.syntax.conditions(done)}
        <= {test for test, _ in context.syntax.conditions(then)}
        and not context.facts.exclusive.apart(done, then)
        and not context.is_conditional(done)
        and not context.syntax.inside(then, done)
    )


def _runs(context: Context, call: ast.Call, function: ast.AST | None) -> Iterator[_Place]:
    """The places of a function (None: of the module) that surely make a call: itself, or what calls a function that does."""
    for way in context.ways(call):
        for inner, frame in enumerate(way):
            node = frame.node
            if not isinstance(node, (ast.expr, ast.stmt)):
                break
            if frame.function is function:
                yield node
            if frame.loops or _may_be_left_out(context, node, frame.function) or inner > _DEPTH:
                break


def _may_be_left_out(context: Context, node: _Place, function: ast.AST | None) -> bool:
    """Whether a function may run without coming to a node of it: by a condition, a `return` before, or as a generator."""
    if function is None or context.is_conditional(node):
        return True
    return any(
        isinstance(n, (ast.Yield, ast.YieldFrom))
        or (
            isinstance(n, (ast.Return, ast.Raise))
            and position(n) < position(node)
            and not context.syntax.inside(node, n)
        )
        for n in walk(function)
    )


RESTRICTION = Restriction(
    "HVD322",
    "pinned-late",
    "a process must choose its GPU before TensorFlow takes all of them",
    Severity.WARNING,
    __doc__ or "",
    find,
)
