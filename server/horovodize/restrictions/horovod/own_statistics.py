"""What a rank finds out from its own part of the rows, and the others must have alike (HVD333): a vocabulary, the number of
classes, what rows are normalised by."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.interleaving import OwnAnswers
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context

_ADAPTING = ("adapt", "fit_on_texts", "fit", "fit_transform")
_KERAS_LAYERS = ("tensorflow.keras.layers.", "keras.layers.")
_SCIKIT = ("sklearn.preprocessing.", "sklearn.feature_extraction.", "sklearn.decomposition.")
_SCALERS = ("Scaler", "PowerTransformer", "QuantileTransformer", "PCA", "layers.Normalization")
_OF_ROWS_ALONE = ("Normalizer",)  # each row by itself
_KINDS = ("set", "Counter", "unique", "nunique", "drop_duplicates", "value_counts", "get_vocabulary", "word_index",
          "vocabulary_size")  # fmt: skip
_SENDING = ("broadcast_object", "allgather_object", "allgather")
_MEANS = ("mean", "std", "var", "max", "min", "nanmean", "nanstd", "median")
_BEHIND = 200


def vocabularies(context: Context, answers: OwnAnswers) -> Iterator[ast.expr]:
    """Where a vocabulary, numbers of labels or a scale is made of the rows of one rank, and nothing sends it."""
    if context.facts.horovod.calls(*_SENDING):
        return
    for call in context.sites.method_calls(*_ADAPTING):
        if _adapts(context, call):
            given = next(
                (a for a in (*call.args, *(k.value for k in call.keywords)) if answers.is_taken_by_rank(a)),
                None,
            )
            if given is not None and not _scales_alone(context, call):
                if not context.facts.rank_tests.may_be_guarded(call):
                    yield call
    yield from _numbered_one_by_one(context, answers)
    for table in context.syntax.every(ast.DictComp):
        assert isinstance(table, ast.DictComp)
        through = table.generators[0].iter
        if (
            isinstance(through, ast.Call)
            and context.is_builtin(through.func, "enumerate")
            and through.args
            and _tells_apart(context, through.args[0])
            and answers.is_taken_by_rank(through.args[0])
        ):
            yield table


def _numbered_one_by_one(context: Context, answers: OwnAnswers) -> Iterator[ast.expr]:
    """`numbers[word] = len(numbers)`, in a loop through the words of one rank."""
    for s in context.syntax.every(ast.Assign):
        assert isinstance(s, ast.Assign)
        match s:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=table))],
                value=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=counted)]),
            ) if table == counted:
                loops = [loop for loop in context.syntax.loops(s) if isinstance(loop, ast.For)]
                if loops and answers.is_taken_by_rank(loops[0].iter):
                    yield s.targets[0]


def counts_kinds(context: Context, answers: OwnAnswers, number: ast.expr) -> bool:
    """Whether a number says what is in the rows of one rank: the greatest of them, or how many kinds. How many there are, or
    how wide, is no such number."""
    if not answers.is_taken_by_rank(number) or context.facts.horovod.calls(*_SENDING):
        return False
    return not answers.asks_how_many(number) or _tells_apart(context, number)


def own_scales(context: Context, answers: OwnAnswers) -> Iterator[ast.Call]:
    """Means of a rank's own part of all rows, by which rows are shifted or scaled. Not of one batch after the other, nor of
    each row."""
    if context.facts.horovod.calls(*_SENDING, "allreduce", "grouped_allreduce"):
        return
    for call in context.sites.method_calls(*_ADAPTING, *_MEANS):
        if _scales_alone(context, call):
            of = call.args[0] if call.args else None
        else:
            of = _mean_of(context, call)
            if of is not None and not _scales(context, call):
                continue
        if (
            of is not None
            and not context.syntax.loops(call)
            and not isinstance(context.syntax.function(call), ast.Lambda)
            and answers.is_taken_by_rank(of)
            and not context.facts.rank_tests.may_be_guarded(call)
        ):
            yield call


def _scales_alone(context: Context, call: ast.Call) -> bool:
    """Whether a call fits what scales numbers, and numbers no words or labels: `StandardScaler().fit(rows)`."""
    return _adapts(context, call) and any(name.endswith(_SCALERS) for name in _made(context, call))


def _mean_of(context: Context, call: ast.Call) -> ast.expr | None:
    """What a call takes the mean of, over all rows: `np.mean(x, axis=0)`, `x.mean()`."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr not in _MEANS:
        return None
    of_numpy = (context.names.of(func) or "").startswith("numpy.")
    if not of_numpy and context.names.of(func):
        return None
    axis = argument(call, "axis", 1 if of_numpy else 0)
    if axis is not None and not (isinstance(axis, ast.Constant) and axis.value in (0, None)):
        return None
    if not of_numpy:
        return func.value
    return call.args[0] if call.args else None


def _scales(context: Context, call: ast.Call) -> bool:
    """Whether something is taken less, or divided by, what a call gives, also by a name."""
    parent = context.syntax.parent.get(call)
    if isinstance(parent, ast.Tuple):
        parent = context.syntax.parent.get(parent)
    if isinstance(parent, ast.Assign):
        names = {n.id for t in parent.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        reads = [n for name in names for n in context.module.loads.get(name)]
        return any(
            b.value is not None and (b.value is call or context.syntax.inside(call, b.value))
            for n in reads
            if isinstance(n, ast.Name) and _is_scale(context, n)
            for b in context.scopes.reaching(n)
        )
    return _is_scale(context, call)


def _is_scale(context: Context, e: ast.expr) -> bool:
    around = context.syntax.parent.get(e)
    if isinstance(around, ast.AugAssign):
        return isinstance(around.op, (ast.Sub, ast.Div)) and around.value is e
    return (
        isinstance(around, ast.BinOp)
        and isinstance(around.op, (ast.Sub, ast.Div))
        and around.right is e
        and not isinstance(around.left, ast.Constant)
    )


def _adapts(context: Context, call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == "fit_on_texts":
        return True
    made = _made(context, call)
    if any(name.endswith(_OF_ROWS_ALONE) for name in made):
        return False
    of = _KERAS_LAYERS if call.func.attr == "adapt" else _SCIKIT
    return any(name.startswith(of) for name in made)


def _made(context: Context, call: ast.Call) -> set[str]:
    """The classes of the object whose method is called."""
    return context.values.class_names(call.func.value) if isinstance(call.func, ast.Attribute) else set()


def _tells_apart(context: Context, e: ast.expr) -> bool:
    """Whether something is made of the different kinds among some rows."""
    for n in context.values.depends([e], _BEHIND):
        named = n.func if isinstance(n, ast.Call) else n
        if isinstance(named, ast.Attribute) and named.attr in _KINDS:
            return True
        if isinstance(named, ast.Name) and named.id in _KINDS:
            return True
        if isinstance(n, (ast.Set, ast.SetComp)):
            return True
    return False
