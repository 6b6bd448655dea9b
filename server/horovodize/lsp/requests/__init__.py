"""The requests and notifications that the server answers, one a file.

Each has `METHOD`, its name in the protocol; `OPTIONS`, what to tell the client about it (or None); and
`handle(server, params)`. A new one is a new file, and its name in this list."""

from types import ModuleType

from horovodize.lsp.requests import (
    code_action,
    code_action_resolve,
    did_change,
    did_change_configuration,
    did_close,
    did_open,
    did_save,
    hover,
    initialize,
    initialized,
)

REQUESTS: tuple[ModuleType, ...] = (
    code_action,
    code_action_resolve,
    did_change,
    did_change_configuration,
    did_close,
    did_open,
    did_save,
    hover,
    initialize,
    initialized,
)
