"""SARIF: logs that a validator takes, with what code scanning shows of a finding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from horovodize.documentation import index_address, page_address

SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))

TWO_WAYS = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
model.compile(optimizer, "mse")
model.fit(x, y)
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # horovodize: ignore[HVD23]
"""


def log_of(run, *arguments: str) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(run("check", *arguments, "--format", "sarif").out)
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(log)
    return log


def test_the_validator_refuses_what_is_no_sarif() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SCHEMA).validate({"version": "2.1.0", "runs": [{"tool": {}}]})


def test_a_finding_has_its_page_and_its_related_places(run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWO_WAYS)
    (only,) = log_of(run, "train.py")["runs"]
    driver = only["tool"]["driver"]
    assert driver["informationUri"] == index_address()
    rules = {rule["id"]: rule for rule in driver["rules"]}
    assert set(rules) == {"HVD004", "HVD203"}
    for code, rule in rules.items():
        assert rule["helpUri"] == page_address(code)
        assert rule["help"]["markdown"].startswith("## What it protects")
        assert "##" not in rule["help"]["text"]
    assert only["invocations"] == [{"executionSuccessful": True}]
    by_rule = {result["ruleId"]: result for result in only["results"]}
    assert by_rule["HVD004"]["level"] == "note"
    related = by_rule["HVD203"]["relatedLocations"][0]
    assert related["physicalLocation"]["region"]["startLine"] == 6
    assert related["message"]["text"] == "trained by Keras here"


def test_no_findings_are_a_valid_log_too(run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n")
    (only,) = log_of(run, "train.py")["runs"]
    assert (only["results"], only["invocations"]) == ([], [{"executionSuccessful": True}])


def test_a_notebook_is_a_valid_log_too(run, tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": TWO_WAYS}
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "train.ipynb").write_text(json.dumps(notebook))
    (only,) = log_of(run, "train.ipynb")["runs"]
    assert [result["ruleId"] for result in only["results"]] == ["HVD203", "HVD004"]


def test_what_could_not_be_looked_at_is_said(run, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n")
    for flags in ([], ["--exit-zero"]):
        (only,) = log_of(run, "train.py", "gone.py", *flags)["runs"]
        (invocation,) = only["invocations"]
        assert invocation["executionSuccessful"] is False
        (notification,) = invocation["toolExecutionNotifications"]
        assert notification["message"]["text"] == "gone.py: no such file or folder"
