"""S3 config: every session uses the GPU of its process.

What it does   `tf.Session()` gets `config=config`, with a `ConfigProto` that shows it one GPU, that of its local rank. A
               `ConfigProto` of the user's own is pinned instead: nothing else in it changes. MonitoredSessions likewise (M2),
               and the session configuration of an Estimator.
Why            In TensorFlow 1 a session takes all GPUs that it sees. Processes of one host would take each other's.
Before         with tf.Session() as sess:
                   sess.run(tf.global_variables_initializer())
                   sess.run(train_op)
After          config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, visible_device_list=str(hvd.local_rank())))
               with tf.Session(config=config) as sess:
                   sess.run(tf.global_variables_initializer())
                   sess.run(train_op)
Leaves alone   Sessions that Keras opens (`K.get_session()`).
Refuses        A config that can't be pinned: `**options`, an expression that may be None (HVD006).
Asks           A config that comes from elsewhere: it is pinned right before the session is opened.
Source         Seed 2.5.1, `with` statements. Errata: the seed knows `with tf.Session(…)` only (82 of 153 real files; 61 say
               `sess = tf.Session()`), and leaves a user's own config unpinned.
"""

from __future__ import annotations

import ast

from horovodize.python.syntax import argument, says_none
from horovodize.rules.drafting.draft import LOCAL_RANK, Draft
from horovodize.rules.drafting.helper_text import config_at
from horovodize.rules.drafting.rule import Rule
from horovodize.source import Edit

_WHY = "A session takes all GPUs that it sees; each process is shown the one of its local rank."
_WHAT = "Show the session the GPU of its process only"
_PIN = f"str({LOCAL_RANK})"
_V1 = "tensorflow.compat.v1."
# Where `config` stands among the positional arguments.
_POSITIONS = {
    "Session": 2,
    "InteractiveSession": 2,
    "MonitoredTrainingSession": 9,
    "SingularMonitoredSession": 3,
    "ChiefSessionCreator": 2,
    "WorkerSessionCreator": 2,
    "managed_session": 1,
    "prepare_or_wait_for_session": 1,
}


def apply(draft: Draft) -> None:
    for call in [*draft.sites.sessions, *draft.sites.monitored]:
        last = draft.names.last(call.func)
        if last == "MonitoredSession":
            _pin_creator(draft, call)
        elif last in _POSITIONS:
            used = draft.sites.any_v1 if call in draft.sites.supervised else call.func
            pin_session(draft, call, "config", _POSITIONS[last], used)


def _pin_creator(draft: Draft, call: ast.Call) -> None:
    """`MonitoredSession(session_creator=ChiefSessionCreator(…))`: the creator has the config."""
    creator = argument(call, "session_creator", 0)
    if creator is None or says_none(creator):
        made = f"{draft.v1(call.func)}.train.ChiefSessionCreator(config={config_at(draft, call, call.func)})"
        edit = (
            Edit(draft.module.span(creator), made)
            if creator is not None
            else draft.add_argument(call, f"session_creator={made}")
        )
        draft.change("S3", call, _WHAT, _WHY, [edit])
        return
    for origin in draft.values.origins(creator):
        last = draft.names.last(origin.call.func) if origin.call is not None else ""
        if origin.call is None or last not in _POSITIONS:
            draft.refuse(
                "HVD006",
                creator,
                "where this session creator is made can't be followed, so it can't be pinned to a GPU; make it in this file",
            )
        else:
            pin_session(draft, origin.call, "config", _POSITIONS[last])


