"""Functions that aren't seen, as their module is not there, of which names say that they write a file:
`save_images(images, epoch)`, `display(images, save_to="images_%03d.png" % epoch)`."""

from __future__ import annotations

import ast
import re
import sys

from horovodize.python.module import Module

# What these write is listed (`catalogue/effect_tables.py`).
_LISTED = sys.stdlib_module_names | set(
    "tensorflow keras horovod numpy matplotlib pandas scipy sklearn torch torchvision yaml oyaml ruamel toml simplejson "
    "ujson joblib dill cloudpickle h5py zarr PIL cv2 imageio skimage seaborn plotly IPython tqdm wandb mlflow".split()
)
_WRITES = re.compile(r"(save|write|export)(_|[A-Z]|$)")
_MAY_WRITE = re.compile(r"(dump|plot|draw|show|display|visuali[sz]e)(_|[A-Z]|$)")
_SAVING = re.compile(r"^(save|out|output|export|dump)(_?(to|path|file|filename|name|dir|folder|as))?$")
_PICTURE = re.compile(r"\.(png|jpe?g|gif|pdf|svg|eps|html|mp4|csv|txt)$")


def writes(module: Module, call: ast.Call) -> bool:
    """Whether a call stands alone and calls such a function; one whose value is used may give something to all ranks."""
    name = module.names.of(call.func)
    if name is None or "." not in name or name.split(".", 1)[0] in _LISTED:
        return False
    if not isinstance(module.syntax.parent.get(call), ast.Expr):
        return False
    last = name.rpartition(".")[2]
    if _WRITES.match(last):
        return True
    return _MAY_WRITE.match(last) is not None and (
        any(map(_is_output, call.args)) or any(map(_is_output, call.keywords))
    )


def _is_output(given: ast.expr | ast.keyword) -> bool:
    """Whether an argument is the path of a picture or a table, or is called after what is saved there."""
    if isinstance(given, ast.keyword):
        unset = isinstance(given.value, ast.Constant) and not given.value.value
        return not unset and (bool(_SAVING.match(given.arg or "")) or _is_output(given.value))
    texts = [n.value for n in ast.walk(given) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return any(map(_PICTURE.search, texts))
