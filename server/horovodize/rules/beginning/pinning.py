"""How each process gets a GPU of its own: part of C2."""

from __future__ import annotations

import ast

from horovodize.rules.beginning import keras_session
from horovodize.rules.drafting.draft import HVD, LINE, LOCAL_RANK, Draft
from horovodize.rules.drafting.helper_text import config_text, helper_lines, mentions


def pin(draft: Draft, tree: ast.Module, written: str, helpers: dict[str, str], tf: str) -> list[str]:
    """The lines that choose a GPU: in the script, by TensorFlow 2's way; in TensorFlow 1, in every file that opens
    sessions."""
    if not uses_sessions(draft):
        return _pin_process(draft, tf) if tree is draft.module.tree else []
    if draft.config_to_make is None:
        return []
    in_helpers = (
        draft.config_to_make[0] in line for h, n in helpers.items() for line in helper_lines(draft, h, n, tf)
    )
    wanted = tree is draft.module.tree and (keras_session.is_wanted(draft) or any(in_helpers))
    if len(draft.syntax.trees) == 1 or wanted or mentions(written, draft.config_to_make[0]):
        return _pin_sessions(draft)
    return []


def _pin_process(draft: Draft, tf: str) -> list[str]:
    gpus, gpu = draft.fresh("gpus"), draft.fresh("gpu")
    kind = draft.quoted("GPU")
    return [
        f"{gpus} = {tf}.config.experimental.list_physical_devices({kind})",
        f"for {gpu} in {gpus}:",
        f"    {tf}.config.experimental.set_memory_growth({gpu}, True)",
        f"if {gpus}:",
        f"    {tf}.config.experimental.set_visible_devices({gpus}[{LOCAL_RANK}], {kind})",
    ]


def _pin_sessions(draft: Draft) -> list[str]:
    """In TensorFlow 1 a session is told its GPU (S3); nothing, where the user's own configs are pinned."""
    if draft.config_to_make is None:
        return []
    config, v1 = draft.config_to_make
    made = [f"{config} = {config_text(v1)}"]
    if len(made[0].replace(HVD, "hvd")) > LINE:
        made = [
            f"{config} = {v1}.ConfigProto()",
            f"{config}.gpu_options.allow_growth = True",
            f"{config}.gpu_options.visible_device_list = str({LOCAL_RANK})",
        ]
    return [
        *made,
        *(keras_session.set_session(draft) if keras_session.is_wanted(draft) else ()),
    ]


def uses_sessions(draft: Draft) -> bool:
    """Whether a GPU is chosen by sessions, as in TensorFlow 1, rather than by `tf.config`."""
    return draft.in_graph or keras_session.is_wanted(draft)
