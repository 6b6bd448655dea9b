"""G2 broadcast, K6 train_on_batch: once, after the first step, in the loop that takes the steps."""

from __future__ import annotations

import textwrap

import pytest

from ..pairs import MODEL, TF, apart, changes, check, plan_of, refused

HEAD = MODEL + "opt = o.SGD(0.1)\n"
V = "model.trainable_variables"
TRAIN = (
    "with tf.GradientTape() as tape:\n    loss = model(x)\n"
    f"opt.apply_gradients(zip(tape.gradient(loss, {V}), {V}))\n"
)
STEP = "def step(x):\n" + textwrap.indent(TRAIN, "    ")


def sending(objects: list[str]) -> str:
    """The line that broadcasts objects' variables."""
    if len(objects) == 1:
        return f"hvd.broadcast_variables({objects[0]}, root_rank=0)"
    elements = [o[1:-1] if o.startswith("[") else f"*{o}" for o in objects]
    return f"hvd.broadcast_variables([{', '.join(elements)}], root_rank=0)"


def block(*objects: str, flag: str = "first_batch", indent: int = 4) -> str:
    """The statements that broadcast objects' variables once."""
    lines = [f"if {flag}:"]
    rows: list[list[str]] = []
    for o in objects:
        if rows and len(sending([*rows[-1], o])) <= 100:
            rows[-1].append(o)
        else:
            rows.append([o])
    if len(rows) == 1 or len(objects) < 4:
        lines += [f"    {sending(row)}" for row in rows]
    else:
        lines += [f"    for variables in ({', '.join(objects)}):"]
        lines += ["        hvd.broadcast_variables(variables, root_rank=0)"]
    lines += [f"    {flag} = False"]
    return "".join(" " * indent + line + "\n" for line in lines)


BLOCK = block("model.variables", "opt.variables()")


def indented(text: str, by: int = 4) -> str:
    return textwrap.indent(text, " " * by)


# ---------------------------------------------------------------------- where


def test_after_the_step_in_its_loop() -> None:
    before = "for x in data:\n" + indented(TRAIN)
    check("G2", HEAD, before, "first_batch = True\n" + before + BLOCK)


def test_after_the_call_of_the_function_that_takes_the_step() -> None:
    loop = "for x in data:\n    step(x)\n"
    check("G2", HEAD + STEP, loop, "first_batch = True\n" + loop + BLOCK)


def test_the_flag_is_set_before_the_outermost_loop() -> None:
    loop = "for epoch in range(3):\n    for x in data:\n        step(x)\n"
    after = "first_batch = True\n" + loop + block("model.variables", "opt.variables()", indent=8)
    check("G2", HEAD + STEP, loop, after)


def test_a_name_for_what_is_trained_does_not_make_it_another_model_in_each_turn() -> None:
    step = "        with tf.GradientTape() as tape:\n            loss = model(x)\n        held = {}\n"
    step += "        opt.apply_gradients(zip(tape.gradient(loss, held), held))\n"
    loop = "for epoch in range(3):\n{}    for x in data:\n{}"
    named = loop.format("", step.format(V))
    after = block("model.variables", "opt.variables()", indent=8)
    check("G2", HEAD, named, "first_batch = True\n" + named + after)
    made = loop.format("    model = tf.keras.Sequential([])\n", step.format(V))
    assert "\n    first_batch = True\n" in plan_of(HEAD + made).text
    both = loop.format(
        "    second = tf.keras.Sequential([])\n", step.format(V + " + second.trainable_variables")
    )
    assert "\n    first_batch = True\n" in plan_of(HEAD + both).text


def test_in_a_while_loop() -> None:
    loop = "while True:\n    step(x)\n"
    check("G2", HEAD + STEP, loop, "first_batch = True\n" + loop + BLOCK)


def test_without_a_loop_there_is_no_flag() -> None:
    calls = "hvd.broadcast_variables([*model.variables, *opt.variables()], root_rank=0)\n"
    check("G2", HEAD + STEP, "step(x)", "step(x)\n" + calls, "print(model(x))\n")