def pin_session(
    draft: Draft, call: ast.Call, parameter: str, index: int | None, used: ast.expr | None = None
) -> None:
    """Gives a call that opens sessions a pinned config, or pins the one that it has. `used`: a use of TensorFlow 1, where the
    call is a method of an object."""
    if not draft.once("pinned", call):
        return
    config = argument(call, parameter, index)
    if config is None or says_none(config):
        if config is None and any(k.arg is None for k in call.keywords):
            draft.refuse(
                "HVD006", call, f"`**` may pass a config, which has to be pinned; give `{parameter}=…`"
            )
            return
        name = config_at(draft, call, used or call.func)
        edit = (
            Edit(draft.module.span(config), name)
            if config is not None
            else draft.add_argument(call, f"{parameter}={name}")
        )
        draft.change("S3", call, _WHAT, _WHY, [edit])
        return
    made = [o.call for o in draft.values.origins(config)]
    if made and all(c is not None and draft.names.last(c.func) == "ConfigProto" for c in made):
        for c in made:
            assert c is not None
            _pin_config(draft, c)
        return
    _pin_before(draft, call, config)


def _pin_config(draft: Draft, call: ast.Call) -> None:
    """Pins one `ConfigProto(…)`: what the user has chosen gives way, else a statement or an argument is added."""
    if not draft.once("pinned", call):
        return
    chosen = _chosen_devices(draft, call)
    options = argument(call, "gpu_options")
    statement = draft.syntax.statement(call)
    name = _assigned_to(draft, call)
    edits: list[Edit]
    if chosen:
        edits = [Edit(draft.module.span(value), _PIN) for value in chosen]
    elif name is not None and draft.can_insert(statement):
        edits = [draft.after(statement, [f"{name}.gpu_options.visible_device_list = {_PIN}"])]
    elif options is None:
        made = f"{draft.v1(call.func)}.GPUOptions(visible_device_list={_PIN})"
        edits = [draft.add_argument(call, f"gpu_options={made}")]
    else:
        inner = [o.call for o in draft.values.origins(options)]
        if len(inner) != 1 or inner[0] is None or draft.names.last(inner[0].func) != "GPUOptions":
            draft.refuse(
                "HVD006",
                options,
                "where these GPU options are made can't be followed, so they can't be pinned to a GPU; make them in this file",
            )
            return
        edits = [draft.add_argument(inner[0], f"visible_device_list={_PIN}")]
    draft.change("S3", call, _WHAT, _WHY, edits)


def _chosen_devices(draft: Draft, config: ast.Call) -> list[ast.expr]:
    """The `visible_device_list`s that the user has set in a config, as the values that they are set to."""
    found: list[ast.expr] = []
    for call in [config, *(n for n in ast.walk(config) if isinstance(n, ast.Call))]:
        value = argument(call, "visible_device_list")
        if value is not None:
            found.append(value)
    options = argument(config, "gpu_options")
    if options is not None:
        for origin in draft.values.origins(options):
            value = argument(origin.call, "visible_device_list") if origin.call is not None else None
            if value is not None:
                found.append(value)
    name = _assigned_to(draft, config)
    for binding in draft.module.scopes.attributes.get("visible_device_list", ()):
        anchor = binding.anchor
        if isinstance(anchor, ast.Attribute) and name is not None and binding.value is not None:
            if ast.unparse(anchor).startswith(name + "."):
                found.append(binding.value)
    return list(dict.fromkeys(found))


def _assigned_to(draft: Draft, call: ast.Call) -> str | None:
    """The name that a config is bound to by a statement of its own."""
    statement = draft.syntax.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, (ast.Name, ast.Attribute)):
            return draft.module.text(target)
    return None


def _pin_before(draft: Draft, call: ast.Call, config: ast.expr) -> None:
    statement = draft.syntax.statement(call)
    if not isinstance(config, (ast.Name, ast.Attribute)) or not draft.can_insert(statement):
        draft.refuse(
            "HVD006",
            config,
            "where this config is made can't be followed, so the processes of a machine would take each other's "
            "GPUs; make it in this file",
        )
        return
    line = f"{draft.module.text(config)}.gpu_options.visible_device_list = {_PIN}"
    draft.change(
        "S3",
        call,
        _WHAT,
        _WHY,
        [draft.before(statement, [line])],
        doubt="where this config is made can't be seen; it must not be None",
    )


RULE = Rule("S3", "pin a GPU to each session", apply, __doc__ or "")
