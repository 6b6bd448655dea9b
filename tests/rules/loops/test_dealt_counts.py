"""G4: numbers that are no range are dealt out like batches; what goes by them is asked about."""

from __future__ import annotations

import pytest

from ..dividing import TAPE
from ..pairs import plan_of

DATA = "import itertools, tqdm\nds = iter(tf.data.Dataset.from_tensor_slices((a, b)).batch(4).repeat())\n"
BODY = "    x, y = next(ds)\n    step(x, y)\n"


def asked(iterated: str, body: str) -> list[str]:
    plan = plan_of(TAPE + DATA + f"for i in {iterated}:\n{body}")
    return [c.doubt for c in plan.to_confirm if "every size()-th" in c.doubt]


@pytest.mark.parametrize(
    "iterated",
    [
        "sorted(range(1000))",
        "np.arange(1000).tolist()",
        "(k + 1 for k in range(1000))",
        "[*range(1000)]",
        "map(int, range(1000))",
        "range(1000)[::-1]",
        "tqdm.tqdm([k for k in range(1000)])",
        "np.linspace(1, 1000, 1000)",
        "itertools.islice(itertools.count(), 1000)",
        "itertools.chain(range(500), range(500, 1000))",
    ],
)
@pytest.mark.parametrize(
    "event", ["if i % 25 == 0: model.save('m')", "optimizer.learning_rate = 0.1 * 0.99 ** i", "decay(i)"]
)
def test_what_goes_by_numbers_that_are_dealt_out_is_asked_about(iterated: str, event: str) -> None:
    assert asked(iterated, BODY + f"    {event}\n")


@pytest.mark.parametrize(
    ("iterated", "body"),
    [
        ("range(1000)", BODY + "    if i % 25 == 0: model.save('m')\n"),  # divided
        ("list(range(1000))", BODY + "    if i % 25 == 0: model.save('m')\n"),
        ("sorted(range(0, 64, 4))", "    step(a[i : i + 4], b[i : i + 4])\n"),  # a rank's own rows
        ("[a[k : k + 4] for k in range(0, 64, 4)]", "    step(i / 255, b[:4])\n"),  # rows
        ("sorted(range(1000))", BODY),
    ],
)
def test_rows_and_ranges_are_not(iterated: str, body: str) -> None:
    assert not asked(iterated, body)