def test_every_loop_has_a_flag_of_its_own() -> None:
    loop = "for x in data:\n    step(x)\n"
    second = block("model.variables", "opt.variables()", flag="first_batch_2")
    check(
        "G2",
        HEAD + STEP,
        loop + loop,
        "first_batch = True\n" + loop + BLOCK + "first_batch_2 = True\n" + loop + second,
    )


def test_the_flag_is_fresh() -> None:
    text = plan_of(HEAD + STEP + "first_batch = 'taken'\nfor x in data:\n    step(x)\n").text
    assert "hvd_first_batch = True\nfor x in " in text
    assert "first_batch = 'taken'\n" in text


@pytest.mark.parametrize("decorator", ["@tf.function", "@tf.function(experimental_relax_shapes=True)"])
def test_outside_a_traced_step(decorator: str) -> None:
    loop = "for x in data:\n    step(x)\n"
    check("G2", HEAD + decorator + "\n" + STEP, loop, "first_batch = True\n" + loop + BLOCK)


def test_outside_a_function_that_is_traced_by_a_call() -> None:
    loop = "for x in data:\n    fast(x)\n"
    check("G2", HEAD + STEP + "fast = tf.function(step)\n", loop, "first_batch = True\n" + loop + BLOCK)


def test_in_a_traced_loop_the_step_count_is_the_flag() -> None:
    epoch = "@tf.function\ndef epoch(data):\n    for x in data:\n" + indented(TRAIN, 8)
    counted = block("model.variables", "opt.variables()", flag="opt.iterations == 1", indent=8)
    counted = "".join(line for line in counted.splitlines(keepends=True) if "= False" not in line)
    check("G2", HEAD, epoch, epoch + counted, "for n in range(3):\n    epoch(data)\n")


def test_a_traced_loop_in_a_program_that_restores_is_refused() -> None:
    epoch = "@tf.function\ndef epoch(data):\n    for x in data:\n" + indented(TRAIN, 8)
    refused(
        HEAD + "tf.train.Checkpoint(model=model).restore('c')\n" + epoch + "epoch(data)\n",
        "HVD006",
        "checkpoint",
    )


def test_a_traced_step_that_nothing_calls_is_refused() -> None:
    refused(HEAD + "@tf.function\n" + STEP, "HVD006", "never called")


def test_a_result_that_is_bound_keeps_its_statement() -> None:
    loop = "for x in data:\n    loss, n = step(x), 1\n"
    check("G2", HEAD + STEP, loop, "first_batch = True\n" + loop + BLOCK, "    print(n)\n")


def test_a_result_of_apply_gradients_may_be_bound() -> None:
    before = "for x in data:\n" + indented(TRAIN.replace("opt.apply", "r = opt.apply"))
    check("G2", HEAD, before, "first_batch = True\n" + before + BLOCK)


@pytest.mark.parametrize("function", ["def main():\n    ", "async def main():\n    "])
def test_in_a_function_the_flag_is_local(function: str) -> None:
    loop = "for x in data:\n        step(x)\n"
    after = (
        function + "first_batch = True\n    " + loop + block("model.variables", "opt.variables()", indent=8)
    )
    check("G2", HEAD + STEP, function + loop, after, "main()\n")


def test_a_function_with_the_loop_that_is_called_in_a_loop_keeps_its_flag_between_calls() -> None:
    source = (
        HEAD
        + STEP
        + (
            'def epoch(data):\n    """One epoch."""\n    for x in data:\n        step(x)\n'
            "for n in range(3):\n    epoch(data)\n"
        )
    )
    text = plan_of(source).text
    assert "first_batch = True\n\n\ndef epoch" in text
    assert '    """One epoch."""\n    global first_batch\n    for x in ' in text
    assert text.count("global first_batch") == 1


def test_a_generator_that_is_kept_is_refused() -> None:
    refused(HEAD + STEP + "losses = (step(x) for x in data)\n", "HVD108", "statement")


