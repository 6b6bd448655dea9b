"""What distributing came to, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from horovodize.cli.output import json_range

if TYPE_CHECKING:
    from horovodize.cli.notebooks import Made
    from horovodize.plan import Plan, Reason
    from horovodize.source import Document, Edit, Part
    from horovodize.world.world import World


def plan_json(plan: Plan, made: Made) -> dict[str, Any]:
    document = plan.document
    place = partial(json_range, document)
    return {
        "sure": plan.sure,
        "changes": [
            {
                "rule": c.rule, "what": c.what, "why": c.why, "range": place(c.span),
                "sure": c.sure, **({"doubt": c.doubt} if not c.sure else {}),
            }
            for c in plan.changes
        ],
        "notes": [{"rule": n.rule, "message": n.message, "range": place(n.span)} for n in plan.notes],
        "scaling": [
            {"kind": s.kind, "why": s.why, "range": place(s.span), "sure": s.sure} for s in plan.scalings
        ],
        "edits": [_edit_json(part, e) for part in document.parts(plan.edits) for e in part.edits],
        "text": made.text(document),
        "beside": list(plan.beside),
    }  # fmt: skip


def world_json(world: World) -> dict[str, Any]:
    """The TensorFlow and the Keras that a script is distributed for; versions and sources are "" where nobody says them."""
    tensorflow = {"version": world.tensorflow, "source": world.tensorflow_by}
    return {
        "world": {
            "tensorflow": tensorflow,
            "keras": {"kind": world.keras.name.lower(), "source": world.keras_by},
        }
    }


def _edit_json(part: Part, edit: Edit) -> dict[str, Any]:
    from horovodize.source import Document

    place = json_range(Document(part.text), edit.span)
    return {
        "range": place if part.cell is None else {"cell": part.cell, **place},
        "newText": edit.new_text,
    }


def reason_json(document: Document, reason: Reason) -> dict[str, Any]:
    from horovodize.distribute_project import in_file
    from horovodize.documentation import page_address

    own, span = in_file(document, reason.span)
    path = {"path": own.path} if own is not document else {}
    return {
        "code": reason.code,
        "message": reason.message,
        **path,
        "range": json_range(own, span),
        "url": page_address(reason.code),
    }


def project_json(plans: Sequence[Plan]) -> dict[str, Any]:
    """A plan over several files: what one of a single file says, with `path` on each part, and `files` with their texts."""
    from horovodize.cli.notebooks import Made

    parts = [(p.document.path, plan_json(p, Made(p.document.edited(p.edits)))) for p in plans]
    return {
        "sure": all(p.sure for p in plans),
        **{
            key: [{"path": path, **entry} for path, part in parts for entry in part[key]]
            for key in ("changes", "notes", "scaling", "edits")
        },
        "text": parts[-1][1]["text"],
        "beside": parts[-1][1]["beside"],
        "files": [{"path": path, "text": part["text"]} for path, part in parts if part["edits"]],
    }
