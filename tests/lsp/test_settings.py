"""Settings are read in every form in which editors send them, and wrong ones are named."""

from __future__ import annotations

import pytest

from horovodize.configuration import FileSettings
from horovodize.lsp.settings import Settings, WhileTyping, layer_of, read
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


def test_where_our_module_comes_from_is_a_setting_too() -> None:
    assert read({"runtime": "package"}).settings.options == Options(runtime="package")
    reading = read({"runtime": "pip"})
    assert reading.wrong == ("horovodize.runtime: 'pip' is not one of beside, package; beside is used",)
    assert reading.settings == Settings()


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
        ({"codeLens": 1}, "horovodize.codeLens: 1 is not true or false; true is used"),
        ({"logLevel": "all"}, '\'all\' is not "error", "warning", "info" or "debug"; info is used'),
        ({"ignore": "HVD105"}, "horovodize.ignore: 'HVD105' is not a list of codes; none is used"),
        (["splitData"], "settings have to be an object"),
    ],
)
def test_a_wrong_value_is_named_and_the_default_used(layer: object, message: str) -> None:
    reading = read(layer)
    assert len(reading.wrong) == 1
    assert message in reading.wrong[0]
    assert reading.settings == Settings()


@pytest.mark.parametrize("name", ["select", "ignore"])
def test_codes_that_do_not_exist_are_told_and_the_others_heeded(name: str) -> None:
    reading = read({name: ["HVD105", "hvd1", "printed-effect", "ALL", "HVD999", "alias"]})
    assert reading.wrong == (
        f"horovodize.{name}: 'HVD999' is no code or name of a finding",
        f"horovodize.{name}: 'alias' is no code or name of a finding",
    )
    assert "HVD105" in (getattr(reading.settings, name) or ())


def test_settings_of_others_are_told_apart() -> None:
    reading = read({"trace": {"server": "verbose"}, "strict": True})
    assert reading.unknown == ("trace.server",)
    assert not reading.wrong
    assert reading.settings.options.strict


def test_a_file_is_the_lowest_layer() -> None:
    file = FileSettings({"split_data": False, "tensorflow": "2.15"}, ("HVD1",), ("HVD105",))
    reading = read(layer_of(file), {"tensorflow": None, "ignore": []}, {"splitData": True})
    assert reading.settings == Settings(options=Options(tensorflow="2.15"), select=("HVD1",))
    assert read(layer_of(FileSettings())).settings == Settings()
    assert not reading.unknown


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        (Settings(), {"HVD001", "HVD105", "HVD205"}),
        (Settings(not_distributed=False), {"HVD105", "HVD205"}),
        (Settings(select=("hvd2",)), {"HVD001", "HVD205"}),
        (Settings(ignore=("aliased-optimizer",)), {"HVD001", "HVD205"}),
        (Settings(select=("ALL",), ignore=("HVD2", "HVD105")), {"HVD001"}),
    ],
)
def test_which_findings_are_wanted(settings: Settings, wanted: set[str]) -> None:
    names = {"HVD001": "not-distributed", "HVD105": "aliased-optimizer", "HVD205": "conditional-loop"}
    assert {code for code, name in names.items() if settings.wants(code, name)} == wanted
