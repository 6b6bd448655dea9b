"""What the ranks of a distributed script do, one beside the other: where they wait for each other forever, where one writes
what another reads, where their weights part. `program.py` reads a script as steps, `execution.py` goes through them as one
rank, `exploration.py` as two and three, and `verdicts.py` compares what they did."""

from horovodize.interleaving.exploration import Exploration
from horovodize.interleaving.own_answers import OwnAnswers, Taken
from horovodize.interleaving.verdicts import Moment, Trouble, Verdict

__all__ = ["Exploration", "Moment", "OwnAnswers", "Taken", "Trouble", "Verdict"]
