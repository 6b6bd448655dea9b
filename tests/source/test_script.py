"""A notebook as a script: what becomes of commands, text and what only IPython has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from horovodize.source import Edit, Place
from horovodize.source.script import NoScript, Script, as_script
from tests.source.notebooks import code_cell, document, markdown


def script(*cells: object) -> str:
    return as_script(document(*cells), []).text  # type: ignore[arg-type]


def run(text: str, folder: Path) -> str:
    """What a script prints, without IPython."""
    file = folder / "script.py"
    file.write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-I", str(file)], check=True, capture_output=True, text=True
    ).stdout


def test_cells_are_in_the_percent_format() -> None:
    raw = {"cell_type": "raw", "metadata": {}, "source": "r"}
    made = as_script(
        document(markdown("# Title\n\ntext"), "x = 1\n\n", raw, code_cell(None)), [], ["Made.", ""]
    )
    assert made == Script(
        "# Made.\n#\n\n# %% [markdown]\n# # Title\n#\n# text\n\n# %%\nx = 1\n\n\n# %% [raw]\n# r\n\n# %%\n",
        (),
    )


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("!pip install x\ny = 1", "# !pip install x\ny = 1"),
        (
            "if x:\n    !ls \\\n      -l\nelse:\n    y = 1",
            "if x:\n    pass  # !ls \\\n    # -l\nelse:\n    y = 1",
        ),
        ("%time f(x)", "f(x)"),
        ("if x:\n  %timeit -n 3 f(x)\n  y = 1", "if x:\n  f(x)\n  y = 1"),
        ("%%time\nf(x)", "# %%time\nf(x)"),
        ("%%bash\nls\n\necho 1", "# %%bash\n# ls\n#\n# echo 1"),
        ("x?\ny", "# x?\ny"),
        ("    x = 1\n    y = 2", "x = 1\ny = 2"),
        ("x = 1\r\ny = 2\r\n", "x = 1\ny = 2"),
        ("pip install x", "# pip install x"),
        ("s = '\u2028'\nmodel.fit(x)", "s = '\u2028'\nmodel.fit(x)"),
    ],
)
def test_commands_become_comments(cell: str, code: str) -> None:
    assert script(cell) == f"# %%\n{code}\n"
    compile(code, "script", "exec")


def test_commands_that_may_have_done_something_are_told() -> None:
    made = as_script(
        document(
            "%matplotlib inline\n!pip install x",
            markdown("t"),
            "if y:\n  %cd data\n%time f()\nf?",
            "%%bash\nls",
        ),
        [],
    )
    assert [(str(one.place), one.text) for one in made.left_out] == [
        ("cell 1:2:1", "!pip install x"), ("cell 3:2:3", "%cd data"), ("cell 4:1:1", "%%bash"),
    ]  # fmt: skip


def test_edits_are_in_the_script_and_places_are_the_notebook_s() -> None:
    made = document("import os\n!ls", "x = 1")
    result = as_script(made, [Edit.insert(0, "import new\n"), Edit.insert(made.text.index("x"), "y = 0\n")])
    assert result.text == "# %%\nimport new\nimport os\n# !ls\n\n# %%\ny = 0\nx = 1\n"
    assert result.left_out[0].place == Place(2, 1, 1)


@pytest.mark.parametrize(
    ("cell", "said", "place"),
    [
        ("x = 1\nfiles = !ls *.py", "has no `!ls`", Place(2, 9, 2)),
        ("here = %pwd", "has no `%pwd`", Place(1, 8, 2)),
        ("x = 1\ny = await f()", "`await` outside a function", Place(2, 5, 2)),
    ],
)
def test_what_a_script_can_t_have_is_refused_at_its_place(cell: str, said: str, place: Place) -> None:
    made = document("import os", cell)
    with pytest.raises(NoScript, match=said) as caught:
        as_script(made, [])
    assert made.place(caught.value.offset) == place


def test_await_in_a_function_is_python() -> None:
    assert "await g()" in script("async def f():\n    await g()")


def test_future_imports_move_to_the_top() -> None:
    text = script("import os", "from __future__ import (\n  annotations,\n)\nx: y = 1")
    assert text.startswith("from __future__ import annotations\n\n# %%\nimport os\n")
    assert "# from __future__ import (\n#   annotations,\n# )\nx: y = 1\n" in text
    compile(text, "script", "exec", dont_inherit=True)


def test_display_prints_where_there_is_no_ipython(tmp_path: Path) -> None:
    text = script("import sys\nsys.modules['IPython'] = None\ndisplay('shown')")
    assert text.startswith(
        "try:\n    from IPython.display import display\nexcept ImportError:\n    display = print\n"
    )
    blocked = "import sys\nsys.modules['IPython'] = None\nsys.modules['IPython.display'] = None\n"
    assert run(blocked + text, tmp_path) == "shown\n"


def test_get_ipython_is_none_where_there_is_none(tmp_path: Path) -> None:
    text = script(
        "colab = 'google.colab' in str(get_ipython())\nprint(colab)",
        "if not colab:\n    get_ipython().run_line_magic('cd', 'x')\nget_ipython().system('ls')\nprint(1)",
    )
    assert "    pass  # get_ipython().run_line_magic('cd', 'x')\n# get_ipython().system('ls')\n" in text
    blocked = "import sys\nsys.modules['IPython'] = None\n"
    assert run(blocked + text, tmp_path) == "False\n1\n"


@pytest.mark.parametrize(
    "cell",
    [
        "from IPython.display import display\ndisplay(1)",
        "def display(x): pass\ndisplay(1)",
        "display = print\ndisplay(1)",
        "import IPython.display as display",
        "pl.display(1)",
    ],
)
def test_nothing_is_provided_that_the_notebook_has_itself(cell: str) -> None:
    assert script(cell) == f"# %%\n{cell}\n"


def test_null_bytes_in_text_do_not_spoil_the_script() -> None:
    compile(script(markdown("a\0b"), "%%html\n\0", "x = 1"), "script", "exec")
