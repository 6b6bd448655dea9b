"""What is true of a script on several ranks: one place for each question, asked by restrictions and rules alike.

Every answer has a third value, *unknown*: it is never taken for "the same". Who needs a proof asks or refuses then."""

from horovodize.facts.facts import Facts, facts_of

__all__ = ["Facts", "facts_of"]
