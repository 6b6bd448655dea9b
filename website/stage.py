"""Lays the pages of the site into a folder, for MkDocs: README, docs/, the pages of rules and findings. Each link becomes one
of the site; a link to a file of the repository that is no page becomes its text.

    stage.py FOLDER"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = "server/horovodize/pages"
# Where files of the repository are on the site, beside docs/*.md, which keep their places.
PLACES = {
    "README.md": "index.md",
    "CHANGELOG.md": "docs/changes.md",
    "CONTRIBUTING.md": "docs/contributing.md",
    "vscode-extension/README.md": "docs/vscode.md",
    f"{PAGES}/README.md": "rules/index.md",
}
ASSETS = {"vscode-extension/media/icon.svg": "icon.svg", "website/site.css": "site.css"}

_FENCE = re.compile(r"(^ *(`{3,}|~{3,}).*?^ *\2 *$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def places() -> dict[str, str]:
    """Where each file is on the site, by its path in the repository."""
    found = dict(PLACES)
    for path in sorted((ROOT / "docs").glob("*.md")):
        found[f"docs/{path.name}"] = f"docs/{path.name}"
    for path in sorted((ROOT / "docs" / "pictures").iterdir()):
        found[f"docs/pictures/{path.name}"] = f"docs/pictures/{path.name}"
    for path in sorted((ROOT / PAGES).glob("*.md")):
        found.setdefault(f"{PAGES}/{path.name}", f"rules/{path.name}")
    return found | ASSETS


def on_site(text: str, path: str, placed: dict[str, str]) -> str:
    """A page's text with its links as they are on the site; raises FileNotFoundError for a link to nothing."""

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        file, _, anchor = target.partition("#")
        meant = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        meant = meant.replace("vscode-extension/media/pictures/", "docs/pictures/")  # the package has copies
        if not (ROOT / meant).exists():
            raise FileNotFoundError(f"{path} links to {target}, which does not exist")
        if meant not in placed:
            return words
        if words == target and meant.endswith(".md"):
            words = _title(meant)
        there = posixpath.relpath(placed[meant], posixpath.dirname(placed[path]) or ".")
        return f"{picture}[{words}]({there}{'#' + anchor if anchor else ''})"

    parts = _FENCE.split(text)
    return "".join(
        _LINK.sub(link, part) if n % 3 == 0 else part for n, part in enumerate(parts) if n % 3 != 2
    )


def _title(path: str) -> str:
    heading = re.match(r"# (.*)", (ROOT / path).read_text(encoding="utf-8"))
    return heading[1] if heading else path


def stage(folder: Path) -> None:
    """Makes the folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    placed = places()
    for path, place in placed.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            text = on_site((ROOT / path).read_text(encoding="utf-8"), path, placed)
            target.write_text(text, encoding="utf-8", newline="\n")
        else:
            shutil.copyfile(ROOT / path, target)


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
