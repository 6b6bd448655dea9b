"""K1 optimizer, K2 string: the optimizer of a compiled model averages its gradients over all ranks.

What it does   `Adam(…)` becomes `hvd.DistributedOptimizer(Adam(…))` where it is made; one that is made over several lines and
               gets a name is followed by `opt = hvd.DistributedOptimizer(opt)`. A Keras name ("adam", "sgd", …) becomes the
               class it stands for, with its default rate scaled. A model compiled without an optimizer gets Keras' default,
               written out.
               Where the program names `.keras` files, the wrapper is `distributed`, a function in the head of the file: what
               Horovod's own writes into them can't be loaded again, by any script.
               Optimizers of other packages whose configuration leaves out settings (transformers' `AdamWeightDecay`, what
               `create_optimizer` makes) get them back in `distributed_as_made`: Horovod makes them again from it. So
               do those with a schedule of another package's class.
               A model whose training step is of another package (`tfrs.Model`) may apply the gradients of a tape itself, which
               Horovod's wrapper doesn't average: there it is `averaging`.
               For Keras 3, the wrapper is that of `horovod_keras3.py`, which is written beside the script.
Why            `fit` applies what the optimizer is given; unwrapped, every rank trains a model of its own.
Before         model.compile(optimizer="adam", loss="mse")
After          model.compile(optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.Adam(learning_rate=0.001 * hvd.size())),
                             loss="mse")
Leaves alone   Models with a `train_step` of their own (K7 wraps its tape). Optimizers used by tapes only (G1).
               A model that is made there and only asked (`evaluate`, `predict`, `save`), if its optimizer is its own.
Asks           An optimizer that comes from a place that can't be seen: wrapped where it is used, its rate scaled there. A model
               of which it can't be seen whether it is one that is compiled elsewhere in the project.
Source         Seed 2.3.1, assignment and `model.compile`. Errata: the seed prints `hvd.size` without the call, and knows
               only "adam"; optimizers inline in `compile` (108 of 290 real sites) are not its strict form.
"""

from __future__ import annotations

import ast
import os.path

from horovodize import catalogue
from horovodize.python.syntax import FUNCTIONS, position
from horovodize.python.unpacking import unpacks
from horovodize.rules.beginning import keras_session
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.scaling import strong
from horovodize.rules.wrapping import compiled_by_configuration
from horovodize.rules.wrapping.asked_models import is_of_callback, is_only_asked
from horovodize.rules.wrapping.copied_optimizers import Copied, copied
from horovodize.rules.wrapping.optimizers import (
    Trained,
    is_by_name,
    is_of_base,
    keras_wrapper,
    trained_optimizers,
    wrap,
)
from horovodize.rules.wrapping.serializable import make_serializable
from horovodize.source import Edit
from horovodize.source.project import ProjectDocument
from horovodize.summary.keras_fits import package_of_class
from horovodize.summary.site_kinds import Compile, Fit

_WHY = "`fit` then applies gradients that are averaged over all ranks."
_UNSEEN = (
    "where this optimizer is made can't be seen: check that its rate is not scaled already and is no schedule"
)
_WRAP = "Wrap the optimizer that the model comes with, and scale its rate"
_SCALE = "Multiply the learning rate by the number of ranks"
_WHY_SCALE = "A step averages size() batches: the batch is size() times larger, and so is the rate."
_UNSCALED = (
    "the model is compiled with what `**` gives: multiply its optimizers' rates there by the number of ranks"
)
_PERHAPS = (
    "it can't be seen whether this is the model that is compiled in {}, where its optimizer is wrapped and its rate scaled; "
    "if it is another one, wrap and scale its optimizer where it is compiled"
)
# What `check` warns of where following an optimizer back ends.
_ABOUT_ORIGINS = ("HVD103", "HVD105", "HVD106", "HVD107")
_DEFAULT = "rmsprop"  # Keras' `compile` without an optimizer