@pytest.mark.parametrize(
    ("loop", "parted"),
    [
        ("for x in data: step(x)\n", "for x in data:\n    step(x)\n{}"),
        ("for x in data: step(x)  # all\n", "for x in data:\n    step(x)  # all\n{}"),
        ("for x in data:\n    step(x); n = 1\n", "for x in data:\n    step(x)\n{}    n = 1\n"),
        ("for x in data:\n    n = 1; step(x)\n", "for x in data:\n    n = 1\n    step(x)\n{}"),
        (
            "for x in data:\n    step(x) ;m = 2;  n = 1 # n\n",
            "for x in data:\n    step(x)\n{}    m = 2\n    n = 1 # n\n",
        ),
        ("for x in data: step(x); n = 1;\n", "for x in data:\n    step(x)\n{}    n = 1;\n"),
        (
            "for x in data:\n    step(\n        x\n    ); n = 1\n",
            "for x in data:\n    step(\n        x\n    )\n{}    n = 1\n",
        ),
    ],
)
def test_a_step_that_shares_its_line_gets_one_of_its_own(loop: str, parted: str) -> None:
    text = plan_of(HEAD + STEP + loop).text.replace("shard_batches(data)", "data")
    assert text.endswith(parted.format(BLOCK))


def test_both_arms_of_a_line() -> None:
    loop = "for x in data:\n    if x: step(x)\n    else: n = 1\n"
    text = plan_of(HEAD + STEP + loop).text
    assert "    if any_rank(x):\n        step(x)\n        if first_batch:\n" in text
    assert text.endswith("    else: n = 1\n")


def test_a_line_that_a_backslash_goes_on_with_is_parted() -> None:
    text = plan_of(HEAD + STEP + "for x in data:\n    step(x); \\\n    n = 1\n").text
    assert "    step(x)\n" in text
    assert text.endswith("    n = 1\n")


# ---------------------------------------------------------------------- what


@pytest.mark.parametrize(
    ("made", "variables", "broadcast"),
    [
        ("", "model.trainable_variables", ["model.variables"]),
        ("", "model.trainable_weights", ["model.variables"]),
        ("", "model.variables", ["model.variables"]),
        ("second = tf.keras.Sequential([])\n", "model.trainable_variables + second.trainable_variables",
         ["model.variables", "second.variables"]),
        ("w, b = make()\n", "[w, b]", ["[w, b]"]),
        ("weights = {'w': tf.Variable(1.0)}\n", "list(weights.values())", ["list(weights.values())"]),
        ("weights = {'w': tf.Variable(1.0)}\nbiases = {'b': tf.Variable(1.0)}\n",
         "list(weights.values()) + list(biases.values())", ["list(weights.values())", "list(biases.values())"]),
        ("held = make()\n", "held", ["held"]),
        ("held = model.trainable_variables\n", "held", ["model.variables"]),
    ],
)  # fmt: skip
def test_all_variables_of_what_is_trained(made: str, variables: str, broadcast: list[str]) -> None:
    loop = "for x in data:\n" + indented(TRAIN.replace(V, variables))
    if "model.variables" not in broadcast:  # else it would be what the loss is made with and no step trains
        loop = loop.replace("model(x)", "run(x)")
    plan = plan_of(HEAD + made + loop)
    assert block(*broadcast, "opt.variables()") in plan.text


def test_zip_that_is_bound_first_is_not_read_twice() -> None:
    loop = "for x in data:\n" + indented(
        f"with tf.GradientTape() as tape:\n    loss = model(x)\npairs = zip(tape.gradient(loss, {V}), {V})\n"
        f"opt.apply_gradients(pairs)\n"
    )
    check("G2", HEAD, loop, "first_batch = True\n" + loop + BLOCK)


def test_variables_that_are_local_to_the_step_are_said_by_their_model() -> None:
    step = (
        "def step(x):\n    with tf.GradientTape() as tape:\n        loss = model(x)\n    held = model.trainable_variables\n"
        "    opt.apply_gradients(zip(tape.gradient(loss, held), held))\n"
    )
    loop = "for x in data:\n    step(x)\n"
    check("G2", HEAD + step, loop, "first_batch = True\n" + loop + BLOCK)


