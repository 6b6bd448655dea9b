"""What is known of a document is brought up to date with its next version, or begun anew."""

from __future__ import annotations

from horovodize.options import Options
from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize

SCRIPT = """\
import tensorflow as tf


def train(model):
    model.fit(x, y)


model = tf.keras.Sequential()
model.compile("sgd", "mse")
train(model)
"""
DEEP = "".join(f"x{i} = x{i - 1}\n" for i in range(1, 3000)) + "x2999()\n"


def codes(document: Document) -> list[str]:
    return [v.code for v in check(summarize(document), Options())]


def test_it_is_kept_where_it_can_be_brought_up_to_date() -> None:
    document = Document(SCRIPT)
    module = summarize(document).module
    assert module is not None
    changed = document.changed_to(SCRIPT.replace('"mse"', '"mae"'))
    assert summarize(changed).module is module
    assert document.meaning is None


def test_an_answer_that_a_change_makes_wrong_is_forgotten() -> None:
    document = Document(SCRIPT)
    assert len(summarize(document).loops) == 1
    changed = document.changed_to(SCRIPT.replace("import tensorflow as tf", "import other as tf"))
    assert summarize(changed).loops == ()


def test_what_is_too_deep_to_be_followed_is_said_in_each_version() -> None:
    document = Document(SCRIPT + DEEP)
    fresh = codes(Document(SCRIPT + DEEP))
    assert codes(document) == fresh
    deeper = document.changed_to(SCRIPT + DEEP + "x2999()\n")
    assert codes(deeper) == codes(Document(SCRIPT + DEEP + "x2999()\n"))
    assert codes(deeper.changed_to(SCRIPT)) == codes(Document(SCRIPT))


def test_a_nonlocal_that_reaches_the_module_starts_from_nothing() -> None:
    document = Document(SCRIPT)
    module = summarize(document).module
    odd = document.changed_to(SCRIPT + "def f():\n    nonlocal model\n    model = 1\n")
    assert summarize(odd).module is not module
    assert codes(odd.changed_to(SCRIPT)) == codes(Document(SCRIPT))
