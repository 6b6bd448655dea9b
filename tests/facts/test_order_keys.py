"""What a `key` orders or picks by decides what comes of it, and what `map` and `filter` make of each element."""

# ruff: noqa: E501 (a case a line)

from __future__ import annotations

import pytest

from horovodize.facts.differences.answers import Uniform, Varies
from horovodize.facts.differences.sources import Source

from .test_uniform import MODEL, of

MEMBERS = (
    MODEL
    + """\
class Member:
    def __init__(self, lr):
        self.score, self.name, self.lr = 0.0, "a", lr
    def fit(self, x, y):
        self.score = float(step(x, y))
members = [Member(0.1), Member(0.2)]
scores, history = {}, [0.1]
for x, y in load_data():
    for member in members:
        member.fit(x, y)
        scores[member.name] = member.score
        history.append(member.score)
"""
)

OWN = {
    "a lambda's field": "sorted(members, key=lambda m: m.score)",
    "the least": "min(members, key=lambda m: m.score)",
    "a part of what is picked": "max(members, key=lambda m: -m.score).lr",
    "a part of what was ordered": "ranked = sorted(members, key=lambda m: m.score)\nranked[0].lr",
    "a field by name": "import operator\nsorted(members, key=operator.attrgetter('score'))",
    "a function": "def by(m):\n    return m.score\nsorted(members, key=by)",
    "a comparison": "import functools\ndef worse(a, b):\n    return a.score - b.score\nsorted(members, key=functools.cmp_to_key(worse))",
    "a method of a table": "max(scores, key=scores.get)",
    "numbers in a list": "min(range(2), key=lambda i: history[i])",
    "pairs": "sorted(scores.items(), key=lambda pair: pair[1])",
    "by Python's heap": "import heapq\nheapq.nsmallest(1, members, key=lambda m: m.score)",
    "in place": "members.sort(key=lambda m: m.score)\nmembers",
    "each by map": "max(map(lambda m: m.score, members))",
    "those that it holds for": "len(list(filter(lambda m: m.score > 1, members)))",
}
ALIKE = {
    "a name": "sorted(members, key=lambda m: m.name)",
    "a rate": "max(members, key=lambda m: m.lr).lr",
    "a rate by name": "from operator import attrgetter\nsorted(members, key=attrgetter('lr'))",
    "a function": "def by(m):\n    return m.lr\nsorted(members, key=by)",
    "numbers": "sorted(range(9), key=lambda i: -i)",
    "a table of constants": "sizes = {'a': 3}\nmax(sizes, key=sizes.get)",
    "rows by their second part": "rows = [(1, 'a'), (2, 'b')]\nsorted(rows, key=lambda r: r[1])",
    "rows by what they hold": "from operator import itemgetter\nrows = [(1, 'a'), (2, 'b')]\nsorted(rows, key=itemgetter(1))",
    "data by name": "sorted(glob.glob('data/*.png'), key=lambda p: int(p.split('_')[1]))",
    "words by length": "sorted(['a', 'bb'], key=len)",
    "in place": "members.sort(key=lambda m: m.name)\nmembers[0].lr",
    "each by map": "max(map(lambda m: m.lr, members))",
    "conversions": "list(map(int, '1,2'.split(',')))",
    "how many there are": "len(sorted(members, key=lambda m: m.score))",
    "a seeded shuffle": "random.seed(1)\nsorted(range(9), key=lambda i: random.random())",
}


@pytest.mark.parametrize("text", OWN.values(), ids=OWN.keys())
def test_an_order_by_own_rows_is_a_ranks_own(text: str) -> None:
    found = of(MEMBERS + text)
    assert isinstance(found, Varies)
    assert found.kind is Source.ROWS


@pytest.mark.parametrize("text", ALIKE.values(), ids=ALIKE.keys())
def test_an_order_by_what_all_ranks_have_is_the_same(text: str) -> None:
    assert isinstance(of(MEMBERS + text), Uniform)


def test_files_by_their_time_differ() -> None:
    found = of("sorted(glob.glob('data/*.png'), key=os.path.getmtime)")
    assert isinstance(found, Varies)
    assert found.kind is Source.FILES
