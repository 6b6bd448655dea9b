"""The transformation rules: a package a family, in it one file a rule, or a part of one."""

from __future__ import annotations

from collections.abc import Mapping

from horovodize.rules.drafting.rule import Rule
from horovodize.rules.patterns import every_rule

RULES: Mapping[str, Rule] = {rule.id: rule for rule in every_rule()}

__all__ = ["RULES", "Rule"]
