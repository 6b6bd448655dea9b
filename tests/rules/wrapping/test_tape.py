"""G1 tape, K7 train_step: tapes whose gradients reach an optimizer are wrapped, others are not."""

from __future__ import annotations

import textwrap

import pytest

from ..pairs import MODEL, TF, apart, changes, check, plan_of, refused

HEAD = MODEL + "opt = o.SGD(0.1)\n"
V = "model.trainable_variables"


def looped(body: str) -> str:
    return "for x in data:\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"


def wrapped(before: str, after: str, rule: str = "G1") -> None:
    check(rule, HEAD, looped(before), looped(after))


def test_a_tape_is_wrapped_after_its_with() -> None:
    wrapped(
        f"""
        with tf.GradientTape() as tape:
            loss = model(x)
        grads = tape.gradient(loss, {V})
        opt.apply_gradients(zip(grads, {V}))
        """,
        f"""
        with tf.GradientTape() as tape:
            loss = model(x)
        tape = hvd.DistributedGradientTape(tape)
        grads = tape.gradient(loss, {V})
        opt.apply_gradients(zip(grads, {V}))
        """,
    )


@pytest.mark.parametrize("arguments", ["persistent=True", "watch_accessed_variables=False", "True, False"])
def test_arguments_of_the_tape_do_not_matter(arguments: str) -> None:
    wrapped(
        f"""
        with tf.GradientTape({arguments}) as t:
            loss = model(x)
        opt.apply_gradients(zip(t.gradient(loss, {V}), {V}))
        """,
        f"""
        with tf.GradientTape({arguments}) as t:
            loss = model(x)
        t = hvd.DistributedGradientTape(t)
        opt.apply_gradients(zip(t.gradient(loss, {V}), {V}))
        """,
    )


def test_a_persistent_tape_is_wrapped_once_for_all_its_gradients() -> None:
    wrapped(
        f"""
        with tf.GradientTape(persistent=True) as tape:
            a, b = model(x), model(-x)
        opt.apply_gradients(zip(tape.gradient(a, {V}), {V}))
        opt.apply_gradients(zip(tape.gradient(b, {V}), {V}))
        del tape
        """,
        f"""
        with tf.GradientTape(persistent=True) as tape:
            a, b = model(x), model(-x)
        tape = hvd.DistributedGradientTape(tape)
        opt.apply_gradients(zip(tape.gradient(a, {V}), {V}))
        opt.apply_gradients(zip(tape.gradient(b, {V}), {V}))
        del tape
        """,
    )


@pytest.mark.parametrize(
    "header",
    [
        "with tf.GradientTape() as a, tf.GradientTape() as b:\n",
        "with (tf.GradientTape() as a, tf.GradientTape(persistent=True) as b):\n",
        "with tf.GradientTape() as a:\n  with tf.GradientTape() as b:\n  ",
    ],
    ids=["one with", "parentheses", "nested"],
)
def test_several_tapes_at_once_are_all_wrapped(header: str) -> None:
    rest = f"""\
first, second = a.gradient(one, {V}), b.gradient(two, {V})
opt.apply_gradients(zip(first, {V}))
opt.apply_gradients(zip(second, {V}))
"""
    plan = plan_of(HEAD + looped(header + "  one, two = model(x), model(-x)\n" + rest))
    assert plan.text.count("a = hvd.DistributedGradientTape(a)") == 1
    assert plan.text.count("b = hvd.DistributedGradientTape(b)") == 1
    assert plan.text.count("DistributedGradientTape") == 2


def test_a_comment_after_the_with_keeps_its_place() -> None:
    wrapped(
        f"""
        with tf.GradientTape() as tape:
            loss = model(x)  # forward

        # backward
        opt.apply_gradients(zip(tape.gradient(loss, {V}), {V}))
        """,
        f"""
        with tf.GradientTape() as tape:
            loss = model(x)  # forward
        tape = hvd.DistributedGradientTape(tape)

        # backward
        opt.apply_gradients(zip(tape.gradient(loss, {V}), {V}))
        """,
    )


def test_a_with_on_one_line() -> None:
    wrapped(
        f"with tf.GradientTape() as tape: loss = model(x)\nopt.apply_gradients(zip(tape.gradient(loss, {V}), {V}))",
        "with tf.GradientTape() as tape: loss = model(x)\ntape = hvd.DistributedGradientTape(tape)\n"
        f"opt.apply_gradients(zip(tape.gradient(loss, {V}), {V}))",
    )


