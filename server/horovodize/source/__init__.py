"""A document: its text, its lines, its parsed module, and edits of it. Knows nothing of TensorFlow."""

from horovodize.source.document import Document, Part, Place, Problem, Untouchable
from horovodize.source.edits import Edit, EditConflict, Move, compose, line_edits
from horovodize.source.encoding import Encoded, UndecodableSource, decode
from horovodize.source.lines import LineIndex, Position, PositionEncoding, Span

__all__ = [
    "Document",
    "Edit",
    "EditConflict",
    "Encoded",
    "LineIndex",
    "Move",
    "Part",
    "Place",
    "Position",
    "PositionEncoding",
    "Problem",
    "Span",
    "UndecodableSource",
    "Untouchable",
    "compose",
    "decode",
    "line_edits",
]
