"""A workspace may be anybody's: looking at it runs nothing of it, writes nothing, reads nothing beside it, and what it says is
shown as text."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from horovodize.explaining.markup import Markup, code
from horovodize.files import GitIgnore
from tests.robustness.wire import Wire

Start = Callable[..., Wire]
KERAS = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
model.fit(tf.ones((64, 4)), tf.ones((64, 1)), batch_size=8)
"""
# Names that a Python which looks into the current folder would import by itself, or that the server imports.
TRAPS = [
    "sitecustomize", "usercustomize", "horovodize", "tensorflow", "keras", "horovod", "numpy", "lsprotocol", "pygls", "attrs",
    "json", "sqlite3", "ast", "tokenize", "encodings", "tomllib", "hashlib", "urllib", "conftest", "setup", "train", "helper",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    (made / "train.py").write_text(KERAS)
    return made


def trapped(folder: Path) -> Path:
    """Makes a folder where every import leaves a mark."""
    mark = folder.parent / "it ran"
    trap = f"open({str(mark)!r}, 'a').write(__name__ + '\\n')\n"
    for name in TRAPS:
        (folder / f"{name}.py").write_text(trap + f"import helper\n{KERAS}")
    for name in ("horovodize", "pygls", "lsprotocol"):
        (folder / name / "lsp").mkdir(parents=True)
        for file in ("__init__.py", "__main__.py", "lsp/__init__.py"):
            (folder / name / file).write_text(trap)
    (folder / "bad.pth").write_text(f"import os; {trap}")
    (folder / "pyproject.toml").write_text("[tool.horovodize]\nstrict = true\n")
    return mark


def snapshot(folder: Path) -> dict[str, tuple[int, int, int]]:
    """All that is in a folder, with what would change if it were written."""
    return {
        str(path): (status.st_mtime_ns, status.st_size, status.st_mode)
        for path in [folder, *folder.rglob("*")]
        if (status := path.lstat())
    }


def all_that_a_client_asks(wire: Wire, path: Path) -> None:
    uri, text = path.as_uri(), path.read_text()
    document, everything = (
        {"textDocument": {"uri": uri}},
        {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}},
    )
    wire.open(uri, text)
    wire.diagnostics(uri, 1)
    for line in range(text.count("\n")):
        wire.hover(uri, line, 10)
    actions = wire.result(
        "textDocument/codeAction", {**document, "range": everything, "context": {"diagnostics": []}}
    )
    for action in actions:
        wire.result("codeAction/resolve", action) if "data" in action and not action.get("disabled") else None
    wire.result("textDocument/codeLens", document)
    wire.result("textDocument/inlayHint", {**document, "range": everything})
    for command in ("preview", "debugInformation", "distribute", "distributeWorkspace", "reindex"):
        arguments = [uri] if command in ("preview", "distribute") else []
        wire.request("workspace/executeCommand", {"command": f"horovodize.{command}", "arguments": arguments})
    wire.notify("textDocument/didSave", document)
    wire.indexed()
    wire.close(uri)


# ---------------------------------------------------------------------- nothing is run


@pytest.mark.parametrize("command", [("-m", "horovodize", "server"), None], ids=["python -m", "horovodize"])
def test_nothing_of_a_workspace_is_imported_or_run(
    start: Start, folder: Path, command: tuple[str, ...] | None
) -> None:
    """Started in it, as editors start a server. `python -m` looks into the current folder first, so it gets `-P`."""
    mark = trapped(folder)
    script = (str(Path(sys.executable).parent / "horovodize"), "server")
    safely = (sys.executable, "-P") if sys.version_info >= (3, 11) else (sys.executable, "-I")
    wire = start(command=(*safely, *command) if command else script, cwd=folder)
    wire.initialize(folder)
    for name in ("train", "helper", "tensorflow"):
        all_that_a_client_asks(wire, folder / f"{name}.py")
    assert wire.exit() == 0
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize("arguments", [["summary"], ["check"], ["distribute"]], ids=" ".join)
def test_nor_by_the_command_line(folder: Path, arguments: list[str]) -> None:
    mark = trapped(folder)
    command = [str(Path(sys.executable).parent / "horovodize"), *arguments, "."]
    subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)
    assert not mark.exists(), mark.read_text()


