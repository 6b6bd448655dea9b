"""The packages that files of a project ask for, each with its versions: read here as far as needed, without other packages.

What a file asks for twice, and not alike (for one system this, for another that), it says nothing of."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from configparser import ConfigParser, Error
from typing import Any, TypeAlias

Asked: TypeAlias = tuple[str, str]

_NAME = re.compile(r"\s*([A-Za-z][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;#)\\]*)")
_LOCKED = re.compile(r'^name = "([^"]+)"\s*^version = "([^"]+)"', re.MULTILINE)
# `  - conda-forge::tensorflow-cpu=2.17.0=build`, `    - "keras>=3"`
_OF_CONDA = re.compile(r"""\s*-\s*["']?(?:[\w./-]+::)?([A-Za-z][\w.-]*(?:\[[^\]]*\])?\s*[^"'#]*)""")


def requirement(line: str) -> Asked:
    """`tensorflow-cpu[and-cuda] >=2.16, <2.18 ; python_version > "3.8"` → its name and its versions."""
    match = _NAME.match(line)
    return (match[1], match[2].partition(" --")[0].strip()) if match else ("", "")


def _alike(asked: Iterable[Asked]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for name, versions in asked:
        found.setdefault(name, set()).update({versions} - {""})
    return {name: next(iter(versions)) if len(versions) == 1 else "" for name, versions in found.items()}


def _requirements(text: str) -> dict[str, str]:
    return _alike(requirement(line) for line in text.splitlines() if _NAME.match(line))


def _pyproject(text: str) -> dict[str, str]:
    document = _toml(text)
    project, poetry = document.get("project", {}), document.get("tool", {}).get("poetry", {})
    lists = [project.get("dependencies", ()), *project.get("optional-dependencies", {}).values()]
    lists += document.get("dependency-groups", {}).values()
    tables = [poetry.get("dependencies", {})]
    tables += [group.get("dependencies", {}) for group in poetry.get("group", {}).values()]
    asked = [requirement(line) for lines in lists for line in lines if isinstance(line, str)]
    return _alike([*asked, *(pair for table in tables for pair in _of_table(table))])


def _pipfile(text: str) -> dict[str, str]:
    return _alike(_of_table(_toml(text).get("packages", {})))


def _of_table(table: Mapping[str, Any]) -> Iterable[Asked]:
    for name, asked in table.items():
        version = asked.get("version", "") if isinstance(asked, dict) else asked
        yield name, version if isinstance(version, str) and version != "*" else ""


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    document: dict[str, Any] = tomllib.loads(text)
    return document


def _conda(text: str) -> dict[str, str]:
    """The packages of conda and of pip in an `environment.yml`; of `=2.17.0=build` the version."""
    asked = [requirement(match[1]) for line in text.splitlines() if (match := _OF_CONDA.match(line))]
    return _alike((name, re.sub(r"^(=\s*[\w.*]+)=[^=].*", r"\1", versions)) for name, versions in asked)


def _setup_cfg(text: str) -> dict[str, str]:
    parser = ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except Error as error:
        raise ValueError(str(error)) from error
    lines = parser.get("options", "install_requires", fallback="").splitlines()
    return _alike(requirement(line) for line in lines)


def _setup_py(text: str) -> dict[str, str]:
    """What is written out in `setup(install_requires=…, extras_require=…)`, or in lists with names that it is given."""
    tree = ast.parse(text)
    named = {
        target.id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    lines: list[str] = []
    for call in calls:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        for keyword in call.keywords if name == "setup" else ():
            if keyword.arg in ("install_requires", "extras_require"):
                lines += _texts(keyword.value, named, 5)
    return _alike(requirement(line) for line in lines)


def _texts(e: ast.expr, named: Mapping[str, ast.expr], depth: int) -> list[str]:
    """The texts of a list, of lists that are added, or of those in a dictionary."""
    match e:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Name(id=name) if name in named and depth:
            return _texts(named[name], named, depth - 1)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
            return [text for part in parts for text in _texts(part, named, depth)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _texts(left, named, depth) + _texts(right, named, depth)
    return []


def _toml_lock(text: str) -> dict[str, str]:
    return _alike(_LOCKED.findall(text))


def _pipfile_lock(text: str) -> dict[str, str]:
    return {
        name: str(entry.get("version", "")) for name, entry in json.loads(text).get("default", {}).items()
    }


LOCKS: Mapping[str, Callable[[str], dict[str, str]]] = {
    "uv.lock": _toml_lock,
    "poetry.lock": _toml_lock,
    "pdm.lock": _toml_lock,
    "Pipfile.lock": _pipfile_lock,
}
REQUIREMENTS: Mapping[str, Callable[[str], dict[str, str]]] = {
    "requirements*.txt": _requirements,
    "requirements/*.txt": _requirements,
    "pyproject.toml": _pyproject,
    "Pipfile": _pipfile,
    "environment*.y*ml": _conda,
    "setup.cfg": _setup_cfg,
    "setup.py": _setup_py,
}

__all__ = ["LOCKS", "REQUIREMENTS", "requirement"]
