"""Steps that learn from a game: each rank plays games of its own, and nothing is divided."""

from __future__ import annotations

import ast

from horovodize.rules.deciding.lockstep import learns_from_a_game
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.rows import seeded_games
from horovodize.rules.scaling import strong

_PLAY = "Let each rank play games of its own"
_WHY_PLAY = (
    "What a game gives is no data that could be divided: rate, loops and all that is counted in them stay."
)
_PLAYED = (
    "every rank plays as many games as one process did, so training sees size() times the experience; neither the rate nor "
    "the number of games is changed: play fewer of them if one process's experience is enough"
)


def played(draft: Draft) -> set[ast.expr]:
    """The datasets of what each rank's own game has given: all of it is that rank's own already."""
    known = feeding(draft)
    games = [d for d in known.drivers if _learn(draft, d.steps)]
    found = {feed for driver in games for feed in known.feeds_of(driver)}
    if games and len(games) == len(known.drivers):
        found |= {*known.graph_feeds}
    others = (d for d in known.drivers if d not in games)
    return found - {f.x for f in known.fits} - {feed for driver in others for feed in known.feeds_of(driver)}


def _learn(draft: Draft, steps: list[ast.Call]) -> bool:
    """Whether steps learn from a game."""
    return any(draft.facts.steps.game(step) is not None or learns_from_a_game(draft, step) for step in steps)


def plays(draft: Draft, rule: str, steps: list[ast.Call]) -> bool:
    """Whether steps learn from a game that each rank plays for itself; then nothing is divided, and it is asked once."""
    if not _learn(draft, steps):
        return False
    strong.leave(draft, steps)
    loops = [loop for way in draft.drive.ways(steps[0]) for frame in way for loop in frame.loops]
    place = loops[-1] if loops else steps[0]
    if draft.once("games", place):
        draft.ask(rule, place, _PLAY, _WHY_PLAY, _PLAYED)
        seeded_games.tell(draft, rule, loops)
    return True
