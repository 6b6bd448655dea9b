"""A client that behaves like an editor, on the real server process, with the capabilities of three kinds of client."""

from __future__ import annotations

import asyncio
import itertools
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features

SERVER = [sys.executable, "-m", "horovodize", "server", "--stdio"]
PATIENCE = 20.0  # seconds; the machine may be busy
SUMMARY_CHANGED = "horovodize/workspaceSummaryChanged"
REFRESHING = (
    types.WORKSPACE_DIAGNOSTIC_REFRESH,
    types.WORKSPACE_CODE_LENS_REFRESH,
    types.WORKSPACE_INLAY_HINT_REFRESH,
)

KERAS = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(0.001)
model.compile(optimizer=opt, loss="mse")
x, y = tf.ones((64, 4)), tf.ones((64, 1))
model.fit(x, y, batch_size=8, epochs=2)
"""

TAPE = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
dataset = tf.data.Dataset.from_tensor_slices((tf.ones((64, 4)), tf.ones((64, 1)))).batch(8)
for x, y in dataset:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
"""

# A warning with related places, beside which the loop can still be hinted at
CHOSEN = """\
import tensorflow as tf
from registry import others, name

choices = {"adam": tf.keras.optimizers.Adam(0.001), **others}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=choices[name], loss="mse")
x, y = tf.ones((64, 4)), tf.ones((64, 1))
model.fit(x, y, batch_size=8, epochs=2)
"""

# Arrays that nothing is known of: a change that has to be confirmed
DOUBTFUL = """\
import tensorflow as tf


def train(x, y):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer=tf.keras.optimizers.Adam(0.001), loss="mse")
    model.fit(x, y, batch_size=8, epochs=2)
"""

# A finding with a quick fix
PRINTED = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = tf.ones((64, 4)), tf.ones((64, 1))
for step in range(5):
    print("loss", model.train_on_batch(x, y))