def test_parameters_are_said_as_the_loop_calls_them() -> None:
    step = STEP.replace("step(x)", "step(net, adam, x)").replace("model", "net").replace("opt.", "adam.")
    loop = "for x in data:\n    step(model, opt, x)\n"
    check("G2", HEAD + step, loop, "first_batch = True\n" + loop + BLOCK)


def test_an_apply_of_ones_own_that_hands_gradients_to_an_optimizer_is_no_optimizers() -> None:
    wrapper = (
        "class Scheduled:\n    def __init__(self, optimizer):\n        self.optimizer = optimizer\n\n"
        "    def apply(self, grads, variables):\n        self.optimizer.apply_gradients(zip(grads, variables))\n\n\n"
    )
    step = TRAIN.replace("opt.apply_gradients(zip(", "scheduled.apply(").replace(f", {V}))", f", {V})")
    loop = "for x in data:\n" + indented(step)
    head = HEAD + wrapper + "scheduled = Scheduled(opt)\n"
    after = "first_batch = True\n" + loop + block("model.variables", "scheduled.optimizer.variables()")
    check("G2", head, loop, after)


def test_variables_that_are_no_models_are_said_as_they_are_handed_over() -> None:
    step = "def step(x, held):\n    with tf.GradientTape() as tape:\n        loss = model(x)\n"
    step += "    opt.apply_gradients(zip(tape.gradient(loss, held), held))\n"
    for given, said in (("model.layers", "model.layers"), (V, "model.variables"), ("w", "w")):
        loop = f"for x in data:\n    step(x, {given})\n"
        assert f"    hvd.broadcast_variables({said}, root_rank=0)\n" in apart(
            plan_of(HEAD + "w = []\n" + step + loop).text
        )


def test_a_step_for_two_models_through_one_function_gets_both() -> None:
    step = STEP.replace("step(x)", "step(net, adam, x)").replace("model", "net").replace("opt.", "adam.")
    source = HEAD + "second, other = tf.keras.Sequential([]), o.Adam()\n" + step
    source += "for x in data:\n    step(model, opt, x)\n    step(second, other, x)\n"
    assert (
        block("model.variables", "second.variables", "opt.variables()", "other.variables()")
        in plan_of(source).text
    )


def test_two_models_in_one_step_share_a_block() -> None:
    source = HEAD + "second, other = tf.keras.Sequential([]), o.Adam()\n"
    source += (
        "@tf.function\ndef step(x):\n"
        + indented(TRAIN)
        + indented(TRAIN.replace("model", "second").replace("opt.", "other."))
    )
    source += "for x in data:\n    step(x)\n"
    assert (
        block("model.variables", "second.variables", "opt.variables()", "other.variables()")
        in plan_of(source).text
    )


def test_two_models_in_two_loops_have_two_flags() -> None:
    source = HEAD + "second, other = tf.keras.Sequential([]), o.Adam()\n"
    source += "for x in data:\n" + indented(TRAIN)
    source += "for x in data:\n" + indented(TRAIN.replace("model", "second").replace("opt.", "other."))
    text = plan_of(source).text
    assert block("model.variables", "opt.variables()") in text
    assert block("second.variables", "other.variables()", flag="first_batch_2") in text


TRAINER = """\
class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([])
        self.opt = tf.keras.optimizers.SGD(0.1)

    def step(self, x):
        with tf.GradientTape() as tape:
            loss = self.model(x)
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.model.trainable_variables))
"""


def test_a_method_that_steps_in_a_method_that_loops() -> None:
    run = "\n    def run(self, data):\n        for x in data:\n            self.step(x)\n"
    after = "\n    def run(self, data):\n        first_batch = True\n        for x in data:\n            self.step(x)\n"
    after += block("self.model.variables", "self.opt.variables()", indent=12)
    check("G2", TF + TRAINER, run, after, "Trainer().run(data)\n")


def test_a_method_that_steps_in_a_loop_outside_is_said_by_the_object() -> None:
    plan = plan_of(TF + TRAINER + "t = Trainer()\nfor x in data:\n    t.step(x)\n")
    assert block("t.model.variables", "t.opt.variables()") in plan.text