def apply(draft: Draft) -> None:
    keras_session.apply(draft)
    compiled_by_configuration.refuse(draft)
    own_steps = {
        o for c in draft.sites.compiles if draft.sites.own_step(c.model) is not None for o in c.optimizers
    }
    compiled: dict[ast.expr, list[Trained]] = {}
    found = [t for t in trained_optimizers(draft) if t.sink == "compile"]
    passed_on = {o for c in draft.sites.compiles if is_of_base(c) for o in c.optimizers}
    seen_to = {t.origin for t in found if t.used_at not in passed_on}
    for trained in found:
        if trained.used_at not in passed_on or trained.origin not in seen_to:
            compiled.setdefault(trained.used_at, []).append(trained)
    for used_at, origins in compiled.items():
        wrapped = used_at not in own_steps
        travelling = [
            t for t in origins if t.string is not None and not draft.syntax.inside(t.origin, used_at)
        ]
        if travelling and len(travelling) == len(origins):
            _wrap_where_used(draft, travelling, "", in_wrapper=wrapped)
        elif travelling and not all(_is_only_compiled_with(draft, t) for t in travelling):
            draft.refuse(
                "HVD106",
                used_at,
                "this is sometimes an optimizer and sometimes the name of one, and each is wrapped in another way; "
                "make it always one of them",
            )
        else:
            _wrap_all(draft, origins, wrapped)
    for site in draft.sites.compiles:
        if not site.optimizers and _can_lack_optimizer(draft, site):
            _add_default(draft, site)
    for fit in draft.sites.fits:
        if is_compiled_here(draft, fit):
            continue
        unused = [
            site
            for site in draft.sites.compiles
            if (site.optimizers or not unpacks(site.call))
            and not any(_is_of(draft, f, site) for f in draft.sites.fits)
        ]
        if unused:
            draft.ask("K1", fit.call, _WRAP, _WHY, _PERHAPS.format(_where(draft, unused[0].call)))
        else:
            _wrap_compiled_elsewhere(draft, fit)


def _is_only_compiled_with(draft: Draft, trained: Trained) -> bool:
    """Whether a Keras name is set to a variable with which one model is compiled once, and that nothing else reads: `opt =
    "adam"` in an arm, an optimizer in the other. (By a name, each model would get an optimizer of its own.)"""
    statement = draft.syntax.parent.get(trained.origin)
    if not isinstance(statement, ast.Assign) or not all(isinstance(t, ast.Name) for t in statement.targets):
        return False
    names = {t.id for t in statement.targets if isinstance(t, ast.Name)}
    compiled = {o for c in draft.sites.compiles for o in c.optimizers}
    reads = [
        n
        for name in names
        for n in draft.module.loads.get(name)
        if isinstance(n, ast.Name) and any(b.value is trained.origin for b in draft.module.scopes.reaching(n))
    ]
    again = {loop for n in reads for loop in draft.syntax.loops(n)} - {*draft.syntax.loops(statement)}
    return len(reads) == 1 and reads[0] in compiled and not again


# ---------------------------------------------------------------------- K1


def _wrap_all(draft: Draft, origins: list[Trained], wrapped: bool) -> None:
    origins = [t for t in origins if not _is_wrapped_already(draft, t)]
    unseen = [t for t in origins if t.string is None and t.call is None]
    if unseen and len(unseen) < len(origins):
        for trained in unseen:  # wrapped where it is used, the others would be wrapped once more
            shown = " ".join(draft.module.text(trained.origin).split())
            draft.refuse(
                "HVD107",
                trained.origin if shown else trained.used_at,
                f"`{shown}` can't be followed to an optimizer, while another branch makes one; make it in this file in each",
            )
        return
    for trained in origins:
        if trained.string is not None:
            write_out(draft, trained, in_wrapper=wrapped)
        elif not wrapped:
            if is_by_name(draft, trained.origin):  # its rate is scaled nowhere else
                _wrap_where_used(draft, [trained], _UNSEEN, in_wrapper=False)
        elif trained.outermost is None and trained.call is not None:
            _wrap_given(draft, trained.used_at, trained.class_name or "")
        elif trained.outermost is not None and trained.call is not None:
            if _updates_elsewhere(draft, trained):
                _wrap_given(draft, trained.used_at)
            else:
                wrap(draft, "K1", trained.outermost, _WHY)
            if not draft.keras_3:  # there, the optimizer is not rebuilt
                make_serializable(draft, trained.call, trained.class_name)
        else:
            _wrap_where_used(draft, [trained], _UNSEEN)


