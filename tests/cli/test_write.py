"""Writing a file: all of it or nothing, and no surprises."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from horovodize.cli.runner import CommandError
from horovodize.cli.write import write_atomically


def leftovers(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if p.name.startswith(".horovodize-")]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_replaces_the_content(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"old")
    write_atomically(file, b"new\r\n", expected=b"old")
    assert file.read_bytes() == b"new\r\n"
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("wanted", [0o600, 0o644, 0o755, 0o664])
def test_keeps_permissions(tmp_path: Path, wanted: int) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"old")
    file.chmod(wanted)
    write_atomically(file, b"new")
    assert mode(file) == wanted


def test_a_new_file_gets_the_permissions_of_its_model(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.write_bytes(b"")
    script.chmod(0o755)
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "b.py", b"new", like=script)
        write_atomically(tmp_path / "c.py", b"new")
    finally:
        os.umask(before)
    assert mode(tmp_path / "b.py") == 0o750
    assert mode(tmp_path / "c.py") == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    file = tmp_path / "real" / "a.py"
    file.write_bytes(b"old")
    link = tmp_path / "link.py"
    link.symlink_to("real/a.py")
    write_atomically(link, b"new", expected=b"old")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert leftovers(tmp_path) == leftovers(tmp_path / "real") == []


def test_a_link_to_nothing_makes_what_it_names(tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to("later.py")
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "later.py").read_bytes() == b"new"


def test_refuses_a_read_only_file_even_as_root(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"old")
    file.chmod(0o444)
    with pytest.raises(CommandError, match="read-only"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old"
    assert mode(file) == 0o444


def test_refuses_a_file_that_was_changed_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"theirs")
    with pytest.raises(CommandError, match="meanwhile"):
        write_atomically(file, b"ours", expected=b"as we read it")
    assert file.read_bytes() == b"theirs"
    assert leftovers(tmp_path) == []


def test_refuses_a_file_that_was_deleted_meanwhile(tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        write_atomically(tmp_path / "a.py", b"ours", expected=b"as we read it")
    assert list(tmp_path.iterdir()) == []


def test_writes_into_what_is_no_regular_file(tmp_path: Path) -> None:
    device = Path(os.devnull)
    write_atomically(device, b"gone")
    assert not device.is_file()
    assert device.exists()


@pytest.mark.parametrize("name", ["", "missing/a.py"])
def test_a_folder_or_a_missing_folder_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandError):
        write_atomically(tmp_path / name, b"new")


def test_nothing_is_left_when_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CommandError, match="No space left"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old"
    assert leftovers(tmp_path) == []