def test_a_method_that_loops_and_is_called_in_a_loop_keeps_the_flag_on_the_object() -> None:
    run = "\n    def run(self, data):\n        for x in data:\n            self.step(x)\n"
    plan = plan_of(TF + TRAINER + run + "t = Trainer()\nfor n in range(3):\n    t.run(data)\n")
    assert "        self.first_batch = True\n" in plan.text
    assert (
        block("self.model.variables", "self.opt.variables()", flag="self.first_batch", indent=12) in plan.text
    )


def test_a_model_that_each_step_makes_is_sent_each_time() -> None:
    source = TF + (
        "def train(data):\n    def step(x):\n        net = tf.keras.Sequential([])\n        adam = tf.keras.optimizers.Adam()\n"
        "        with tf.GradientTape() as t:\n            loss = net(x)\n"
        "        adam.apply_gradients(zip(t.gradient(loss, net.trainable_variables), net.trainable_variables))\n"
        "    for x in data:\n        step(x)\ntrain(data)\n"
    )
    assert "\n        broadcast_new([*net.variables, *adam.variables()])\n" in plan_of(source).text


def test_a_model_for_each_fold_has_a_first_batch_for_each() -> None:
    source = TF + (
        "for fold in range(3):\n    net = tf.keras.Sequential([])\n    adam = tf.keras.optimizers.Adam()\n"
        "    for epoch in range(2):\n        for x in data:\n"
        "            with tf.GradientTape() as t:\n                loss = net(x)\n"
        "            adam.apply_gradients(zip(t.gradient(loss, net.trainable_variables), net.trainable_variables))\n"
    )
    text = plan_of(source).text
    assert "    first_batch = True\n    for epoch in range(2):\n" in text
    assert text.count("first_batch = True") == 1


def test_batch_norm_statistics_are_taken_from_rank_0_when_the_loop_ends() -> None:
    head = HEAD + "model.add(tf.keras.layers.BatchNormalization())\n"
    loop = "for x in data:\n    step(x)\n"
    plan = plan_of(head + STEP + loop + "print(model(x))\n")
    assert BLOCK + "hvd.broadcast_variables(model.non_trainable_variables, root_rank=0)\n" in plan.text


@pytest.mark.parametrize(("leaves", "sends"), [("return", "before"), ("break", "after")])
def test_batch_norm_statistics_are_taken_before_what_leaves_a_loop_that_never_ends(
    leaves: str, sends: str
) -> None:
    """After `while True`, which `return` alone leaves, nothing is ever reached."""
    head = HEAD + "model.add(tf.keras.layers.BatchNormalization())\n"
    train = (
        "def train(n):\n    i = 0\n    while True:\n        step(next(data))\n        i += 1\n"
        f"        if i == n:\n            {leaves}\n"
    )
    text = plan_of(head + STEP + train + "train(200)\nprint(model(x))\n").text
    sent = "hvd.broadcast_variables(model.non_trainable_variables, root_rank=0)"
    is_before = f"            {sent}\n            {leaves}\n" in text
    assert is_before is (sends == "before")
    assert (f"\n    {sent}\n" in text) is (sends == "after")


def test_batch_norm_statistics_of_a_traced_loop_are_taken_when_it_ends() -> None:
    head = HEAD + "model.add(tf.keras.layers.BatchNormalization())\n"
    epoch = "@tf.function\ndef epoch(data):\n    for x in data:\n" + indented(TRAIN, 8) + "    return 1\n"
    sent = "    hvd.broadcast_variables(model.non_trainable_variables, root_rank=0)\n    return 1\n"
    assert sent in plan_of(head + epoch + "for n in range(3):\n    epoch(data)\n").text
    assert sent not in plan_of(HEAD + epoch + "for n in range(3):\n    epoch(data)\n").text


