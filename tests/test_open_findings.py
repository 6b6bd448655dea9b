"""`distribute` never says less than `check`: a warning about a loop that is distributed is resolved, asked or refused. Except
what is wrong on any number of ranks (`Violation.asks`): distributing leaves that as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Refusal
from horovodize.restrictions import RESTRICTIONS, check, examine
from horovodize.restrictions.violation import Severity
from horovodize.source import Document
from horovodize.summary import summarize

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted(
    path
    for folder in ("tests/programs", "tests/golden", "examples")
    for path in (ROOT / folder).rglob("*.py")
    if not path.name.startswith("test_")
)
EXAMPLES = [
    pytest.param(example, id=f"{restriction.code}-{heading.split()[0].lower()}-{number}")
    for restriction in RESTRICTIONS.values()
    for heading in ("Example that breaks it", "Near misses")
    for number, example in enumerate(restriction.examples(heading))
]

FROM_ELSEWHERE = """\
import tensorflow as tf
from my_optimizers import build_optimizer

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = build_optimizer(0.1)
for x, y in tf.data.Dataset.from_tensor_slices((xs, ys)).batch(8):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
MIRRORED = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(){comment}
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(x, y)
"""
CONDITIONAL = """\
import os
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
if os.path.getsize("data.npz"):{on_condition}
    model.fit(x, y){on_loop}
"""


def silent(text: str) -> list[str]:
    """The warnings of `check` that distributing says nothing of, neither by answering nor by asking."""
    summary = summarize(Document(text))
    outcome = distribute(summary)
    if not isinstance(outcome, Plan):
        return []
    asked = {(c.rule, c.span) for c in outcome.to_confirm}
    return [
        f"{v.code} {v.message}"
        for v in check(summary)
        if v.severity is Severity.WARNING
        and v.asks
        and (v.code, v.span) not in asked
        and not outcome.answers(v.code, v.span)
    ]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_scripts(path: Path) -> None:
    assert silent(path.read_bytes().decode(errors="replace")) == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_restrictions(example: str) -> None:
    assert silent(example) == []


def test_a_warning_that_no_change_answers_is_asked_at_its_place() -> None:
    summary = summarize(Document(RESTRICTIONS["HVD110"].examples("Example that breaks it")[0]))
    (warning,) = (v for v in check(summary) if v.severity is Severity.WARNING)
    plan = distribute(summary)
    assert isinstance(plan, Plan)
    assert not plan.sure
    (asked,) = (c for c in plan.to_confirm if not c.edits)
    assert (asked.rule, asked.span, asked.doubt) == (warning.code, warning.span, warning.message)


def test_a_doubt_that_answers_a_warning_is_asked_once() -> None:
    plan = distribute(summarize(Document(FROM_ELSEWHERE)))
    assert isinstance(plan, Plan)
    (asked,) = plan.to_confirm
    assert (asked.rule, bool(asked.edits)) == ("C5", True)


def test_who_suppresses_a_warning_has_answered_it() -> None:
    text = (
        "# horovodize: ignore-file[HVD110]\n" + RESTRICTIONS["HVD110"].examples("Example that breaks it")[0]
    )
    plan = distribute(summarize(Document(text)))
    assert isinstance(plan, Plan)
    assert [c for c in plan.to_confirm if not c.edits] == []


# ---------------------------------------------------------------------- what no comment makes right


@pytest.mark.parametrize(
    "text",
    [
        MIRRORED.format(comment=""),
        MIRRORED.format(comment="  # horovodize: ignore[HVD202]"),
        MIRRORED.format(comment="  # horovodize: ignore"),
        "# horovodize: ignore-file[HVD202]\n" + MIRRORED.format(comment=""),
        "# horovodize: ignore-file\n" + MIRRORED.format(comment=""),
    ],
)
def test_what_blocks_is_refused_also_where_it_is_suppressed(text: str) -> None:
    outcome = distribute(summarize(Document(text)))
    assert isinstance(outcome, Refusal)
    assert {reason.code for reason in outcome.reasons} == {"HVD202"}


def test_a_suppressed_condition_is_refused_and_the_loop_not_offered() -> None:
    text = CONDITIONAL.format(on_condition="  # horovodize: ignore", on_loop="  # horovodize: ignore[HVD205]")
    summary = summarize(Document(text))
    assert check(summary) == []
    assert [v.code for v in examine(summary).suppressed] == ["HVD205"]
    outcome = distribute(summary)
    assert isinstance(outcome, Refusal)
    assert [reason.code for reason in outcome.reasons] == ["HVD205"]


@pytest.mark.parametrize("code", ["HVD203", "HVD205"])
@pytest.mark.parametrize("comment", ["# horovodize: ignore-file", "# horovodize: ignore-file[{}]"])
def test_a_comment_for_the_whole_file_lets_nothing_pass_that_blocks(code: str, comment: str) -> None:
    examples = RESTRICTIONS[code].examples("Example that breaks it")
    refused = [e for e in examples if isinstance(distribute(summarize(Document(e))), Refusal)]
    assert len(refused) >= 2
    for example in refused:
        summary = summarize(Document(f"{comment.format(code)}\n{example}"))
        assert code not in {v.code for v in check(summary)}
        outcome = distribute(summary)
        assert isinstance(outcome, Refusal)
        assert code in {reason.code for reason in outcome.reasons}


def test_a_version_without_estimators_is_refused_also_where_it_is_suppressed() -> None:
    (text, *_) = RESTRICTIONS["HVD901"].examples("Example that breaks it")
    outcome = distribute(
        summarize(Document("# horovodize: ignore-file\n" + text)), Options(tensorflow="2.16")
    )
    assert isinstance(outcome, Refusal)
    assert {reason.code for reason in outcome.reasons} == {"HVD901"}