def _updates_elsewhere(draft: Draft, trained: Trained) -> bool:
    """Whether a tape's gradients are applied by the same optimizer in another run: there, the tape is wrapped."""
    return any(
        trained.origin is a.node
        for u in draft.sites.updates
        if u.optimizer is not None
        for a in draft.facts.optimizers.arrivals(u.optimizer)
    )


def _wrap_given(draft: Draft, given: ast.expr, made_by: str = "") -> None:
    """Wraps an optimizer where a model is compiled with it, once: `compile(hvd.DistributedOptimizer(optimizer))`."""
    if draft.once("wrapped", given):
        edits = Edit.around(draft.module.span(given), f"{keras_wrapper(draft, made_by)}(", ")")
        draft.change("K1", given, "Wrap the optimizer in Horovod's where the model is compiled", _WHY, edits)


def _is_wrapped_already(draft: Draft, trained: Trained) -> bool:
    """Whether this is the optimizer that a model of this file was compiled with before: `model.compile(model.optimizer)`."""
    origin = trained.origin
    if not isinstance(origin, ast.Attribute) or origin.attr != "optimizer":
        return False
    if is_of_callback(draft, origin.value):
        return all(is_compiled_here(draft, fit) for fit in draft.sites.fits)
    made, text = set(draft.values.calls(origin.value)), ast.unparse(origin.value)
    return any(
        trained.used_at not in site.optimizers
        and (made & set(draft.values.calls(site.model)) or ast.unparse(site.model) == text)
        for site in draft.sites.compiles
    )


def is_compiled_here(draft: Draft, fit: Fit) -> bool:
    """Whether this file compiles the model of a fit, as far as can be told: under the same name, or the same object. (A
    model that `load_model` makes comes compiled: K8.)"""
    if any(draft.names.last(c.func) == "load_model" for c in draft.values.calls(fit.model)):
        return True
    return any(_is_of(draft, fit, site) for site in draft.sites.compiles)


def _is_of(draft: Draft, fit: Fit, site: Compile) -> bool:
    """Whether a `compile` is that of the model that is fitted, as far as can be told, and it can be seen what with."""
    if not site.optimizers and unpacks(site.call) or _comes_later(draft, fit, site):
        return False
    made = set(draft.values.calls(fit.model))
    if ast.unparse(site.model) == ast.unparse(fit.model) or made & set(draft.values.calls(site.model)):
        return True
    owner = draft.syntax.owner(site.call)
    return owner is not None and any(draft.values.callee(c) is owner for c in made)  # it compiles itself


def _comes_later(draft: Draft, fit: Fit, site: Compile) -> bool:
    """Whether a `compile` stands after a `fit` that runs once, before it: that model came compiled."""
    syntax = draft.syntax
    top = all(syntax.function(call) is None and not syntax.loops(call) for call in (fit.call, site.call))
    return (
        top and not isinstance(draft.document, ProjectDocument) and position(site.call) > position(fit.call)
    )


def _where(draft: Draft, node: ast.AST) -> str:
    """`nets.py, line 7`; in a script alone the line."""
    whole, span = draft.document, draft.module.span(node)
    if not isinstance(whole, ProjectDocument):
        return f"line {whole.lines.line_of(span.start) + 1}"
    index = whole.member_at(span.start)
    member = whole.members[index]
    return f"`{os.path.basename(member.path)}`, line {member.lines.line_of(whole.local_span(index, span).start) + 1}"