"""


# Two findings with quick fixes
PRINTED_TWICE = PRINTED + '    print("again", model.train_on_batch(x, y))\n'


@dataclass(frozen=True)
class Restricted:
    """A script in which `place` breaks a restriction."""

    text: str
    code: str
    place: str


class Editor(LanguageClient):
    """pytest-lsp's client, with buffers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.published: list[types.PublishDiagnosticsParams] = []
        self.registered: list[types.Registration] = []
        self.progressed: list[types.ProgressParams] = []
        self.told: list[str] = []  # notifications of the server's own
        self.refreshed: list[str] = []  # what the server asked to be asked for again
        self.asked_to_apply: list[types.ApplyWorkspaceEditParams] = []
        self.applies = True
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.server_capabilities_: types.ServerCapabilities | None = None
        self._names = (f"file:///project/file_{n}.py" for n in itertools.count())

    # ------------------------------------------------------------------ life

    async def begin(self, capabilities: types.ClientCapabilities, **params: Any) -> types.InitializeResult:
        result = await self.initialize_session(types.InitializeParams(capabilities, **params))
        self.server_capabilities_ = result.capabilities
        return result

    @property
    def pulls(self) -> bool:
        """Whether diagnostics are asked for, and not sent."""
        assert self.server_capabilities_ is not None
        return self.server_capabilities_.diagnostic_provider is not None

    @property
    def encoding(self) -> str:
        assert self.server_capabilities_ is not None
        return str(
            getattr(
                self.server_capabilities_.position_encoding,
                "value",
                self.server_capabilities_.position_encoding,
            )
        )

    # ------------------------------------------------------------------ buffers

    async def open(self, text: str, uri: str | None = None, language: str = "python") -> str:
        """Opens a document and waits for its diagnostics (of a Python document)."""
        uri = uri or next(self._names)
        self.texts[uri], self.versions[uri] = text, 1
        self.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, language, 1, text))
        )
        if language == "python":
            await self.diagnostics_of(uri)
        return uri

    def type(self, uri: str, old: str, new: str) -> None:
        """Replaces the first `old` in a buffer by `new`."""
        start = self.texts[uri].index(old)
        range_ = types.Range(self.position(uri, start), self.position(uri, start + len(old)))
        self.texts[uri] = self.texts[uri].replace(old, new, 1)
        self.versions[uri] += 1
        self.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.versions[uri], uri),
                [types.TextDocumentContentChangePartial(range_, new)],
            )
        )

    def save(self, uri: str) -> None:
        self.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def close(self, uri: str) -> None:
        self.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    # ------------------------------------------------------------------ places

    def position(self, uri: str, offset: int) -> types.Position:
        before = re.split(r"\r\n|\r|\n", self.texts[uri][:offset])
        column = before[-1]
        units = {
            "utf-8": len(column.encode()),
            "utf-16": len(column.encode("utf-16-le")) // 2,
            "utf-32": len(column),
        }
        return types.Position(len(before) - 1, units[self.encoding])

    def offset(self, uri: str, position: types.Position) -> int:
        lines = re.split(r"(\r\n|\r|\n)", self.texts[uri])
        start = sum(len(part) for part in lines[: 2 * position.line])
        codec, unit = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[
            self.encoding
        ]
        line = lines[2 * position.line].encode(codec)
        assert position.character * unit <= len(line), "a position beyond its line"
        return start + len(line[: position.character * unit].decode(codec))

    def place(self, uri: str, marked: str) -> types.Range:
        """The range of a piece of the text; `‸` in it marks the place within it that is meant."""
        start = self.texts[uri].index(marked.replace("‸", ""))
        if "‸" in marked:
            at = self.position(uri, start + marked.index("‸"))
            return types.Range(at, at)
        return types.Range(self.position(uri, start), self.position(uri, start + len(marked)))

    def text_at(self, uri: str, range_: types.Range) -> str:
        return self.texts[uri][self.offset(uri, range_.start) : self.offset(uri, range_.end)]

    # ------------------------------------------------------------------ questions

    async def diagnostics_of(self, uri: str, *, count: int = 1) -> list[types.Diagnostic]:
        """The diagnostics of the newest version of a document: asked for, or published for the `count`-th time."""
        if self.pulls:
            report = await self.pull(uri)
            assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
            return list(report.items)
        for _ in range(int(PATIENCE / 0.005)):
            found = [p for p in self.published if p.uri == uri and p.version == self.versions[uri]]
            if len(found) >= count:
                return list(found[-1].diagnostics)
            await asyncio.sleep(0.005)
        raise TimeoutError(f"no diagnostics for version {self.versions[uri]} of {uri}")

    async def pull_all(
        self, known: Sequence[types.PreviousResultId] = (), **params: Any
    ) -> types.WorkspaceDiagnosticReport:
        """What is wrong with the files that are not open."""
        return await self.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(list(known), **params))

    async def until(self, holds: Callable[[], object]) -> None:
        """Waits until something holds that messages of the server bring about."""
        for _ in range(int(PATIENCE / 0.01)):
            if holds():
                return
            await asyncio.sleep(0.01)
        raise TimeoutError("it never came to be")

    async def indexed(self) -> None:
        """Waits until the workspace is known."""
        for _ in range(int(PATIENCE / 0.01)):
            answer = await self.protocol.send_request_async("horovodize/workspaceSummary", {})
            if answer.complete:
                return
            await asyncio.sleep(0.03)
        raise TimeoutError("the index is never complete")

    async def pull(self, uri: str, previous: str | None = None) -> types.DocumentDiagnosticReport:
        return await self.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri), previous_result_id=previous)
        )

    async def hover(self, uri: str, marked: str) -> str | None:
        """What a hover says at `‸`."""
        at = self.place(uri, marked).start
        answer = await self.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), at)
        )
        if answer is None:
            return None
        assert isinstance(answer.contents, types.MarkupContent)
        return answer.contents.value

    async def hover_at(self, uri: str, offset: int) -> types.Hover | None:
        return await self.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), self.position(uri, offset))
        )

    async def actions(
        self,
        uri: str,
        marked: str,
        diagnostics: list[types.Diagnostic] | None = None,
        only: list[types.CodeActionKind | str] | None = None,
        trigger: types.CodeActionTriggerKind | None = None,
    ) -> list[types.CodeAction]:
        """The code actions for a piece of the text."""
        answer = await self.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(uri),
                self.place(uri, marked),
                types.CodeActionContext(diagnostics or [], only, trigger),
            )
        )
        assert answer is not None
        assert all(isinstance(action, types.CodeAction) for action in answer)
        return list(answer)  # type: ignore[arg-type]

    async def command(self, name: str, *arguments: object) -> Any:
        """What a command of the server gives back."""
        return await self.workspace_execute_command_async(types.ExecuteCommandParams(name, list(arguments)))

    async def lenses(self, uri: str) -> list[types.CodeLens]:
        """The code lenses of a document, with their commands."""
        answer = await self.text_document_code_lens_async(
            types.CodeLensParams(types.TextDocumentIdentifier(uri))
        )
        return list(answer or [])

    async def edit_of(self, action: types.CodeAction) -> types.WorkspaceEdit:
        """An action's edit, asked for if it does not come along."""
        if action.edit is None:
            action = await self.code_action_resolve_async(action)
        assert action.edit is not None
        return action.edit

    # ------------------------------------------------------------------ edits

    def edited(self, edit: types.WorkspaceEdit) -> dict[str, str]:
        """The texts after a workspace edit, applied as the protocol says."""
        if edit.document_changes is None:
            assert edit.changes is not None
            return {uri: self._edited(uri, list(edits)) for uri, edits in edit.changes.items()}
        texts = {}
        for change in edit.document_changes:
            assert isinstance(change, types.TextDocumentEdit)
            uri = change.text_document.uri
            assert change.text_document.version == self.versions[uri], "an edit of another version"
            texts[uri] = self._edited(uri, list(change.edits))
        return texts

    def _edited(self, uri: str, edits: list[Any]) -> str:
        spans = [(self.offset(uri, e.range.start), self.offset(uri, e.range.end), e.new_text) for e in edits]
        text, parts, at = self.texts[uri], [], 0
        for start, end, new in sorted(
            spans, key=lambda span: (span[0], span[1])
        ):  # stable: insertions keep their order
            assert at <= start, "edits overlap"
            parts += [text[at:start], new]
            at = end
        return "".join([*parts, text[at:]])


