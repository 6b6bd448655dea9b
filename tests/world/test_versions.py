"""What texts about versions say, and what they leave open."""

from __future__ import annotations

import pytest

from horovodize.world.versions import before, from_on


@pytest.mark.parametrize(
    ("asked", "is_from", "is_before"),
    [
        ("", False, False),
        ("2.15", False, True),
        ("2.15.1", False, True),
        ("2.16.1", True, False),
        ("==2.15.*", False, True),
        ("==2.*", False, False),
        (">=2.4", False, False),
        (">=2.16", True, False),
        (">2.16", True, False),
        (">2.15.1", False, False),  # 2.15.2
        ("<2.16", False, True),
        ("<=2.15.1", False, True),
        ("<=2.16", False, False),
        ("<2.16.1", False, False),  # 2.16.0
        ("<3", False, False),
        ("~=2.15.0", False, True),
        ("~=2.15", False, False),  # up to 2.99
        ("~2.15", False, True),
        ("^2.15", False, False),
        ("^2.17", True, False),
        ("2.17.0rc1", True, False),
        (" >= 2.16, < 2.18 ", True, False),
        (">=2.12,!=2.14,<2.16", False, True),
        ("*", False, False),
        ("@ git+https://example.org/tensorflow", False, False),
    ],
)
def test_what_a_text_says_of_2_16(asked: str, is_from: bool, is_before: bool) -> None:
    assert (from_on(asked, (2, 16)), before(asked, (2, 16))) == (is_from, is_before)