def test_no_module_of_a_user_is_loaded(start: Start, folder: Path) -> None:
    """TensorFlow neither, if it is there; no process is started but those of ours that read files, apart from the user's
    modules and environment (`-I`)."""
    code_ = (
        "import atexit, sys, os, horovodize.lsp.server as server\n"
        "from horovodize.workspace import workers\n"
        "before = set(sys.path)\n"
        "ours = [sys.executable, '-I', '-c', workers._CODE]\n"
        "def audit(event, args):\n"
        "    if event in ('os.system', 'subprocess.Popen', 'os.exec', 'os.posix_spawn', 'os.fork', 'socket.connect'):\n"
        "        kind = 'READER' if event == 'subprocess.Popen' and list(args[1][:4]) == ours else 'PROCESS'\n"
        "        os.write(2, f'{kind} {event}\\n'.encode())\n"
        "def tell():\n"
        "    os.write(2, f'MODULES {\" \".join(sys.modules)} PATH {set(sys.path) == before}\\n'.encode())\n"
        "sys.addaudithook(audit)\n"
        "atexit.register(tell)\n"
        "server.run_stdio()\n"
    )
    wire = start(command=(sys.executable, "-c", code_), cwd=folder.parent)
    wire.initialize(folder)
    all_that_a_client_asks(wire, folder / "train.py")
    assert wire.exit() == 0
    said = wire.errors().decode()
    assert "PROCESS" not in said
    assert "READER" in said
    assert "PATH True" in said
    modules = set(said.split("MODULES ", 1)[1].split(" PATH")[0].split())
    assert "horovodize.distribute" in modules
    assert not modules & {"tensorflow", "keras", "horovod", "numpy", "train"}


# ---------------------------------------------------------------------- nothing is written, nothing else is read


def test_nothing_is_written_but_the_cache(start: Start, folder: Path, tmp_path: Path, cache: Path) -> None:
    trapped(folder)
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    wire = start(
        cwd=folder.parent, env={"HOME": str(home), "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
    )
    before = snapshot(folder)
    wire.initialize(folder)
    all_that_a_client_asks(wire, folder / "train.py")
    assert wire.exit() == 0
    assert snapshot(folder) == before
    assert not list(home.rglob("*"))
    assert not list(temporary.rglob("*"))
    assert {path.name.split("-")[0] for path in cache.rglob("*")} == {"index.sqlite3"}


def test_without_a_folder_nothing_is_written_at_all(start: Start, tmp_path: Path, cache: Path) -> None:
    wire = start(cwd=tmp_path)
    wire.initialize()
    wire.open("untitled:train", KERAS)
    assert "Keras" in wire.hover("untitled:train", 4, 8)["contents"]["value"]
    wire.result(
        "workspace/executeCommand", {"command": "horovodize.preview", "arguments": ["untitled:train"]}
    )
    assert wire.exit() == 0
    assert not cache.exists()


SECRET = "def make():\n    # secret\n    import tensorflow as tf\n    return tf.keras.optimizers.SGD(0.123)\n"


@pytest.mark.parametrize(
    "imports",
    [
        "from ..outside.secret import make",
        "from ...outside.secret import make",
        "from .linked import make",
        "from linked import make",
        "from linked_folder.secret import make",
        "from outside.secret import make",
    ],
)
def test_no_import_leads_out_of_the_workspace(start: Start, folder: Path, imports: str) -> None:
    """By `..`, by a link to a file or a folder, or as a package beside the workspace."""
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(SECRET)
    (outside / "__init__.py").touch()
    (folder / "linked.py").symlink_to(outside / "secret.py")
    (folder / "linked_folder").symlink_to(outside)
    wire = start()
    wire.initialize(folder)
    uri = (folder / "main.py").as_uri()
    wire.open(uri, f"{imports}\n{KERAS.replace('tf.keras.optimizers.SGD(0.1)', 'make()')}")
    answer = wire.result("workspace/executeCommand", {"command": "horovodize.preview", "arguments": [uri]})
    assert "secret" not in str(answer).replace("outside.secret", "").replace("linked_folder.secret", "")
    assert "0.123" not in str(answer)
    assert all(found.get("uri", uri) == uri for found in answer)
    assert sorted(wire.indexed()) == [uri, (folder / "train.py").as_uri()]


@pytest.mark.parametrize(
    "pattern", ["../", "/", "!../outside/secret.py", "../**", "!/../outside", "**/../**"]
)
def test_no_pattern_leads_out_of_the_workspace(start: Start, folder: Path, pattern: str) -> None:
    (folder.parent / "outside").mkdir()
    (folder.parent / "outside" / "secret.py").write_text(KERAS)
    (folder / ".gitignore").write_text(pattern + "\n")
    wire = start()
    wire.initialize(folder, initializationOptions={"exclude": [pattern], "select": [pattern]})
    assert set(wire.indexed()) <= {(folder / "train.py").as_uri()}
    uri = (folder.parent / "outside" / "secret.py").as_uri()
    wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 1}]})
    dotted = f"{folder.as_uri()}/../outside/secret.py"
    wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": dotted, "type": 1}]})
    assert set(wire.indexed()) <= {(folder / "train.py").as_uri()}