def make_editor() -> Editor:
    editor = Editor(converter_factory=default_converter)

    def publish(client: Editor, params: types.PublishDiagnosticsParams) -> None:
        client.published.append(params)

    def progress(client: Editor, params: types.ProgressParams) -> None:
        client.progressed.append(params)

    def refreshed(method: str) -> Callable[..., None]:
        return lambda params: editor.refreshed.append(method)

    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        editor.asked_to_apply.append(params)
        if editor.applies:
            return types.ApplyWorkspaceEditResult(applied=True)
        return types.ApplyWorkspaceEditResult(applied=False, failure_reason="the buffer is read-only")

    register_lsp_features(
        editor,
        {
            **DEFAULT_CLIENT_FEATURES,
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: publish,
            types.CLIENT_REGISTER_CAPABILITY: lambda params: editor.registered.extend(params.registrations),
            types.PROGRESS: progress,
            types.WORKSPACE_APPLY_EDIT: apply,
            **{method: refreshed(method) for method in REFRESHING},
            SUMMARY_CHANGED: lambda params: editor.told.append(SUMMARY_CHANGED),
        },
    )
    return editor


def capabilities(name: str) -> types.ClientCapabilities:
    """Those of VS Code (old: diagnostics are sent; new: it asks for them), of Neovim (old: UTF-16 and no versions; new:
    UTF-8), and of a client that can nothing."""
    return {
        "vscode": lambda: client_capabilities("visual_studio_code"),
        "vscode-new": _newer_vscode,
        "neovim": lambda: client_capabilities("neovim@v0.7"),
        "neovim-new": lambda: client_capabilities("neovim@v0.11"),
        "minimal": types.ClientCapabilities,
    }[name]()


def _newer_vscode() -> types.ClientCapabilities:
    """What later versions of VS Code's client can, too."""
    newer = client_capabilities("visual_studio_code")
    assert newer.workspace is not None
    assert newer.text_document is not None
    newer.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
    newer.workspace.inlay_hint = types.InlayHintWorkspaceClientCapabilities(refresh_support=True)
    newer.text_document.diagnostic = types.DiagnosticClientCapabilities(dynamic_registration=True)
    newer.text_document.inlay_hint = types.InlayHintClientCapabilities(dynamic_registration=True)
    newer.notebook_document = types.NotebookDocumentClientCapabilities(
        types.NotebookDocumentSyncClientCapabilities()
    )
    return newer


async def _session(editor: Editor, name: str) -> AsyncIterator[None]:
    await editor.begin(capabilities(name))
    yield
    await editor.shutdown_session()


_CONFIG = ClientServerConfig(server_command=SERVER, client_factory=make_editor)


@pytest_lsp.fixture(config=_CONFIG, scope="session")
async def vscode(lsp_client: Editor) -> AsyncIterator[None]:
    async for _ in _session(lsp_client, "vscode"):
        yield


@pytest_lsp.fixture(config=_CONFIG, scope="session")
async def minimal(lsp_client: Editor) -> AsyncIterator[None]:
    async for _ in _session(lsp_client, "minimal"):
        yield


@pytest_lsp.fixture(
    config=_CONFIG, scope="session", params=["vscode", "vscode-new", "neovim", "neovim-new", "minimal"]
)
async def editor(lsp_client: Editor, request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """Each of the clients in turn."""
    async for _ in _session(lsp_client, request.param):
        yield


@pytest_lsp.fixture(config=_CONFIG)
async def fresh(lsp_client: Editor) -> AsyncIterator[None]:
    """A client that has not said `initialize` yet, for a test that does so in its own way."""
    yield
    if lsp_client.server_capabilities_ is not None:
        await lsp_client.shutdown_session()


@pytest.fixture(scope="session")
def client_named() -> Callable[[str], types.ClientCapabilities]:
    return capabilities


@pytest.fixture(scope="session")
def keras() -> str:
    return KERAS


@pytest.fixture(scope="session")
def tape() -> str:
    return TAPE


@pytest.fixture(scope="session")
def doubtful() -> str:
    return DOUBTFUL


@pytest.fixture(scope="session")
def chosen() -> Restricted:
    return Restricted(CHOSEN, "HVD105", "choices[name]")


@pytest.fixture(scope="session")
def printed() -> Restricted:
    return Restricted(PRINTED, "HVD104", "model.train_on_batch(x, y)")


@pytest.fixture(scope="session")
def printed_twice() -> Restricted:
    return Restricted(PRINTED_TWICE, "HVD104", "model.train_on_batch(x, y)")
