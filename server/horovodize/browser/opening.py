"""A file that was picked, as text: a script as it is, a notebook as the script that it makes."""

from __future__ import annotations

import json

from horovodize.source import Document, UndecodableSource
from horovodize.source.notebook import NotebookFile
from horovodize.source.script import NoScript, as_script


def opened(data: bytes, name: str) -> str:
    """JSON with `name` and `text`, and `leftOut`: the commands of a notebook that its script leaves out; or `problem`."""
    try:
        if not name.lower().endswith(".ipynb"):
            return json.dumps({"name": name, "text": Document.from_bytes(data, name).text, "leftOut": []})
        notebook = NotebookFile.from_bytes(data, name)
        script = as_script(notebook, [])
    except UndecodableSource as e:
        return json.dumps({"name": name, "problem": f"{name} can't be read: {e}"})
    except NoScript as e:
        where = notebook.place(e.offset).line_words
        return json.dumps({"name": name, "problem": f"{name}, {where}: {e}"})
    left_out = [f"{one.place.line_words}: {one.text}" for one in script.left_out]
    return json.dumps({"name": name[: -len(".ipynb")] + ".py", "text": script.text, "leftOut": left_out})