def test_a_gradient_inside_its_own_with_needs_the_wrapper_before_it() -> None:
    wrapped(
        f"""
        with tf.GradientTape() as tape:
            loss = model(x)
            grads = tape.gradient(loss, {V})
        opt.apply_gradients(zip(grads, {V}))
        """,
        f"""
        with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
            loss = model(x)
            grads = tape.gradient(loss, {V})
        opt.apply_gradients(zip(grads, {V}))
        """,
    )


def test_only_the_tape_that_is_read_inside_is_wrapped_where_it_is_made() -> None:
    plan = plan_of(
        HEAD
        + looped(
            f"""
        with tf.GradientTape() as a, tf.GradientTape() as b:
            one, two = model(x), model(-x)
            first = a.gradient(one, {V})
        second = b.gradient(two, {V})
        opt.apply_gradients(zip(first, {V}))
        opt.apply_gradients(zip(second, {V}))
        """
        )
    )
    assert "with hvd.DistributedGradientTape(tf.GradientTape()) as a, tf.GradientTape() as b:" in plan.text
    assert "b = hvd.DistributedGradientTape(b)" in plan.text


@pytest.mark.parametrize("forward", ["+ penalty(x)", "+ 10 * penalty(x)", ""])
def test_a_gradient_penalty_stays_local(forward: str) -> None:
    source = HEAD + (
        "def penalty(x):\n    with tf.GradientTape() as gp_tape:\n        gp_tape.watch(x)\n        score = model(x)\n"
        "    slopes = gp_tape.gradient(score, [x])[0]\n    return tf.reduce_sum(slopes ** 2)\n"
        "def step(x):\n    with tf.GradientTape() as tape:\n"
        f"        loss = tf.reduce_sum(model(x)) {forward}\n"
        f"    opt.apply_gradients(zip(tape.gradient(loss, {V}), {V}))\nfor x in data:\n    step(x)\n"
    )
    text = plan_of(source).text
    assert "gp_tape = hvd" not in text
    assert text.count("DistributedGradientTape") == 1


def test_a_tape_in_a_tape_for_second_derivatives_stays_local() -> None:
    text = plan_of(
        HEAD
        + looped(
            f"""
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = model(x)
            slope = inner.gradient(y, x)
            loss = tf.reduce_sum(slope ** 2)
        opt.apply_gradients(zip(outer.gradient(loss, {V}), {V}))
        """
        )
    ).text
    assert "outer = hvd.DistributedGradientTape(outer)" in text
    assert text.count("DistributedGradientTape") == 1


def test_a_saliency_map_stays_local() -> None:
    source = HEAD + looped(
        f"with tf.GradientTape() as tape:\n    loss = model(x)\nopt.apply_gradients(zip(tape.gradient(loss, {V}), {V}))"
    )
    source += (
        "with tf.GradientTape() as tape:\n    tape.watch(x)\n    y = model(x)\nimage = tape.gradient(y, x)\n"
    )
    text = plan_of(source).text
    assert text.count("DistributedGradientTape") == 1
    assert text.index("DistributedGradientTape") < text.index("tape.watch")


def test_a_tape_that_gives_both_kinds_is_wrapped_at_the_call_that_trains() -> None:
    wrapped(
        f"""
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            loss = model(x)
        slope = tape.gradient(loss, x)
        opt.apply_gradients(zip(tape.gradient(loss, {V}), {V}))
        """,
        f"""
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            loss = model(x)
        slope = tape.gradient(loss, x)
        opt.apply_gradients(zip(hvd.DistributedGradientTape(tape).gradient(loss, {V}), {V}))
        """,
    )


@pytest.mark.parametrize(
    "gradients",
    [
        "grads = tape.gradient(loss, {v})",
        "grads = [tf.clip_by_norm(g, 1.0) for g in tape.gradient(loss, {v})]",
        "grads = tape.gradient(loss, {v})\ngrads, _ = tf.clip_by_global_norm(grads, 5.0)",
        "raw = tape.gradient(loss, {v})\ngrads = []\nfor g in raw:\n    grads.append(tf.clip_by_value(g, -1.0, 1.0))",
        "grads = opt.get_unscaled_gradients(tape.gradient(opt.get_scaled_loss(loss), {v}))",
        "grads = list(map(lambda g: g * 2, tape.gradient(loss, {v})))",
        "grads = tape.gradient(target=loss, sources={v})",
        "grads = tape.gradient(loss, list({v}))",
    ],
)
def test_gradients_are_followed_to_their_tape(gradients: str) -> None:
    body = "with tf.GradientTape() as tape:\n    loss = model(x)\n" + gradients.format(v=V)
    plan = plan_of(HEAD + looped(body + f"\nopt.apply_gradients(zip(grads, {V}))"))
    assert plan.text.count("tape = hvd.DistributedGradientTape(tape)") == 1


