"""What hooks of a program's own trainer do with its count of steps: they find it by the trainer that they are handed, or that
hands itself to them, and are run by name or from tables of their classes."""

from __future__ import annotations

import pytest

from .pairs import TF, doubts, plan_of

HOOKS = (
    TF
    + """
model, target = tf.keras.Sequential([]), tf.keras.Sequential([])
ds = tf.data.Dataset.from_tensor_slices((a, b)).batch(4)
class Hook:
    trainer = None
    def after_step(self, trainer):
        pass
    def after_epoch(self, trainer):
        pass
class Save(Hook):
    def __init__(self, every=100):
        self.every = every
    def after_step(self, trainer):
        if trainer.step % self.every == 0:
            model.save_weights("model.h5")
class Decay(Hook):
    def __init__(self, total=500):
        self.total = total
    def after_step(self, trainer):
        trainer.opt.learning_rate.assign(0.1 * (1 - trainer.step / self.total))
class Follow(Hook):
    def after_step(self, trainer):
        for o, t in zip(model.variables, target.variables):
            t.assign(0.99 * t + 0.01 * o)
"""
)
TRAINER = """
class Trainer:
    def __init__(self, hooks):
        self.opt = tf.keras.optimizers.SGD(0.1)
        self.hooks = list(hooks)
        self.step, self.epoch = 0, 0
        for hook in self.hooks:
            hook.trainer = self
    def call(self, name):
        for hook in self.hooks:
            getattr(hook, name)(self)
    def update(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) - y)
        self.opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    def run(self):
        for self.epoch in range(9):
            for x, y in ds:
                self.update(x, y)
                self.step += 1
                self.call("after_step")
            self.call("after_epoch")
"""
LISTED = "Trainer([Save(), Decay(), Follow()]).run()\n"
ADDED = "trainer = Trainer([])\nfor name in names:\n    trainer.hooks.append(make(name))\ntrainer.run()\n"
DECORATED = HOOKS.replace(
    "class Hook:",
    "TABLE = {}\ndef register(cls):\n    TABLE[cls.__name__] = cls\n    return cls\nclass Hook:",
)
for name in ("Save", "Decay", "Follow"):
    DECORATED = DECORATED.replace(f"class {name}", f"@register\nclass {name}")
NAMED = DECORATED.replace(
    "def register(cls):\n    TABLE[cls.__name__] = cls\n    return cls\n",
    "def register(name):\n    def put(cls):\n        TABLE[name] = cls\n        return cls\n    return put\n",
).replace("@register", '@register("one")')
WRITTEN = HOOKS + "TABLE = {'save': Save, 'decay': Decay, 'follow': Follow}\n"
MAKE = "def make(name):\n    return TABLE[name]()\n"
FOUND = "def make(name):\n    return TABLE.get(name)()\n"


def test_what_steps_do_is_adapted(text: str) -> None:
    assert "if trainer.step % max(1, self.every // hvd.size()) == 0" in text
    assert "trainer.step * hvd.size() / self.total" in text
    assert "0.99 ** hvd.size() * t" in text


BY_NAME = "getattr(hook, name)(self)"
BY_NUMBER = 'self.call("after_step")'
IF_THERE = "run = getattr(hook, name, None)\n            if run is not None:\n                run(self)"
IF_IT_HAS = "if hasattr(hook, name):\n                getattr(hook, name)(self)"
UNLESS_THERE = "run = getattr(hook, name, None)\n            if not run:\n                continue\n            run(self)"
BY_END = TRAINER.replace('call("after_', 'call("')


@pytest.fixture(
    params=[
        HOOKS + TRAINER + LISTED,
        HOOKS + BY_END.replace(BY_NAME, 'getattr(hook, "after_" + name)(self)') + LISTED,
        HOOKS + BY_END.replace(BY_NAME, 'getattr(hook, f"after_{name}")(self)') + LISTED,
        HOOKS + TRAINER.replace(BY_NAME, "run = getattr(hook, name)\n            run(self)") + LISTED,
        HOOKS + TRAINER.replace(BY_NAME, IF_THERE) + LISTED,
        HOOKS + TRAINER.replace(BY_NAME, IF_IT_HAS) + LISTED,
        HOOKS + TRAINER.replace(BY_NAME, UNLESS_THERE) + LISTED,
        HOOKS + TRAINER.replace(BY_NUMBER, "[hook.after_step(self) for hook in self.hooks]") + LISTED,
        HOOKS + TRAINER.replace("list(hooks)", "[Follow()] + hooks") + LISTED.replace(", Follow()", ""),
        HOOKS
        + TRAINER.replace("list(hooks)", "[Follow()] + (hooks or [])")
        + LISTED.replace(", Follow()", ""),
        HOOKS
        + TRAINER.replace(
            "in self.hooks:\n            g", "in sorted([Follow()] + self.hooks, key=id):\n            g"
        )
        + LISTED.replace(", Follow()", ""),
        WRITTEN + MAKE + TRAINER + ADDED,
        WRITTEN + FOUND + TRAINER + ADDED,
        DECORATED + MAKE + TRAINER + ADDED,
        NAMED + MAKE + TRAINER + ADDED,
    ]
)
def text(request: pytest.FixtureRequest) -> str:
    plan = plan_of(request.param)
    assert not doubts(plan, "G5", "C5", "G7")
    return plan.text


