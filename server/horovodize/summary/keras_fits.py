"""Whether `fit` is that of a Keras model, or of another library's."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from horovodize.python.module import Module
from horovodize.python.syntax import FUNCTIONS

_MODEL = "tensorflow.keras.Model"
_FIT_KEYWORDS = {
    "epochs", "nb_epoch", "batch_size", "steps_per_epoch", "samples_per_epoch", "callbacks", "validation_data",
    "validation_split", "validation_steps", "verbose",
}  # fmt: skip
_NOT_A_MODEL = re.compile(
    r"^(scipy|catboost|statsmodels|pmdarima|(fb)?prophet|gensim|hmmlearn|lifelines|surprise|implicit"
    r"|lightfm|darts|neuralforecast|neuralprophet|gluonts|(pytorch_)?lightning|fastai|skorch|autogluon|pytorch_tabnet"
    r"|pytorch_forecasting|causalml|econml|umap|hdbscan|imblearn|pyod|sktime|tslearn|skopt|torch|cuml|pyspark|h2o"
    r"|category_encoders|mlxtend|nltk|cv2)\."
    r"|(sklearn|xgboost|lightgbm)\b|(Scaler|Encoder|Binarizer|Tokenizer|Generator|Vectorizer|Vectorization"
    r"|Lookup|Normalization|PCA|KMeans|TSNE|Imputer)$"
)
_MODEL_MAKERS = {"Model", "Sequential", "Functional", "load_model", "multi_gpu_model", "clone_model", "model_from_json",
                 "model_from_yaml", "model_from_config"}  # fmt: skip

_KERAS = ("tensorflow", "keras", "tf_keras", "builtins")


def package_of_class(m: Module, model: ast.expr) -> str | None:
    """The package, other than Keras', of the class that a model is of, or is derived from: `deepchem`. None
    where that isn't seen, and for classes that Keras' `Model` is a base of."""
    for made in m.values.calls(model):
        cls = m.values.callee(made)
        if _MODEL in m.values.made_by(made):
            continue
        classes = [made.func]
        if isinstance(cls, ast.ClassDef):
            classes = [base for member in m.values.family(cls) for base in member.bases]
        for written in classes:
            package = (m.names.of(written) or "").split(".", maxsplit=1)[0]
            if package and package not in _KERAS and m.names.last(written)[:1].isupper():
                return package
    return None


def fits_keras(m: Module, call: ast.Call, compiled: Sequence[ast.expr]) -> bool | None:
    """Whether a `fit`'s receiver is a Keras model; None: it is one of `tf.contrib.learn`'s estimators.

    compiled: what `compile` is called on."""
    assert isinstance(call.func, ast.Attribute)
    receiver = call.func.value
    if isinstance(m.values.callee(call), FUNCTIONS):
        return False  # a `fit` of this module: the loop in it is what counts
    if call.func.attr == "fit" and not call.args and not call.keywords:
        return False  # Keras trains on nothing
    against = False
    for made in m.values.calls(receiver):
        names = m.values.made_by(made)
        full, last = m.names.of(made.func) or "", m.names.last(made.func)
        if "contrib.learn" in full or full.startswith("tensorflow.estimator") or "skflow" in full:
            return None
        if _MODEL in names or last in _MODEL_MAKERS or ".applications." in full or "scikit_learn" in full:
            return True
        if _NOT_A_MODEL.search(full) or _NOT_A_MODEL.search(last):
            against = True
    if against:
        return False
    if isinstance(receiver, ast.Name) and receiver.id == "self":
        owner = m.syntax.owner(call)
        if owner is not None and _MODEL in m.values.ancestors(owner):
            return True
    text = ast.unparse(receiver)
    if any(ast.unparse(c) == text for c in compiled):
        return True
    if call.func.attr != "fit":
        return True
    return bool({k.arg for k in call.keywords} & _FIT_KEYWORDS)