def test_gradients_that_a_function_returns_are_followed() -> None:
    source = HEAD + (
        f"def grad(x):\n    with tf.GradientTape() as tape:\n        loss = model(x)\n"
        f"    return loss, tape.gradient(loss, {V})\n"
        f"for x in data:\n    loss, grads = grad(x)\n    opt.apply_gradients(zip(grads, {V}))\n"
    )
    assert "    tape = hvd.DistributedGradientTape(tape)\n    return loss," in plan_of(source).text


def test_a_tape_without_as_is_not_taken_for_one_with() -> None:
    wrapped(
        f"""
        tape = tf.GradientTape()
        with tape:
            loss = model(x)
        opt.apply_gradients(zip(tape.gradient(loss, {V}), {V}))
        """,
        f"""
        tape = tf.GradientTape()
        with tape:
            loss = model(x)
        opt.apply_gradients(zip(hvd.DistributedGradientTape(tape).gradient(loss, {V}), {V}))
        """,
    )


def test_a_tape_that_is_passed_to_a_function_is_wrapped_at_the_call() -> None:
    source = HEAD + (
        f"def update(tape, loss):\n    opt.apply_gradients(zip(tape.gradient(loss, {V}), {V}))\n"
        "for x in data:\n    with tf.GradientTape() as t:\n        loss = model(x)\n    update(t, loss)\n"
    )
    assert f"zip(hvd.DistributedGradientTape(tape).gradient(loss, {V}), {V})" in plan_of(source).text


def test_gradients_without_a_tape_are_refused() -> None:
    source = (
        HEAD + "from mine import gradients\nfor x in data:\n    with tf.GradientTape() as t:\n        pass\n"
    )
    source += f"    opt.apply_gradients(zip(gradients(x), {V}))\n"
    refused(source, "HVD202", "can't be found")


@pytest.mark.parametrize("place", ["inside", "after"])
def test_a_jacobian_that_trains_is_refused(place: str) -> None:
    lead = "    " if place == "inside" else ""
    body = f"with tf.GradientTape() as tape:\n    loss = model(x)\n{lead}grads = tape.jacobian(loss, {V})\n"
    refused(HEAD + looped(body + f"opt.apply_gradients(zip(grads, {V}))"), "HVD006", "jacobian")


# ---------------------------------------------------------------------- K7

OWN_STEP = (
    "class M(tf.keras.Model):\n    def train_step(self, data):\n        with tf.GradientTape() as tape:\n"
    "            loss = self.compute_loss(data)\n{with_}        grads = tape.gradient(loss, self.trainable_variables)\n"
    "        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))\n        return {{}}\n"
)
FITTED = "m = M()\nm.compile('sgd')\nm.fit(x, y)\n"


def test_the_tape_of_a_models_own_train_step_is_wrapped() -> None:
    wrapper = "        tape = hvd.DistributedGradientTape(tape)\n"
    plan = check("K7", TF, OWN_STEP.format(with_=""), OWN_STEP.format(with_=wrapper), FITTED)
    assert not changes(plan, "G1", "G2", "K1")


def test_a_train_step_without_a_tape_needs_none() -> None:
    source = (
        TF
        + "class M(tf.keras.Model):\n    def train_step(self, data):\n        return super().train_step(data)\n"
        + FITTED
    )
    plan = plan_of(source)
    assert not changes(plan, "K7")


def test_a_train_step_that_is_called_by_hand_is_a_step_of_a_loop() -> None:
    source = HEAD + (
        "def train_step(x):\n    with tf.GradientTape() as tape:\n        loss = model(x)\n"
        f"    opt.apply_gradients(zip(tape.gradient(loss, {V}), {V}))\nfor x in data:\n    train_step(x)\n"
    )
    plan = plan_of(source)
    assert changes(plan, "G1")
    assert changes(plan, "G2")