def test_settings_above_the_workspace_are_settings_and_nothing_else(start: Start, folder: Path) -> None:
    (folder.parent / "pyproject.toml").write_text(
        "[tool.horovodize]\ncomments = false\n[build-system]\nbuild-backend = 'evil'\nbackend-path = ['.']\n"
    )
    wire = start()
    wire.initialize(folder)
    uri = (folder / "train.py").as_uri()
    wire.open(uri, KERAS)
    (preview,) = wire.result(
        "workspace/executeCommand", {"command": "horovodize.preview", "arguments": [uri]}
    )
    assert "# Horovod" not in preview["newText"]
    assert "hvd.init()" in preview["newText"]


# ---------------------------------------------------------------------- what a file says is text

EVIL = [
    "[click](command:workbench.action.terminal.new)",
    "![x](https://example.org/pixel.png)",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "`](command:evil) `",
    "``` \n[a](command:b)",
    "\n\n# heading\n\n[a](command:b)",
    "<https://example.org>",
    "| a | b |\n|---|---|",
    "\\[a](command:b)",
    "&lt;b&gt;",
    "[a]: command:b",
    "\u202eevil",
]


def live(markdown: str) -> list[str]:
    """What a renderer would make something of: links, images, HTML, headings, fences outside of quoted code."""
    plain = re.sub(r"\\.", "", markdown)
    plain = re.sub(r"(?<!`)`[^`\n]+`(?!`)", "", plain)
    return re.findall(r"\]\(|\]:|!\[|<[a-zA-Z/!]|```|^#+ |&[a-z]+;", plain, re.MULTILINE)


# A link from a change to the page about its rule, which the server adds at the end of a line.
TO_PAGE = re.compile(r" \[Why\]\(<file:///[^<>\s]+/horovodize/pages/[A-Z]+\d+\.md>\)$", re.MULTILINE)


@pytest.mark.parametrize("evil", EVIL)
def test_prose_and_code_are_escaped(evil: str) -> None:
    for text in (evil, code(evil), f"the model {code(evil)} is made", f"`{evil}`", f"a ` b {evil}"):
        markup = Markup(markdown=True)
        markup.paragraph(text)
        markup.bullets([text])
        markup.paragraph(text, strong=True)
        assert live(markup.text) == [], markup.text


