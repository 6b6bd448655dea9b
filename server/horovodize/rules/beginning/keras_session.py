"""S3 config, where Keras trains in TensorFlow 1: Keras' session uses the GPU of its process.

A script that is written for TensorFlow 1 (`tf.Session`, `tf.ConfigProto`, `tf.contrib`) runs where Keras works on a session.
There `tf.config` does not exist yet: the session is told its GPU, as in Horovod's own example. With TensorFlow 2's Keras and
eager execution turned off, Horovod 0.28's callbacks stop with an error (they ask Keras for its session, which Keras no longer
tells), so that is refused.
"""

from __future__ import annotations

import ast

from horovodize.rules.beginning import session_config
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.import_block import head_place
from horovodize.summary.lattice import LoopKind

_OFF = ("tensorflow.compat.v1.disable_eager_execution", "tensorflow.compat.v1.disable_v2_behavior")


def is_wanted(draft: Draft) -> bool:
    """Whether Keras trains in a session of TensorFlow 1."""
    return draft.sites.is_tf1 and draft.summary.kinds == {LoopKind.KERAS}


def apply(draft: Draft) -> None:
    if is_wanted(draft):
        session_config.apply(draft)
        if not draft.sites.method_calls("set_session") and not _imported(draft, "set_session"):
            draft.session_config(draft.sites.any_v1)
        return
    for call in draft.module.calls_of(*_OFF) if draft.sites.fits else []:
        if draft.facts.never_run.is_at(call) or _is_apart_from_fits(draft, call):
            continue
        draft.refuse(
            "HVD006",
            call,
            "Keras trains without eager execution here, where Horovod's callbacks fail (they need `keras.backend.get_session`, "
            "which TensorFlow 2 does not have); leave this call out",
        )


def _is_apart_from_fits(draft: Draft, call: ast.Call) -> bool:
    """Whether no `fit` runs where this call does: `if mode == "graph":` beside `elif mode == "fit":`."""
    return all(draft.facts.exclusive.apart(call, fit.call) for fit in draft.sites.fits)


def set_session(draft: Draft) -> list[str]:
    """The line of the head that gives Keras a session with the config; none where the script does so itself."""
    if (
        draft.config_to_make is None
        or draft.sites.method_calls("set_session")
        or _imported(draft, "set_session")
    ):
        return []
    config, v1 = draft.config_to_make
    return [f"{_backend(draft, v1)}.set_session({v1}.Session(config={config}))"]


def uses_standalone_keras(draft: Draft) -> bool:
    """Whether Keras is the package of its own, not TensorFlow's."""
    return draft.module.imports("keras") and not draft.module.imports("tensorflow.keras")


def keras_name(draft: Draft) -> str:
    """What the Keras that a script uses is called; it is imported if it is not."""
    known = imported_keras(draft)
    if not known and "import keras" not in draft.extra_imports:
        draft.extra_imports.append("import keras")
    return known or "keras"


def imported_keras(draft: Draft) -> str:
    """What the Keras that a script uses is called, by what it imports; "" where that is a part of the package only."""
    if not uses_standalone_keras(draft):
        return f"{draft.tensorflow()}.keras"
    script = draft.module.tree
    known = (
        b.name for b in draft.module.scopes.imports if b.imported == "keras" and b.statement in script.body
    )
    return next(known, "")


def _backend(draft: Draft, v1: str) -> str:
    """What Keras' backend is called; it is imported if it is not."""
    script = draft.module.tree  # and no other file of its project
    place = head_place(draft, script)
    before = script.body[: script.body.index(place.last) + 1] if place and place.last in script.body else []
    known = {n for s in before for n in ast.walk(s)}
    for binding in draft.module.scopes.imports:
        if binding.statement in known and draft.syntax.function(binding.statement) is None:
            if binding.imported in ("keras.backend", "tensorflow.keras.backend"):
                return binding.name
            if binding.imported in ("keras", "tensorflow.keras") and isinstance(
                binding.statement, (ast.Import, ast.ImportFrom)
            ):
                return f"{binding.name}.backend"
    if not uses_standalone_keras(draft):
        return f"{v1}.keras.backend"
    name = draft.fresh("backend")
    line = "from keras import backend"
    draft.extra_imports.append(line if name == "backend" else f"{line} as {name}")
    return name


def _imported(draft: Draft, name: str) -> bool:
    return any(b.imported.endswith(f".{name}") for b in draft.module.scopes.imports)
