"""The requests and notifications that the server answers, one a file.

Each has `METHOD`, its name in the protocol; `OPTIONS`, what to tell the client about it (or None); and
`handle(server, params)`. A new one is a new file, and its name in this list."""

from types import ModuleType

from horovodize.lsp.requests import (
    code_action,
    code_action_resolve,
    code_lens,
    code_lens_resolve,
    diagnostic,
    did_change,
    did_change_configuration,
    did_change_watched_files,
    did_change_workspace_folders,
    did_close,
    did_open,
    did_save,
    document_summary,
    execute_command,
    hover,
    initialize,
    initialized,
    inlay_hint,
    notebook_did_change,
    notebook_did_close,
    notebook_did_open,
    notebook_did_save,
    workspace_summary,
    workspace_symbol,
)

REQUESTS: tuple[ModuleType, ...] = (
    code_action,
    code_action_resolve,
    code_lens,
    code_lens_resolve,
    diagnostic,
    did_change,
    did_change_configuration,
    did_change_watched_files,
    did_change_workspace_folders,
    did_close,
    did_open,
    did_save,
    execute_command,
    hover,
    initialize,
    initialized,
    inlay_hint,
    notebook_did_change,
    notebook_did_close,
    notebook_did_open,
    notebook_did_save,
    document_summary,
    workspace_summary,
    workspace_symbol,
)