@pytest.mark.parametrize("evil", [e.replace("\n", " ") for e in EVIL])
def test_a_hover_shows_no_more_than_text(start: Start, folder: Path, evil: str) -> None:
    """Strings, comments, names of functions and paths of a script reach hovers, findings and lenses."""
    text = f"""\
import tensorflow as tf
opts = {{{evil!r}: tf.keras.optimizers.SGD(0.1), "b": tf.keras.optimizers.Adam(float({evil!r}))}}
model = tf.keras.Sequential([tf.keras.layers.Dense(1, name={evil!r})])
model.compile(optimizer=opts[{evil!r}], loss={evil!r})
def größe(model={evil!r}):
    {evil!r}
    model.fit(tf.ones((64, 4)), callbacks=[tf.keras.callbacks.ModelCheckpoint({evil!r})])
größe()
"""
    wire = start()
    wire.initialize(folder, capabilities={"textDocument": {"hover": {"contentFormat": ["markdown"]}}})
    uri = (folder / "a [b](command:c) `d`.py").as_uri()
    wire.open(uri, text)
    wire.diagnostics(uri, 1)
    said = []
    for line, content in enumerate(text.splitlines()):
        for column in range(0, len(content), 6):
            hover = wire.hover(uri, line, column)
            if hover is not None:
                assert hover["contents"]["kind"] == "markdown"
                said.append(hover["contents"]["value"])
    assert said
    assert any(TO_PAGE.search(markdown) for markdown in said)
    for markdown in said:
        assert live(TO_PAGE.sub("", markdown)) == [], markdown


# ---------------------------------------------------------------------- no text takes forever


def seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


LONG = 20_000
SLOW = {
    "quotes": "x = '" + "\\'" * LONG,
    "open quotes": "'" * LONG,
    "double quotes": '"' * LONG + "a",
    "backslashes": "\\" * LONG,
    "spaces": " " * LONG + "x",
    "spaces after": "x" + " " * LONG,
    "tabs": "\t" * LONG,
    "line ends": "\r" * LONG,
    "print": "print " * LONG,
    "except": "except a, " * LONG,
    "exec": "exec " * LONG,
    "comment": "#" * LONG,
    "ignores": "x = 1  # horovodize: ignore[" + "HVD1," * LONG,
    "ignore files": "# horovodize: ignore-file" * (LONG // 20),
    "codings": "# coding" * LONG,
    "magics": "%" * LONG,
    "questions": "a?" * LONG,
    "bangs": "!" * LONG,
    "underscores": "_" * LONG,
    "brackets": "[" * LONG,
    "words": "tensorflow keras " * (LONG // 10),
}


@pytest.mark.parametrize("kind", SLOW)
def test_no_text_takes_for_ever(kind: str) -> None:
    """By itself, before a script's loop, and in a notebook's cell: time grows with the length and not with its square."""
    from horovodize.distribute import distribute
    from horovodize.restrictions import check
    from horovodize.source import Document
    from horovodize.source.magics import mask
    from horovodize.summary import summarize

    def work(text: str) -> None:
        for whole in (text, f"{text}\n{KERAS}", f"{KERAS}# {text}\n", f"{KERAS}x = {text!r}\n"):
            document = Document(whole)
            check(summarize(document))
            distribute(summarize(document))
            assert document.newline
            assert document.quote
            mask(whole)
        markup = Markup(markdown=True)
        markup.paragraph(text)
        markup.paragraph(code(text))
        assert not markup.empty or not text.strip()

    work("x = 1")
    assert seconds(lambda: work(SLOW[kind])) < 5


@pytest.mark.parametrize(
    "pattern", ["*a" * 30, "**/" * 30 + "b", "/**" * 30, "[a-" * 50, "?*" * 30, "\\" * 99, "**a" * 20]
)
def test_no_pattern_takes_for_ever(pattern: str) -> None:
    """Patterns of a `.gitignore`, or of the setting, against a long path."""
    path = "/".join(["a" * 50] * 5) + "/" + "a" * 40 + "c"
    assert seconds(lambda: GitIgnore(pattern).verdict(path, is_folder=False)) < 2
