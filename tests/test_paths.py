"""Names as Windows and macOS have them, by fakes of those platforms: no such machine runs these tests."""

from __future__ import annotations

import ntpath
import posixpath
from types import ModuleType

import pygls.uris
import pytest

from horovodize import paths
from horovodize.files import Exclude
from horovodize.lsp.project_files import DiskFiles, Folder
from horovodize.lsp.session import OpenDocument
from horovodize.plan import Plan
from horovodize.source import Document

WINDOWS = [
    ("c:\\code\\train.py", "c:\\code", "train.py"),
    ("c:\\code\\sub\\train.py", "c:\\code\\", "sub/train.py"),
    ("C:\\Code\\Train.py", "c:\\code", "Train.py"),
    ("c:/code/sub/train.py", "C:\\code", "sub/train.py"),
    ("c:\\train.py", "C:\\", "train.py"),
    ("\\\\server\\share\\code\\a.py", "\\\\SERVER\\share\\code", "a.py"),
    ("c:\\codebase\\train.py", "c:\\code", None),
    ("d:\\code\\train.py", "c:\\code", None),
    ("c:\\code", "c:\\code", None),
]
POSIX = [
    ("/code/train.py", "/code", "train.py"),
    ("/code/a\\b.py", "/code/", "a\\b.py"),
    ("/train.py", "/", "train.py"),
    ("/Code/train.py", "/code", None),
    ("/codebase/train.py", "/code", None),
    ("/code", "/code", None),
]


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "flavour", ntpath)
    monkeypatch.setattr(pygls.uris, "IS_WIN", True)


@pytest.mark.parametrize(
    ("flavour", "path", "folder", "rest"),
    [*((ntpath, *case) for case in WINDOWS), *((posixpath, *case) for case in POSIX)],
)
def test_below(
    monkeypatch: pytest.MonkeyPatch, flavour: ModuleType, path: str, folder: str, rest: str | None
) -> None:
    monkeypatch.setattr(paths, "flavour", flavour)
    assert paths.below(path, folder) == rest
    assert paths.is_below(path, folder) == (rest is not None)


@pytest.mark.usefixtures("windows")
def test_the_same_folder_in_other_spellings() -> None:
    assert paths.is_same("C:\\Code\\", "c:/code")
    assert not paths.is_same("c:\\code", "c:\\codes")


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("path", ["C:\\Code\\old\\a.py", "c:\\code\\old\\a.py", "c:/code/old/sub/a.py"])
def test_patterns_leave_out_on_windows(path: str) -> None:
    exclude = Exclude(["old/"], "c:\\code")
    assert exclude(path)
    assert not exclude(path.replace("old", "new"))
    assert not exclude(path.replace("ode", "odebase"))


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("uri", ["file:///c%3A/Code", "file:///C:/Code", "file:///c:/Code/"])
def test_addresses_are_spelled_as_the_client_spells_its_folder(uri: str) -> None:
    path = pygls.uris.to_fs_path(uri)
    assert path is not None
    assert path.rstrip("\\") == "c:\\Code"
    files = DiskFiles()
    files.serve([Folder(uri, "Code", path)])
    address = files.uri_of("C:\\Code\\my models\\train#1.py")
    assert address == f"{uri.rstrip('/')}/my%20models/train%231.py"
    assert pygls.uris.to_fs_path(address) == "c:\\Code\\my models\\train#1.py"


@pytest.mark.usefixtures("windows")
def test_a_share_on_windows() -> None:
    uri = "file://server/share/code"
    path = pygls.uris.to_fs_path(uri)
    assert path == "\\\\server\\share\\code"
    files = DiskFiles()
    files.serve([Folder(uri, "code", path)])
    assert files.uri_of("\\\\server\\share\\code\\sub\\a.py") == f"{uri}/sub/a.py"


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("uri", ["file:///c%3A/Code/train.py", "file:///C:/Code/train.py"])
def test_an_open_document_has_a_path_on_windows(uri: str) -> None:
    opened = OpenDocument(uri, 1, "import tensorflow\r\n")
    assert opened.path == "c:\\Code\\train.py"


@pytest.mark.parametrize("newline", ["\r\n", "\n", "\r"])
def test_what_is_written_has_the_line_ends_of_the_file(newline: str) -> None:
    from horovodize.distribute import distribute
    from horovodize.summary import summarize

    text = "import tensorflow as tf\nm = tf.keras.Sequential()\nm.compile('sgd')\nm.fit(x, y)\n".replace(
        "\n", newline
    )
    plan = distribute(summarize(Document(text, "train.py")))
    assert isinstance(plan, Plan)
    rest = plan.text.replace(newline, "")
    assert "hvd.init()" in rest
    assert "\r" not in rest
    assert "\n" not in rest


def test_a_decomposed_name_of_macos_is_its_own_path() -> None:
    folder = "/Users/a/Mode\u0301les"
    files = DiskFiles()
    files.serve([Folder("file:///Users/a/Mode%CC%81les", "m", folder)])
    assert files.uri_of(f"{folder}/e\u0301.py") == "file:///Users/a/Mode%CC%81les/e%CC%81.py"
