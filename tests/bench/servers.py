"""The language servers that are timed: ours, the peers (`scripts/peers.sh` installs them), and the least that one can be."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PEERS = Path("build/peers").absolute()


@dataclass(frozen=True)
class Server:
    """`pulls`: its client can ask for diagnostics; whether it is asked is for the server to say. `instant`: answers a change at
    once, so that many changes can be tried; the others wait on purpose, or work for long."""

    name: str
    command: tuple[str, ...]
    pulls: bool = True
    instant: bool = False


_OURS = (sys.executable, "-m", "horovodize", "server")
_LEAST = (sys.executable, "-m", "tests.bench.yardstick")

OURS = Server("horovodize", _OURS, instant=True)
OURS_PUSHING = Server("horovodize, pushing", _OURS, pulls=False, instant=True)
YARDSTICK = Server("pygls + ast.parse", (*_LEAST, "--pull"), instant=True)
YARDSTICK_PUSHING = Server("pygls + ast.parse, pushing", _LEAST, pulls=False, instant=True)


def ruff(*, pulls: bool = True) -> Server:
    name = "ruff server" if pulls else "ruff server, pushing"
    return Server(name, (f"{PEERS}/bin/ruff", "server"), pulls=pulls, instant=True)


RUFF, RUFF_PUSHING = ruff(), ruff(pulls=False)
OTHERS = (
    Server("pylsp", (f"{PEERS}/bin/pylsp",)),
    Server("jedi-language-server", (f"{PEERS}/bin/jedi-language-server",)),
    Server("pyright", (f"{PEERS}/node_modules/.bin/pyright-langserver", "--stdio")),
    Server("fixit", (f"{PEERS}/bin/fixit", "lsp")),
)
INSTANT = (OURS, RUFF, YARDSTICK, OURS_PUSHING, RUFF_PUSHING, YARDSTICK_PUSHING)
ALL = (*INSTANT, *OTHERS)


def client_capabilities(server: Server) -> dict[str, Any]:
    """What an editor of today can, as far as answers depend on it."""
    document: dict[str, Any] = {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {
            "relatedInformation": True,
            "versionSupport": True,
            "tagSupport": {"valueSet": [1, 2]},
            "codeDescriptionSupport": True,
            "dataSupport": True,
        },
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "codeLens": {},
        "codeAction": {
            "codeActionLiteralSupport": {
                "codeActionKind": {
                    "valueSet": ["", "quickfix", "refactor", "refactor.rewrite", "source", "source.fixAll"]
                }
            },
            "isPreferredSupport": True,
            "disabledSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
            "honorsChangeAnnotations": True,
        },
    }
    if server.pulls:
        document["diagnostic"] = {"relatedDocumentSupport": True}
    return {
        "general": {"positionEncodings": ["utf-16"]},
        "textDocument": document,
        "workspace": {
            "workspaceFolders": True,
            "configuration": True,
            "applyEdit": True,
            "diagnostics": {"refreshSupport": True},
            "codeLens": {"refreshSupport": True},
            "workspaceEdit": {"documentChanges": True, "changeAnnotationSupport": {"groupsOnLabel": True}},
        },
        "window": {"workDoneProgress": True},
    }