def _wrap_compiled_elsewhere(draft: Draft, fit: Fit) -> None:
    """A model that another module builds and compiles: its optimizer is there when it is fitted."""
    model = draft.module.text(fit.model)
    statement = draft.syntax.statement(fit.call)
    if (
        not isinstance(fit.model, (ast.Name, ast.Attribute))
        or draft.syntax.loops(fit.call)
        or not draft.can_insert(statement)
    ):
        draft.refuse(
            "HVD006",
            fit.call,
            f"`{model}` is compiled {_compiled(draft, fit)}, where its optimizer has to be wrapped",
        )
        return
    if not draft.once("wrapped", fit.call):
        return
    grown = strong.model_factor(draft, fit.model)
    if draft.sites.own_step(fit.model) is not None:  # which averages its gradients by itself
        if grown and _is_unpacked(draft, fit):
            draft.ask("K1", fit.call, _SCALE, _WHY_SCALE, _UNSCALED)
        return
    rate = f"{model}.optimizer.learning_rate"
    lines = [f"{rate} = {rate}{grown}"] if grown else []
    lines.append(f"{model}.optimizer = {keras_wrapper(draft)}({model}.optimizer)")
    if _may_run_again(draft, fit):
        once = draft.quoted("is_distributed")
        lines = [*lines, f"{model}.optimizer.is_distributed = True"]
        lines = [f"if not hasattr({model}.optimizer, {once}):", *(f"    {line}" for line in lines)]
    draft.change(
        "K1",
        fit.call,
        _WRAP,
        _WHY,
        [draft.before(statement, draft.lines_of(*lines, comment="Horovod: this model comes compiled."))],
        doubt=f"the model is compiled {_compiled(draft, fit)}: check that its rate is a number, and not scaled there"
        + _whose(draft, fit),
    )


def _may_run_again(draft: Draft, fit: Fit) -> bool:
    """Whether a `fit` may run more than once: its function is called in a loop, at several places, or from elsewhere."""
    ways = draft.drive.ways(fit.call)
    again = any(frame.loops for way in ways for frame in way)
    return again or len(ways) != 1 or ways[0][-1].function is not None


def _compiled(draft: Draft, fit: Fit) -> str:
    """Where the model of a fit is compiled, whose optimizer isn't seen."""
    return "with what `**` gives" if _is_unpacked(draft, fit) else "in another file"


def _whose(draft: Draft, fit: Fit) -> str:
    """What else to check of a model whose class is of another package."""
    package = package_of_class(draft.module, fit.model)
    return f", and that the `fit` of this class of `{package}` is Keras' own" if package is not None else ""


def _is_unpacked(draft: Draft, fit: Fit) -> bool:
    text = ast.unparse(fit.model)
    return any(unpacks(c.call) and ast.unparse(c.model) == text for c in draft.sites.compiles)


def _wrap_where_used(draft: Draft, origins: list[Trained], doubt: str, in_wrapper: bool = True) -> None:
    """An optimizer (or its name) that can't be changed where it comes from is wrapped, and its rate scaled, where it is
    used."""
    used_at = origins[0].used_at
    for trained in origins:
        for code in _ABOUT_ORIGINS:
            draft.answer(code, trained.origin)
    of_another = copied(draft, origins[0]) if len(origins) == 1 else None
    if not draft.once("wrapped", used_at) or of_another is Copied.WRAPPER:
        return
    statement = draft.syntax.statement(used_at)
    keras = _keras(draft)
    if not isinstance(used_at, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) or not draft.can_insert(
        statement
    ):
        draft.refuse(
            "HVD105", used_at, "where this optimizer comes from can't be followed; make it here by name"
        )
        return
    name, doubt = draft.same_name("optimizer"), doubt if of_another is None else ""
    grown = strong.factor(draft, used_at) if of_another is None else ""
    scaling = [f"{name}.learning_rate = {name}.learning_rate{grown}"] if grown else []
    opening, closing, lines = f"{keras}.optimizers.get(", ")", scaling
    if in_wrapper and draft.keras_3:
        lines = [*scaling, f"{name} = {keras_wrapper(draft)}({name})"]
    elif in_wrapper:  # Horovod makes a new one: scaled before, one that two models share would be twice
        opening, closing = f"{keras_wrapper(draft)}({opening}", "))"
    draft.change(
        "K2" if not doubt else "K1",
        used_at,
        "Wrap the optimizer in Horovod's, and scale its rate, where it is used",
        _WHY,
        [draft.moved_before(statement, used_at, f"{name} = {opening}", closing, lines, name)],
        doubt=doubt,
        decision=draft.scaled if grown else None,
    )


