"""The file operations of the editor that the index wants to hear of: Python files, and folders."""

from __future__ import annotations

from lsprotocol import types

FILES_AND_FOLDERS = types.FileOperationRegistrationOptions(
    [
        types.FileOperationFilter(types.FileOperationPattern("**/*.py"), scheme="file"),
        types.FileOperationFilter(
            types.FileOperationPattern("**", matches=types.FileOperationPatternKind.Folder), scheme="file"
        ),
    ]
)