@pytest.mark.parametrize("elsewhere", [False, True])
def test_helpers_of_a_models_own_train_step_are_left_to_the_callback_too(elsewhere: bool) -> None:
    """Where something else runs the helper as well, that has to broadcast."""
    program = TF + (
        "class M(tf.keras.Model):\n"
        "    def train_step(self, data):\n        self.update(data)\n        return {}\n"
        "    def update(self, x):\n        with tf.GradientTape() as tape:\n            loss = self(x)\n"
        "        g = tape.gradient(loss, self.trainable_variables)\n"
        "        self.optimizer.apply_gradients(zip(g, self.trainable_variables))\n"
        "m = M()\nm.compile(tf.keras.optimizers.SGD(0.1))\n"
    )
    program += "for x in data:\n    m.update(x)\n" if elsewhere else "m.fit(data)\n"
    plan = plan_of(program)
    assert bool(changes(plan, "G2")) == elsewhere
    assert len(changes(plan, "K7", "G1")) == 1


def test_a_models_own_train_step_is_left_to_the_callback() -> None:
    source = TF + (
        "class M(tf.keras.Model):\n    def train_step(self, data):\n        with tf.GradientTape() as tape:\n"
        "            loss = self.compute_loss(data)\n        grads = tape.gradient(loss, self.trainable_variables)\n"
        "        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))\n        return {}\n"
        "m = M()\nm.compile('sgd')\nm.fit(x, y)\n"
    )
    assert not changes(plan_of(source), "G2", "K6")


# ---------------------------------------------------------------------- K6

COMPILED = MODEL + "model.compile('sgd')\n"
BATCHES = block("model.variables", "model.optimizer.variables()")


@pytest.mark.parametrize(
    "call",
    [
        "model.train_on_batch(x, y)",
        "loss = model.train_on_batch(x, y)",
        "losses.append(model.train_on_batch(x, y))",
    ],
)
def test_train_on_batch_is_followed_by_a_broadcast(call: str) -> None:
    loop = f"for x, y in data:\n    {call}\n"
    check("K6", COMPILED + "losses = []\n", loop, "first_batch = True\n" + loop + BATCHES)


def test_a_gan_of_two_compiled_models_broadcasts_both() -> None:
    source = COMPILED + "gan = tf.keras.Sequential([])\ngan.compile('adam')\nfor x, y in data:\n"
    source += "    model.train_on_batch(x, y)\n    gan.train_on_batch(x, y)\n"
    expected = block(
        "model.variables", "gan.variables", "model.optimizer.variables()", "gan.optimizer.variables()"
    )
    assert expected in plan_of(source).text


def test_fit_generator_takes_callbacks_instead() -> None:
    plan = plan_of(COMPILED + "model.fit_generator(g, steps_per_epoch=3)\n")
    assert not changes(plan, "K6")
    assert changes(plan, "K3")


# ---------------------------------------------------------------------- a loop that picks the model

MANY = TF + (
    "models = [tf.keras.Sequential([tf.keras.layers.Dense(1)]) for _ in range(2)]\n"
    "opts = [tf.keras.optimizers.SGD(0.1) for _ in range(2)]\n"
)
PICKED = """\
        for model, opt in zip(models, opts):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            opt.apply_gradients(zip(gradients, model.trainable_variables))
"""


def test_the_flag_holds_until_every_model_that_a_loop_picks_had_its_first_step() -> None:
    text = plan_of(MANY + "for epoch in range(3):\n    for x, y in ds:\n" + PICKED).text
    assert "\nfirst_batch = True\nfor epoch in" in text
    assert (
        "\n            if first_batch:\n                hvd.broadcast_variables([*model.variables, " in text
    )
    assert text.endswith("\n        first_batch = False\n")
    assert text.count("first_batch = False") == 1


def test_models_that_are_made_anew_have_a_first_step_each() -> None:
    made = MANY[len(TF) :].replace("\n", "\n    ").rstrip(" ")
    text = plan_of(TF + "for fold in range(3):\n    " + made + "    for x, y in ds:\n" + PICKED).text
    assert "\n    first_batch = True\n    for x, y in" in text


