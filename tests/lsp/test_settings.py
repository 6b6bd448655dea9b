"""Settings are read in every form in which editors send them, and wrong ones are named."""

from __future__ import annotations

import pytest

from horovodize.lsp.settings import Settings, WhileTyping, read
from horovodize.options import Options


@pytest.mark.parametrize(
    "layer",
    [
        {"diagnostics": {"whileTyping": "off", "notDistributed": False}, "splitData": False},
        {"diagnostics.whileTyping": "off", "diagnostics.notDistributed": False, "splitData": False},
        {"horovodize": {"diagnostics": {"whileTyping": "off", "notDistributed": False}, "splitData": False}},
        {
            "horovodize.diagnostics.whileTyping": "off",
            "horovodize.diagnostics": {"notDistributed": False},
            "horovodize": {"splitData": False},
        },
    ],
)
def test_each_form_is_understood(layer: object) -> None:
    reading = read(layer)
    assert reading.settings == Settings(WhileTyping.OFF, False, Options(split_data=False))
    assert not reading.wrong
    assert not reading.unknown


@pytest.mark.parametrize("layer", [None, {}, {"horovodize": None}, {"diagnostics": None, "splitData": None}])
def test_what_is_absent_changes_nothing(layer: object) -> None:
    assert read(layer).settings == Settings()


def test_later_layers_win_value_by_value() -> None:
    reading = read({"strict": True, "comments": False}, {"comments": True})
    assert reading.settings.options == Options(strict=True, comments=True)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (
            {"diagnostics": {"whileTyping": "loud"}},
            'horovodize.diagnostics.whileTyping: \'loud\' is not "soft", "same" or "off"; soft is used',
        ),
        ({"diagnostics": {"whileTyping": ["soft"]}}, "['soft'] is not"),
        ({"splitData": "yes"}, "horovodize.splitData: 'yes' is not true or false; true is used"),
        ({"diagnostics": {"notDistributed": 0}}, "0 is not true or false; true is used"),
        (["splitData"], "settings have to be an object"),
    ],
)
def test_a_wrong_value_is_named_and_the_default_used(layer: object, message: str) -> None:
    reading = read(layer)
    assert len(reading.wrong) == 1
    assert message in reading.wrong[0]
    assert reading.settings == Settings()


def test_settings_of_others_are_told_apart() -> None:
    reading = read({"trace": {"server": "verbose"}, "strict": True})
    assert reading.unknown == ("trace.server",)
    assert not reading.wrong
    assert reading.settings.options.strict