KEPT = HOOKS.replace("(self, trainer)", "(self)").replace("trainer.", "self.trainer.")
CALLED = TRAINER.replace("getattr(hook, name)(self)", "getattr(hook, name)()")
BY_A_NAME = KEPT.replace("        if self.trainer.", "        trainer = self.trainer\n        if trainer.")
MADE_WITH_IT = (
    KEPT.replace("every=100", "trainer, every=100")
    .replace("self.every = every", "self.every, self.trainer = every, trainer")
    .replace("total=500", "trainer, total=500")
    .replace("self.total = total", "self.total, self.trainer = total, trainer")
)
MAKING = CALLED.replace("list(hooks)", "[Save(self), Decay(self), Follow()]")


@pytest.mark.parametrize(
    "program",
    [
        KEPT + CALLED + LISTED,
        BY_A_NAME + CALLED + LISTED,
        MADE_WITH_IT + MAKING.replace("            hook.trainer = self\n", "            pass\n") + LISTED,
    ],
)
def test_they_keep_the_trainer_that_hands_itself_over(program: str) -> None:
    plan = plan_of(program)
    assert "trainer.step % max(1, self.every // hvd.size()) == 0" in plan.text
    assert "self.trainer.step * hvd.size() / self.total" in plan.text
    assert not doubts(plan, "G5", "C5")


@pytest.mark.parametrize(
    "by", ['self.call("after_epoch")', "for hook in self.hooks:\n                hook.after_epoch(self)"]
)
def test_what_epochs_do_stays(by: str) -> None:
    program = HOOKS.replace("after_step(self", "after_x(self").replace("after_epoch(self", "after_step(self")
    program = program.replace("after_x(self", "after_epoch(self").replace("trainer.step", "trainer.epoch")
    plan = plan_of(program + TRAINER.replace('self.call("after_epoch")', by) + LISTED)
    assert "if trainer.epoch % self.every == 0" in plan.text
    assert "trainer.epoch / self.total" in plan.text
    assert "0.99 * t" in plan.text


def test_a_count_of_one_of_two_owners_is_asked_about() -> None:
    evaluator = (
        TRAINER.replace("class Trainer", "class Evaluator")
        .replace("self.update(x, y)", "model(x)")
        .replace('self.call("after_step")', "pass")
    )
    trained = "hooks = [Save(), Follow()]\nTrainer(hooks).run()\nEvaluator(hooks).run()\n"
    plan = plan_of(HOOKS.replace("trainer.step", "self.trainer.step") + TRAINER + evaluator + trained)
    assert any("self.trainer.step" in doubt for doubt in doubts(plan, "G5"))


def test_a_name_that_is_not_seen_may_be_any() -> None:
    called = TRAINER.replace('self.call("after_step")', "self.call(names[0])")
    plan = plan_of(HOOKS + called.replace('self.call("after_epoch")', "pass") + LISTED)
    assert doubts(plan, "C5")
    assert doubts(plan, "G5")


def test_what_comes_by_something_else_is_not_taken_for_a_step() -> None:
    """`if run is not None` of what is found now and then."""
    called = TRAINER.replace(
        "getattr(hook, name)(self)",
        "run = self.due(hook, name)\n            if run is not None:\n                run(self)",
    )
    due = (
        "    def due(self, hook, name):\n        return getattr(hook, name) if self.step % 7 == 0 else None\n"
    )
    plan = plan_of(HOOKS + called.replace("    def call", due + "    def call") + LISTED)
    assert "t.assign(0.99 * t + 0.01 * o)" in plan.text


def test_a_field_that_steps_set_is_asked_for_each_time() -> None:
    asked = TRAINER.replace(
        BY_NAME, "if getattr(self, 'is_due', False):\n                getattr(hook, name)(self)"
    )
    asked = asked.replace(
        "self.step += 1", "self.step += 1\n                self.is_due = self.step % 7 == 0"
    )
    assert "t.assign(0.99 * t + 0.01 * o)" in plan_of(HOOKS + asked + LISTED).text
