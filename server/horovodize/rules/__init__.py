"""The transformation rules: one file a rule, or a few lines' family."""

from __future__ import annotations

from collections.abc import Mapping

from horovodize.rules.patterns import every_rule
from horovodize.rules.rule import Rule

RULES: Mapping[str, Rule] = {rule.id: rule for rule in every_rule()}

__all__ = ["RULES", "Rule"]