def test_one_variable_is_asked_for_and_broadcast_in_a_list() -> None:
    """Horovod's tape averages lists of gradients only."""
    source = (
        TF + "opt = tf.keras.optimizers.SGD(0.1)\nimage = tf.Variable(1.0)\nheld = [image]\n"
        "for x in data:\n    with tf.GradientTape() as tape:\n        loss = image * x\n"
        "    g = tape.gradient(loss, {})\n    opt.apply_gradients({})\n"
    )
    text = plan_of(source.format("image", "[(g, image)]")).text
    assert "    g = tape.gradient(loss, [image])[0]\n" in text
    assert "hvd.broadcast_variables([image], root_rank=0)" in text
    several = plan_of(source.format("held", "zip(g, held)")).text
    assert "    g = tape.gradient(loss, held)\n" in several
    assert "hvd.broadcast_variables(held, root_rank=0)" in several


BY_HAND = "data = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)\nfor batch in data:\n    m.train_step(batch)\n"


@pytest.mark.parametrize("optimizer", ["tf.keras.optimizers.Adam(0.1)", "'adam'"])
def test_a_models_own_train_step_that_a_loop_alone_calls_is_a_step_of_that(optimizer: str) -> None:
    plan = plan_of(TF + OWN_STEP.format(with_="") + f"m = M()\nm.compile({optimizer})\n" + BY_HAND)
    assert {c.rule for c in changes(plan, "D1", "G1", "G2", "K7")} == {"D1", "G1", "G2"}
    assert "hvd.broadcast_variables([*m.variables, *m.optimizer.variables()], root_rank=0)" in plan.text
    assert (
        "(0.1 * hvd.size())" if "(" in optimizer else "Adam(learning_rate=0.001 * hvd.size())"
    ) in plan.text


def test_a_loop_that_calls_the_train_step_of_a_fitted_model_is_divided_too() -> None:
    """The text generation tutorial fits its model and then trains it by hand: with the fit's rate, on the same rows on all."""
    fitted = FITTED.replace("x, y", "data")
    data, loop = BY_HAND.split("\n", 1)
    plan = plan_of(TF + OWN_STEP.format(with_="") + f"{data}\n{fitted}{loop}")
    assert "data = shard_dataset(tf.data.Dataset.from_tensor_slices((a, b))).batch(4)\n" in plan.text
    assert not changes(plan, "G1", "G2")


def test_a_train_step_that_calls_that_of_its_base_is_not_called_by_hand() -> None:
    """Near miss: `fit` runs it, perhaps in another file."""
    derived = "class N(M):\n    def train_step(self, data):\n        return super().train_step(data)\n"
    plan = plan_of(TF + OWN_STEP.format(with_="") + derived + FITTED.replace("M()", "N()"))
    assert changes(plan, "K7")
    assert not changes(plan, "G1", "G2")


NESTED = """\
w, b = tf.Variable(tf.zeros([3, 1])), tf.Variable(0.0)
known = {known}
for x in data:
    with tf.GradientTape() as tape:
        loss = model(x @ w + b)
    g = tape.gradient(loss, {asked})
    opt.apply_gradients({applied})
"""


@pytest.mark.parametrize(
    ("known", "asked", "applied"),
    [
        ("{'w': w, 'b': b}", "known", "[(g['w'], w), (g['b'], b)]"),
        ("1", "[model.trainable_variables, [w, b]]", "zip(g[0] + g[1], model.trainable_variables + [w, b])"),
        ("[w, b]", "(known, model.trainable_variables)", "zip(g[0], known)"),
    ],
)
def test_gradients_of_lists_in_a_list_are_asked_for_in_one(known: str, asked: str, applied: str) -> None:
    text = plan_of(HEAD + NESTED.format(known=known, asked=asked, applied=applied)).text
    assert (
        f"    g = tf.nest.pack_sequence_as({asked}, tape.gradient(loss, tf.nest.flatten({asked})))\n" in text
    )
    if known[0] == "{":
        assert "hvd.broadcast_variables(tf.nest.flatten(known), root_rank=0)" in apart(text)


@pytest.mark.parametrize(
    ("known", "asked"), [("[w, b]", "known"), ("{'w': w}", "list(known.values())"), ("1", "[*[w], b]")]
)
def test_one_list_is_asked_for_as_it_is(known: str, asked: str) -> None:
    source = NESTED.format(known=known, asked=asked, applied=f"zip(g, {asked})")
    assert f"    g = tape.gradient(loss, {asked})\n" in plan_of(HEAD + source).text


def test_lists_that_are_made_anew_when_asked_again_are_refused() -> None:
    source = NESTED.format(known="1", asked="[made(), [w, b]]", applied="zip(g[1], [w, b])")
    refused(HEAD + source, "HVD006", "one list")
