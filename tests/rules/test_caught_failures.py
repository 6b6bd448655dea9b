"""G4: a failure of training that a handler swallows ends the run on several ranks."""

from __future__ import annotations

import textwrap

import pytest

from horovodize.plan import Plan

from .dividing import TAPE
from .pairs import changes, plan_of, refused

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