def test_a_loop_that_picks_the_model_in_a_method() -> None:
    text = plan_of(
        TF + "NAMES = ('a', 'b')\nclass Trainer:\n    def __init__(self):\n"
        "        self.models = {n: tf.keras.Sequential([tf.keras.layers.Dense(1)]) for n in NAMES}\n"
        "        self.opts = {n: tf.keras.optimizers.SGD(0.1) for n in NAMES}\n"
        "    def step(self, x):\n        for n in NAMES:\n            with tf.GradientTape() as tape:\n"
        "                loss = tf.reduce_mean(self.models[n](x))\n"
        "            gradients = tape.gradient(loss, self.models[n].trainable_variables)\n"
        "            self.opts[n].apply_gradients(zip(gradients, self.models[n].trainable_variables))\n"
        "trainer = Trainer()\nfor x in ds:\n    trainer.step(x)\n"
    ).text
    assert "\n        self.first_batch = True\n" in text
    assert "\n            if self.first_batch:\n" in text
    assert "\n        self.first_batch = False\n" in text


# ---------------------------------------------------------------------- functions that take no step at first

GATHERED = """\
import tensorflow as tf


class Agent:
    def __init__(self):
        self.model, self.opt = tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.SGD(0.1)
        self.memory, self.count, self.size = [], 0, 32

    def store(self, x):
        self.memory.append(x)
        self.count += 1

    def train(self):
        if {test}:
            return
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(tf.stack(self.memory[-32:])) ** 2)
        self.opt.apply_gradients(zip(tape.gradient(loss, self.model.trainable_variables), self.model.trainable_variables))
        self.steps = 1


agent = Agent()
for x in data:
    agent.store(x)
    agent.train()
"""


@pytest.mark.parametrize("test", ["self.count < self.size", "len(self.memory) < 32"])
def test_a_function_that_takes_no_step_at_first_broadcasts_itself(test: str) -> None:
    text = plan_of(GATHERED.format(test=test)).text
    first = text.index("if self.first_batch:")
    assert text.index("apply_gradients") < first < text.index("self.steps = 1")
    assert "        self.first_batch = True\n" in text


@pytest.mark.parametrize("test", ["self.size == 0", "self.memory is None", "debug"])
def test_one_that_returns_by_a_setting_does_not(test: str) -> None:
    text = plan_of(GATHERED.format(test=test)).text
    assert text.index("agent.train()") < text.index("if first_batch:")


# ---------------------------------------------------------------------- models that are trained in part


@pytest.mark.parametrize(
    ("made", "picked"),
    [
        ("v = [w for w in model.trainable_variables if 'head' in w.name]\n", "v"),
        ("", "model.trainable_variables[-2:]"),
        ("", "model.layers[-1].trainable_variables"),
        ("", "model.get_layer('head').trainable_weights"),
        ("head = model.layers[-1]\n", "head.trainable_variables"),
        ("v = sum([l.trainable_variables for l in model.layers[2:]], [])\n", "v"),
        ("v = [w for l in model.layers for w in l.trainable_weights]\n", "v"),
        ("def head(m):\n    return [w for w in m.trainable_weights if 'head' in w.name]\n", "head(model)"),
        ("v = list(filter(chosen, model.trainable_variables))\n", "v"),
    ],
)
def test_what_is_not_trained_of_a_model_needs_rank_0s_values_too(made: str, picked: str) -> None:
    """Ranks computed with layers of their own random weights, and trained the rest for them."""
    loop = "for x in data:\n" + indented(TRAIN.replace(V, picked))
    check("G2", HEAD + made, loop, "first_batch = True\n" + loop + BLOCK)


@pytest.mark.parametrize("more", ["[tf.Variable(1.0)]", "others()"])
def test_variables_of_no_model_are_not_left_out(more: str) -> None:
    loop = "for x in data:\n" + indented(TRAIN.replace(V, "v"))
    text = plan_of(f"{HEAD}v = model.trainable_variables + {more}\n{loop}").text
    assert "hvd.broadcast_variables([*v, *opt.variables()], root_rank=0)" in text


ROUNDS = """\
from feeds import draw
critic = tf.keras.Sequential([tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(1)])
maker = tf.keras.Sequential([tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(2)])
opt, other = tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()
for step in range(10000):
    for _ in range(5):
        x, z = draw()
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(critic(maker(z)) - critic(x))
        opt.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(critic(maker(z)))
    other.apply_gradients(zip(tape.gradient(loss, maker.trainable_variables), maker.trainable_variables))
"""


