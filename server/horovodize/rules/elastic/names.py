"""What elastic programs call things."""

from __future__ import annotations

from dataclasses import dataclass

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights.step_place import Place
from horovodize.runtime import ELASTIC


@dataclass(frozen=True)
class Synced:
    """What a step of a loop trains, as it is called at a place: what the state has to hold.

    variables   texts of variables: `model.variables`; with what they are, where they have no name yet
    optimizers  texts of optimizers' variables: `optimizer.variables()`
    copies      what is kept beside the model, and brought up to date from it"""

    place: Place
    variables: dict[str, str | None]
    optimizers: dict[str, None]
    copies: tuple[str, ...]


def module(draft: Draft) -> str:
    """What our module is called; it is imported."""
    name = draft.same_name("elastic")
    line = f"import {ELASTIC.removesuffix('.py')} as {name}"
    if line not in draft.extra_imports:
        draft.extra_imports.append(line)
    return name


def state(draft: Draft) -> str:
    return draft.same_name("state")


def train(draft: Draft) -> str:
    return draft.same_name("train")
