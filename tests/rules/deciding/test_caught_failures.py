"""G4: a failure of training that a handler swallows ends the run on several ranks."""

from __future__ import annotations

import textwrap

import pytest

from horovodize.plan import Plan

from ..dividing import TAPE
from ..pairs import changes, plan_of, refused

HEAD = TAPE + "ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\n"
LOOP = "for x, y in ds:\n    step(x, y)\n"
RAISED = "    if hvd.size() > 1:\n        raise  # the other ranks would wait for this one\n"
FAILS = "where this fails on one rank, the others wait for it"


def tried(handler: str, body: str = LOOP) -> str:
    return "try:\n" + textwrap.indent(body, "    ") + handler


def distributed(text: str) -> Plan:
    return plan_of(HEAD + text)


@pytest.mark.parametrize(
    "handler",
    [
        "except Exception as error:\n    print(error)\n",
        "except:\n    log.append(1)\n",
        "except (OSError, tf.errors.OpError):\n    pass\n",
        "except KeyboardInterrupt:\n    pass\nexcept Exception:\n    traceback.print_exc()\n",
    ],
)
def test_the_exception_is_raised_again(handler: str) -> None:
    text = distributed(tried(handler) + "print('done')\n").text
    assert text.count(RAISED) == 1
    assert text.index(RAISED) < text.index("print('done')")


@pytest.mark.parametrize("unit", ["  ", "   ", "    ", "        ", "\t"])
def test_in_the_indentation_of_the_file(unit: str) -> None:
    text = (HEAD + tried("except OSError:\n    print('no')\n")).replace("    ", unit)
    assert RAISED.replace("    ", unit) in plan_of(text.rstrip("\n")).text + "\n"


def test_each_of_several_handlers_raises_again() -> None:
    handlers = "except OSError:\n    print('file')\nexcept Exception:\n    print('other')\n"
    text = distributed(tried(handlers)).text
    assert text.count(RAISED) == 2
    refused(HEAD + tried(handlers.replace("OSError", "IndexError")), "HVD205", FAILS)


def test_before_a_handler_returns() -> None:
    body = tried("except OSError:\n    print('no')\n    return 3\n")
    text = distributed("def main():\n" + textwrap.indent(body, "    ") + "    return 0\nmain()\n").text
    assert textwrap.indent(RAISED, "    ") + "        return 3\n" in text


@pytest.mark.parametrize(
    "handler",
    [
        "except KeyboardInterrupt:\n    print('stopped')\n",  # comes to all ranks
        "except Exception:\n    raise\n",
        "except Exception:\n    sys.exit(1)\n",
        "except tf.errors.OutOfRangeError:\n    print('end')\n",
    ],
)
def test_what_ends_all_ranks_alike_is_left(handler: str) -> None:
    plan = distributed("import sys\n" + tried(handler))
    assert "would wait for this one" not in plan.text


@pytest.mark.parametrize(
    "text",
    [
        "for x, y in ds:\n    try:\n        step(x, y)\n    except Exception:\n        print('bad batch')\n",
        "for again in range(3):\n" + textwrap.indent(tried("except OSError:\n    print('again')\n"), "    "),
        "def main():\n" + textwrap.indent(tried("except OSError:\n    print('again')\n"), "    ")
        + "for again in range(3):\n    main()\n",
        tried("except IndexError:\n    print('end')\n"),  # may be how the program ends
        "class Done(Exception):\n    pass\n" + tried("except (OSError, Done):\n    print('end')\n"),
        "def main():\n" + textwrap.indent(
            tried("except OSError:\n    if kind:\n        return 1\n    print('no')\n"), "    ") + "main()\n",
    ],
)  # fmt: skip
def test_where_training_goes_on_it_is_refused(text: str) -> None:
    refused(HEAD + text, "HVD205", FAILS)


def test_a_handler_on_the_line_of_its_clause_gets_lines_of_its_own() -> None:
    plan = distributed(tried("except OSError: print('no')\n"))
    assert changes(plan, "G4")
    assert "would wait for this one" in plan.text
    compile(plan.text, "train.py", "exec")


AGAIN = """\
import tensorflow as tf
model, opt = tf.keras.Sequential([]), tf.keras.optimizers.SGD(0.1)
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
it, n = iter(ds), 0
while n < 100:
    try:
        {tried}
    except {caught}:
        {handled}
        continue
    step(x, y)
    n += 1
"""


@pytest.mark.parametrize(
    "caught", ["StopIteration", "tf.errors.OutOfRangeError", "(StopIteration, tf.errors.OutOfRangeError)"]
)
@pytest.mark.parametrize("handled", ["it = iter(ds)", "it = iter(ds); print('again')"])
def test_data_that_begin_again_skip_the_same_turn_on_all_ranks(caught: str, handled: str) -> None:
    text = plan_of(AGAIN.format(tried="x, y = next(it)", caught=caught, handled=handled)).text
    assert "while n < 100 // hvd.size():" in text
    assert "except " + caught in text


@pytest.mark.parametrize(
    ("tried", "caught", "handled"),
    [
        # near misses: what a batch of one rank may fail by; more is tried than to take a batch; other things are done
        ("x, y = next(it)", "Exception", "it = iter(ds)"),
        ("x, y = next(it)", "ValueError", "it = iter(ds)"),
        ("x, y = a[n], b[n]", "StopIteration", "it = iter(ds)"),
        ("x, y = next(it); step(x, y)", "StopIteration", "it = iter(ds)"),
        ("x, y = next(it)", "StopIteration", "it = iter(ds) if n else step(a, b)"),
    ],
)
def test_a_turn_that_one_rank_may_skip_is_refused(tried: str, caught: str, handled: str) -> None:
    refused(AGAIN.format(tried=tried, caught=caught, handled=handled), "HVD205")