def test_statistics_of_a_critic_are_sent_once_the_loop_ends_and_not_in_each_of_its_turns() -> None:
    text = plan_of(TF + ROUNDS).text
    sent = "hvd.broadcast_variables({}.non_trainable_variables, root_rank=0)\n"
    assert text.endswith("\n" + sent.format("critic") + sent.format("maker"))
    assert text.count("non_trainable_variables") == 2


SONNET = """\
import sonnet as snt
import tensorflow as tf
net = snt.nets.MLP([16, 1])
opt = snt.optimizers.{made}
{traced}
def step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(a) - b))
    params = net.trainable_variables
    opt.apply(tape.gradient(loss, params), params)
    return loss
{loop}
def train(data):
    for a, b in data:
        step(a, b)
train(tf.data.Dataset.from_tensor_slices((x, y)).batch(8))
"""


@pytest.mark.parametrize(
    ("made", "scaled"), [("SGD(0.1)", "SGD(0.1 * hvd.size())"), ("Adam(rate)", "Adam(rate * hvd.size())")]
)
def test_variables_of_sonnets_optimizers_are_a_property(made: str, scaled: str) -> None:
    """They were called, which is an error after the first step."""
    plan = plan_of(SONNET.format(made=made, traced="@tf.function", loop=""))
    assert "[*net.variables, *opt.variables]" in plan.text
    assert scaled in plan.text
    assert all(change.sure for change in plan.changes)


def test_in_a_traced_loop_nothing_tells_which_of_sonnets_steps_is_the_first() -> None:
    refused(SONNET.format(made="SGD(0.1)", traced="", loop="@tf.function"), "HVD006", "count no steps")


# ---------------------------------------------------------------------- steps of loops in other files


def test_a_method_that_nothing_here_calls_sends_after_its_first_step_only() -> None:
    """A library's class: what calls it is elsewhere, with each step. All was sent after each of them."""
    owner = (
        "class Agent:\n    def __init__(self):\n        self.seen = 0\n    def learn(self, x):\n"
        + indented(TRAIN, 8)
    )
    text = plan_of(HEAD + owner).text
    assert (
        "        self.first_batch = True\n        self.seen = 0\n" in text
        or "self.first_batch = True\n" in text
    )
    assert block("model.variables", "opt.variables()", flag="self.first_batch", indent=8) in text


def test_so_does_a_function() -> None:
    text = plan_of(HEAD + STEP).text
    assert "first_batch = True\n" in text
    assert "    global first_batch\n" in text
    assert BLOCK in text


def test_a_step_that_is_taken_once_has_no_flag() -> None:
    """Near miss: it is called here, and in no loop."""
    text = plan_of(HEAD + STEP + "step(x)\n").text
    assert "first_batch" not in text
    assert "hvd.broadcast_variables(" in text


def test_models_of_classes_within_a_class() -> None:
    """Both have a method of one name: which one a call runs goes by the class that `self.Generator(…)` makes an object of."""
    net = """\
    class {name}(tf.keras.Sequential):
        def __init__(self, rate):
            super().__init__([tf.keras.layers.Dense(1)])
            self.optimizer = tf.keras.optimizers.Adam(rate)
        @tf.function
        def step(self, x, other):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self(other(x)) ** 2)
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
"""
    gan = """\
    def __init__(self):
        self.g, self.d = self.Generator(1e-3), GAN.Discriminator(1e-3)
    def epoch(self, ds):
        for x in ds:
            self.d.step(x, self.g)
            self.g.step(x, self.d)
GAN().epoch(tf.data.Dataset.from_tensor_slices(rows).batch(8))
"""
    source = TF + "class GAN:\n" + net.format(name="Generator") + net.format(name="Discriminator") + gan
    made = plan_of(source).text
    assert made.count("tape = hvd.DistributedGradientTape(tape)") == 2
    for part in ("self.g", "self.d"):
        assert f"{part}.variables" in made
        assert f"{part}.optimizer.variables()" in made
