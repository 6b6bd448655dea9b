"""What is known of all Python files of some folders: their training loops and what stands in the way of distributing them.
Knows nothing of editors."""

from horovodize.workspace.describe import summarize_file
from horovodize.workspace.file_summary import FileSummary, Loop, Restriction, Role, State
from horovodize.workspace.index import Index
from horovodize.workspace.place import Mark, Place

__all__ = [
    "FileSummary",
    "Index",
    "Loop",
    "Mark",
    "Place",
    "Restriction",
    "Role",
    "State",
    "summarize_file",
]
