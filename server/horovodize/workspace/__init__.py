"""What is known of all Python files of some folders: their training loops and what stands in the way of distributing them.
Knows nothing of editors."""

from horovodize.workspace.cache import Cache
from horovodize.workspace.file_summary import FileSummary, LoopSummary, RestrictionSummary, summarize_file
from horovodize.workspace.index import Index

__all__ = ["Cache", "FileSummary", "Index", "LoopSummary", "RestrictionSummary", "summarize_file"]
