"""Writes the pages of the findings and rules, `server/horovodize/pages/`, from the docstrings of their modules.

With `--check` it writes nothing, and ends with status 1 when a page is not what it would write."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from horovodize.documentation import every_page, index

FOLDER = Path(__file__).parent.parent / "server" / "horovodize" / "pages"


def wanted() -> dict[str, str]:
    """Every page by the name of its file."""
    pages = list(every_page())
    return {"README.md": index(pages), **{f"{page.id}.md": page.text for page in pages}}


def differing(folder: Path) -> list[str]:
    """The names of the files that are missing, too many, or not as they should be."""
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    texts = wanted()
    return sorted(name for name in {*there, *texts} if there.get(name) != texts.get(name))


def write(folder: Path) -> list[str]:
    """Brings the folder up to date. The names of the files that changed."""
    folder.mkdir(exist_ok=True)
    changed, texts = differing(folder), wanted()
    for name in changed:
        if name in texts:
            (folder / name).write_text(texts[name], encoding="utf-8", newline="\n")
        else:
            (folder / name).unlink()
    return changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    only_check = parser.parse_args().check
    changed = differing(FOLDER) if only_check else write(FOLDER)
    for name in changed:
        print(f"{'out of date' if only_check else 'written'}: {name}")
    return int(only_check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
