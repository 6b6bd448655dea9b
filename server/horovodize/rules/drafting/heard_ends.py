"""The text of what deals out sequences, where only the thread of `fit` may tell it that an epoch ends (`told_by_threads`)."""

from __future__ import annotations

from collections.abc import Sequence

from horovodize.rules.drafting.draft import Draft

MODULE = "threading"
_DEALING = ("ShardedSequence", "ShardedFlow", "SharedSequence")
_ONCE = "{threading}.get_ident() == self.thread"


def heard_from_fit(draft: Draft, purpose: str, lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of a class that deals out a sequence, which is told of the ends of epochs by `fit` alone."""
    if purpose not in _DEALING or MODULE not in draft.stream:
        return lines
    return tuple(one for line in lines for one in _instead(line))


def _instead(line: str) -> Sequence[str]:
    bare = line.strip()
    if bare.startswith("self.sequence, self."):
        return line, "        self.thread = {threading}.get_ident()"
    if bare == "def on_epoch_end(self):":
        return (f"{line}  # Keras' own thread tells it, too, if it is fast enough",)
    if bare == "self.sequence.on_epoch_end()":
        return f"        if {_ONCE}:", f"    {line}"
    if bare == "if self.sequence.shuffle:":
        return (f"        if self.sequence.shuffle and {_ONCE}:",)
    return (line,)


__all__ = ["MODULE", "heard_from_fit"]