# ---------------------------------------------------------------------- K2


def write_out(draft: Draft, trained: Trained, in_wrapper: bool) -> None:
    """Replaces a Keras name by the optimizer that it stands for."""
    node, string = trained.origin, trained.string
    assert isinstance(node, ast.Constant)
    assert string is not None
    if not draft.once("wrapped", node):
        return
    grown = strong.factor(draft, trained.used_at)
    made = _made(draft, string, grown)
    if made is None:
        draft.refuse("HVD006", node, f"Keras knows no optimizer named {string!r}")
        return
    text = f"{keras_wrapper(draft)}({made})" if in_wrapper else made
    draft.change(
        "K2",
        node,
        f"Write out the optimizer that {string!r} stands for, with its default rate scaled, in Horovod's wrapper",
        "A name leaves no place for the rate or the wrapper.",
        [Edit(draft.module.span(node), text)],
        decision=draft.scaled if grown else None,
        shown=_default(draft, string),
    )


def _default(draft: Draft, string: str) -> str:
    """`learning_rate=0.001`: what the optimizer that a name stands for is made with."""
    name = catalogue.optimizer_for_string(string)
    return f"learning_rate={draft.default_rate(name)}" if name else ""


def _made(draft: Draft, string: str, grown: str) -> str | None:
    """`tf.keras.optimizers.Adam(learning_rate=0.001 * hvd.size())`; `grown`: what the rate is multiplied by."""
    name = catalogue.optimizer_for_string(string)
    default = draft.default_rate(name) if name else None
    if name is None or default is None:
        return None
    made = f"optimizers.{name.rsplit('.', 1)[-1]}"
    if keras_session.is_wanted(draft):  # there, the rate has two names
        return f"{keras_session.keras_name(draft)}.{made}({default}{grown})"
    return f"{_keras(draft)}.{made}(learning_rate={default}{grown})"


def _keras(draft: Draft) -> str:
    """The Keras that optimizers are taken from. TensorFlow's and the package of its own are one from Keras 3 on, unless legacy
    Keras is asked for: then TensorFlow's is another."""
    return keras_session.keras_name(draft) if draft.keras_3 else f"{draft.tensorflow()}.keras"


def _can_lack_optimizer(draft: Draft, site: Compile) -> bool:
    if unpacks(site.call) or draft.sites.own_step(site.model) is not None or is_only_asked(draft, site):
        return False
    return not isinstance(
        draft.values.callee(site.call), FUNCTIONS
    )  # a `compile` of the user's own takes what it wants


def _add_default(draft: Draft, site: Compile) -> None:
    grown = strong.model_factor(draft, site.model)
    text = f"optimizer={keras_wrapper(draft)}({_made(draft, _DEFAULT, grown)})"
    draft.change(
        "K2",
        site.call,
        "Write out Keras' default optimizer, with its rate scaled, in Horovod's wrapper",
        "A model that is compiled without an optimizer trains with RMSprop.",
        [draft.add_argument(site.call, text, first=not site.call.args)],
        decision=draft.scaled if grown else None,
        shown=_default(draft, _DEFAULT),
    )


RULE = Rule("K1", "wrap the optimizer", apply, __doc__ or "")
STRING = Rule("K2", "write out an optimizer given by name", None, __doc__ or "")
