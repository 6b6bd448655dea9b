"""What the codes of refusals mean that are no restriction of the seed: why a document is not distributed.

Restrictions (HVD1xx, HVD2xx) are what a user can mend in the file; these say what Horovodize itself can or can't do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class RefusalCode:
    """A code, its slug, the reason in a line, and more of it in Markdown."""

    code: str
    name: str
    title: str
    docs: str


_ALL = (
    RefusalCode(
        "HVD002",
        "no-training-loop",
        "the file has no training loop",
        "Nothing in the file trains a model in a way that Horovodize knows: no `fit` or `train_on_batch` of a Keras model, no\n"
        "`apply_gradients` or `minimize` of an optimizer.\n\n"
        "A class whose methods run a session that it is given is distributed with the script that opens the session: name\n"
        "that script.\n\n"
        "In a folder, such files are passed over.",
    ),
    RefusalCode(
        "HVD006",
        "not-proven",
        "something that a rule needs to know can't be followed in this file",
        "A rule changes only what it can prove.\n\n"
        "Where an optimizer, a model, a learning rate or the number of steps comes from a place that can't be followed, or\n"
        "where ranks might take different numbers of steps and wait for each other forever, the document is refused rather\n"
        "than guessed at. The message says what, and the place is where it matters.\n\n"
        "The result is read again before it is given out, as a script that uses Horovod: where something in it averages\n"
        "nothing or twice (HVD304, HVD305), or its ranks would wait forever (HVD313, HVD331) or drift apart (HVD333), the\n"
        "rules have missed something, and the document is refused.",
    ),
    RefusalCode(
        "HVD007",
        "internal-conflict",
        "two rules would change the same text, or the result would not be valid Python",
        "A fault of Horovodize, found before anything was written.\n\nPlease report the file.",
    ),
)

REFUSALS: Mapping[str, RefusalCode] = {refusal.code: refusal for refusal in _ALL}
