"""M1, M3, M4: a monitored session's hooks, its steps and its checkpoints."""

from __future__ import annotations

import pytest

from ..pairs import changes, check, doubts, only, plan_of, refused, untouched

WAIT = '    waiting.run(hvd.allreduce(tf.random_uniform([]), name="saved"))'

HEAD = (
    "import tensorflow.compat.v1 as tf\n"
    "loss = tf.square(tf.Variable(1.0) - rows())\n"
    "step = tf.train.get_or_create_global_step()\n"
    "train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)\n"
)
RUN = "while not s.should_stop():\n    s.run(train)\n"
B = "hvd.BroadcastGlobalVariablesHook(0)"


def root(hook: str) -> str:
    return f"*([{hook}] if hvd.rank() == 0 else [])"


# ---------------------------------------------------------------------- M1: the broadcast comes first


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("s = tf.train.MonitoredTrainingSession()", f"s = tf.train.MonitoredTrainingSession(hooks=[{B}], )"),
        ("s = tf.train.MonitoredTrainingSession(hooks=None)", f"s = tf.train.MonitoredTrainingSession(hooks=[{B}])"),
        ("s = tf.train.MonitoredTrainingSession(hooks=[])", f"s = tf.train.MonitoredTrainingSession(hooks=[{B}])"),
        ("s = tf.train.MonitoredTrainingSession(hooks=())", f"s = tf.train.MonitoredTrainingSession(hooks=({B},))"),
        ("s = tf.train.MonitoredTrainingSession(hooks=[h])", f"s = tf.train.MonitoredTrainingSession(hooks=[{B}, h])"),
        ("s = tf.train.MonitoredTrainingSession(hooks=(h,))", f"s = tf.train.MonitoredTrainingSession(hooks=({B}, h,))"),
        ("s = tf.train.MonitoredTrainingSession(hooks=[\n    h,\n])",
         f"s = tf.train.MonitoredTrainingSession(hooks=[\n    {B},\n    h,\n])"),
        ("s = tf.train.MonitoredTrainingSession('', True, None, None, [h])",
         f"s = tf.train.MonitoredTrainingSession('', True, None, None, [{B}, h])"),
        ("s = tf.train.SingularMonitoredSession([h])", f"s = tf.train.SingularMonitoredSession([{B}, h])"),
        ("s = tf.train.MonitoredSession(None, [h])", f"s = tf.train.MonitoredSession(None, [{B}, h])"),
        ("mine = [h]\ns = tf.train.MonitoredTrainingSession(hooks=mine)",
         f"mine = [h]\ns = tf.train.MonitoredTrainingSession(hooks=[{B}, *mine])"),
        ("mine = [h] if careful else None\ns = tf.train.MonitoredTrainingSession(hooks=mine)",
         f"mine = [h] if careful else None\ns = tf.train.MonitoredTrainingSession(hooks=[{B}, *(mine or [])])"),
        ("from m import mine\ns = tf.train.MonitoredTrainingSession(hooks=mine)",
         f"from m import mine\ns = tf.train.MonitoredTrainingSession(hooks=[{B}, *(mine or [])])"),
        ("s = tf.train.MonitoredTrainingSession(hooks=mine + [h])",
         f"s = tf.train.MonitoredTrainingSession(hooks=[{B}, *(mine + [h] or [])])"),
        ("s = tf.train.MonitoredTrainingSession(hooks=make())",
         f"s = tf.train.MonitoredTrainingSession(hooks=[{B}, *(make() or [])])"),
        ("s = tf.train.MonitoredTrainingSession(chief_only_hooks=[h])",
         f"s = tf.train.MonitoredTrainingSession(chief_only_hooks=[h] if hvd.rank() == 0 else None, hooks=[{B}])"),
        ("s = tf.train.MonitoredTrainingSession(chief_only_hooks=a if b else c)",
         f"s = tf.train.MonitoredTrainingSession(chief_only_hooks=(a if b else c) if hvd.rank() == 0 else None, hooks=[{B}])"),
    ],
)  # fmt: skip
def test_the_broadcast_comes_before_other_hooks(before: str, after: str) -> None:
    check("M1", HEAD, before, after, RUN)


def test_a_plain_session_gets_no_hooks() -> None:
    untouched(
        ("M1", "M3", "M4"),
        HEAD
        + "s = tf.Session()\ns.run(tf.global_variables_initializer())\nfor _ in range(9):\n    s.run(train)\n",
    )


def test_a_plain_session_beside_it_is_broadcast_too_if_it_trains() -> None:
    source = HEAD + "with tf.train.MonitoredTrainingSession() as s:\n    s.run(train)\n"
    other = "with tf.Session() as o:\n    o.run(tf.global_variables_initializer())\n    o.run({})\n"
    assert len(changes(plan_of(source + other.format("train")), "S4")) == 1
    assert changes(plan_of(source + other.format("loss")), "S4") == []


def test_an_empty_call_gets_hooks_and_config() -> None:
    text = plan_of(HEAD + "s = tf.train.MonitoredTrainingSession()\n" + RUN).text
    assert f"MonitoredTrainingSession(hooks=[{B}], config=config)\n" in text
    text = plan_of(HEAD + "s = tf.train.MonitoredSession()\n" + RUN).text
    creator = "tf.train.ChiefSessionCreator(config=config)"
    assert f"MonitoredSession(hooks=[{B}], session_creator={creator})\n" in text


def test_hooks_that_may_come_in_a_dict_are_asked_about() -> None:
    plan = plan_of(HEAD + "s = tf.train.MonitoredTrainingSession(config=None, **options)\n" + RUN)
    assert any("may pass hooks" in doubt for doubt in doubts(plan, "M1"))


def test_hooks_that_may_come_in_a_tuple_are_refused() -> None:
    refused(HEAD + "s = tf.train.MonitoredTrainingSession(*options)\n" + RUN, "HVD006", "may pass hooks")


def test_a_chiefs_hook_that_ends_training_runs_on_all_ranks() -> None:
    stop = "tf.train.StopAtStepHook(last_step=500)"
    check(
        ("M1", "M4"),
        HEAD,
        f"s = tf.train.MonitoredTrainingSession(chief_only_hooks=[{stop}, tf.train.StepCounterHook()])",
        f"s = tf.train.MonitoredTrainingSession(chief_only_hooks=[{stop}, {root('tf.train.StepCounterHook()')}], hooks=[{B}])",
        RUN,
    )


def test_the_end_that_hooks_decide_needs_no_agreement() -> None:
    assert "any_rank" not in plan_of(HEAD + "s = tf.train.MonitoredTrainingSession()\n" + RUN).text


# ---------------------------------------------------------------------- hooks of one's own

HOOK = """\
class Enough(tf.train.SessionRunHook):
    def after_run(self, context, values):
        self.n += 1
        {test}
            context.request_stop()
s = tf.train.MonitoredTrainingSession(hooks=[Enough()])
"""


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("if values.results < 0.1:", "if any_rank(values.results < 0.1):"),
        ("if time.time() > end:", "if any_rank(time.time() > end):"),
        ("if self.n > 100:", "if self.n > 100:"),
        ("if True:", "if True:"),
    ],
)
def test_a_hook_that_measures_ends_training_on_all_ranks(test: str, after: str) -> None:
    text = only(plan_of(HEAD + HOOK.format(test=test) + RUN), "M1")
    assert f"        {after}\n            context.request_stop()\n" in text


PATIENT = """\
import numpy as np
class Patient(tf.train.SessionRunHook):
    def begin(self):
        self.n, self.best, self.bad, self.losses, self.rate = 0, 1e9, 0, [], 0.1
    def before_run(self, context):
        return tf.train.SessionRunArgs(loss)
    def after_run(self, context, values):
        self.n += 1
        self.losses.append(values.results)
        if self.n % 50 == 0:
            mean = np.mean(self.losses)
            self.losses = []
            if mean < self.best:
                self.best, self.bad = mean, 0
            else:
                self.bad += 1
            if self.bad > 3:
                {then}
s = tf.train.MonitoredTrainingSession(hooks=[Patient()])
"""


@pytest.mark.parametrize(
    "then", ["context.request_stop()", "self.rate *= 0.5\n                context.session.run(set_rate)"]
)
def test_what_a_hook_counts_by_what_it_measures_is_decided_by_the_mean(then: str) -> None:
    """`bad += 1` under a test of the rank's own losses: it ended one rank alone, or gave it another rate."""
    rate = "r = tf.Variable(0.1)\nset_rate = r.assign(r * 0.5)\n"
    text = plan_of(HEAD + rate + PATIENT.format(then=then) + RUN).text
    assert "mean = mean_over_ranks(np.mean(self.losses))\n" in text
    assert "any_rank" not in text


def test_what_a_hook_counts_in_each_run_ends_training_on_all_ranks_and_is_asked_about() -> None:
    each = PATIENT.replace("if self.n % 50 == 0:", "if True:").replace(
        "np.mean(self.losses)", "values.results"
    )
    plan = plan_of(HEAD + each.format(then="context.request_stop()") + RUN)
    assert "if any_rank(self.bad > " in plan.text
    assert any("compares a value of its own" in c.doubt for c in plan.changes)


def test_what_a_hook_counts_by_runs_alone_is_the_same_on_all_ranks() -> None:
    """Near miss."""
    counted = PATIENT.replace("np.mean(self.losses)", "self.n").replace("values.results", "self.n")
    text = plan_of(HEAD + counted.format(then="context.request_stop()") + RUN).text
    assert "any_rank" not in text
    assert "mean_over_ranks" not in text


@pytest.mark.parametrize(
    "test",
    [
        "if self.n < 5: return\n        if values.results < 0.1:",
        "if values.results > 0.1:\n            pass\n        else:",
        "for v in values.results:",
    ],
)
def test_a_hook_whose_end_ranks_may_not_come_to_is_refused(test: str) -> None:
    refused(HEAD + HOOK.format(test=test) + RUN, "HVD006", "while the others wait")


def test_what_is_printed_from_a_run_stays_on_all_ranks_where_a_hook_ends_training() -> None:
    shown = (
        "while not s.should_stop():\n    s.run(train)\n    if a:\n        print(s.run(loss))\n    print(b)\n"
    )
    after = shown.replace("    print(b)\n", "    if hvd.rank() == 0:\n        print(b)\n")
    plan = plan_of(HEAD + HOOK.format(test="if self.n > 100:") + shown)
    assert plan.text.endswith(after)
    assert any("every rank prints this" in n.message for n in plan.notes)
    plan = plan_of(HEAD + "s = tf.train.MonitoredTrainingSession()\n" + shown)
    assert not [n for n in plan.notes if n.rule == "M1"]
    assert "    if hvd.rank() == 0:\n        if a:\n            print(s.run(loss))\n" in plan.text


def test_a_hook_that_prints_and_ends_training_runs_on_all_ranks() -> None:
    hook = HOOK.replace("tf.train.SessionRunHook", "tf.train.LoggingTensorHook").format(
        test="if values.results < 0.1:"
    )
    text = plan_of(HEAD + hook + RUN).text
    assert f"hooks=[{B}, Enough()]" in text
    assert "if any_rank(values.results < 0.1):" in text


def test_what_is_printed_beside_training_is_rank_0s() -> None:
    shown = "while not s.should_stop():\n    if a:\n        s.run(train)\n        print(b)\n"
    plan = plan_of(HEAD + HOOK.format(test="if self.n > 100:") + shown)
    assert plan.text.endswith("        if hvd.rank() == 0:\n            print(b)\n")


def test_what_is_printed_from_a_run_that_draws_a_batch_stays_on_all_ranks() -> None:
    head = HEAD.replace(
        "tf.square(", "tf.square(tf.data.Dataset.range(9).make_one_shot_iterator().get_next() - "
    )
    shown = "while not s.should_stop():\n    s.run(train)\n    print(s.run({}))\n"
    plan = plan_of(head + "s = tf.train.MonitoredTrainingSession()\n" + shown.format("loss"))
    assert plan.text.endswith("\n    print(s.run(loss))\n")
    plan = plan_of(head + "s = tf.train.MonitoredTrainingSession()\n" + shown.format("step"))
    assert plan.text.endswith("\n        print(s.run(step))\n")


def test_request_stop_elsewhere_is_nobodys_hook() -> None:
    untouched(
        "M3",
        HEAD + "class C:\n    def f(self, a):\n        if a.b(): coord.request_stop()\n"
        "s = tf.train.MonitoredTrainingSession()\n" + RUN,
    )


@pytest.mark.parametrize("name", ["stop_if_no_decrease_hook", "make_early_stopping_hook"])
def test_hooks_that_stop_one_rank_are_refused(name: str) -> None:
    hook = f"tf.estimator.experimental.{name}(e, f)"
    refused(HEAD + f"s = tf.train.MonitoredTrainingSession(hooks=[{hook}])\n" + RUN, "HVD006", "wait for it")


def test_a_nan_that_ends_one_rank_is_told() -> None:
    hook = "tf.train.NanTensorHook(loss, fail_on_nan_loss=False)"
    plan = plan_of(HEAD + f"s = tf.train.MonitoredTrainingSession(hooks=[{hook}])\n" + RUN)
    assert any("NaN" in n.message for n in plan.notes)
    hook = "tf.train.NanTensorHook(loss)"
    plan = plan_of(HEAD + f"s = tf.train.MonitoredTrainingSession(hooks=[{hook}])\n" + RUN)
    assert not any("NaN" in n.message for n in plan.notes)


# ---------------------------------------------------------------------- M3: steps


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tf.train.StopAtStepHook(last_step=20000)", "tf.train.StopAtStepHook(last_step=20000 // hvd.size())"),
        ("tf.train.StopAtStepHook(num_steps=500)", "tf.train.StopAtStepHook(num_steps=500 // hvd.size())"),
        ("tf.train.StopAtStepHook(30)", "tf.train.StopAtStepHook(max(1, 30 // hvd.size()))"),
        ("tf.train.StopAtStepHook(None, a + 900)", "tf.train.StopAtStepHook(None, max(1, (a + 900) // hvd.size()))"),
        ("tf.estimator.StopAtStepHook(last_step=args.steps)",
         "tf.estimator.StopAtStepHook(last_step=max(1, args.steps // hvd.size()))"),
    ],
)  # fmt: skip
def test_a_stop_hook_counts_the_steps_of_a_rank(before: str, after: str) -> None:
    tail = "\ns = tf.train.MonitoredTrainingSession(hooks=[h])\n"
    check("M3", HEAD, f"h = {before}", f"h = {after}", tail.lstrip() + RUN)


@pytest.mark.parametrize("hook", ["tf.train.StopAtStepHook()", "tf.train.StopAtStepHook(num_steps=None)"])
def test_a_stop_hook_without_steps_is_left_alone(hook: str) -> None:
    untouched("M3", HEAD + f"s = tf.train.MonitoredTrainingSession(hooks=[{hook}])\n" + RUN)


def test_steps_are_whole_when_data_is_not_split() -> None:
    source = (
        HEAD + "s = tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(last_step=900)])\n" + RUN
    )
    untouched("M3", source, split_data=False)


def test_a_last_step_counts_earlier_runs() -> None:
    session = "s = tf.train.MonitoredTrainingSession({}hooks=[tf.train.StopAtStepHook({}=900)])\n"
    resumed = plan_of(HEAD + session.format("checkpoint_dir='d', ", "last_step") + RUN)
    assert [n.rule for n in resumed.notes if "earlier runs" in n.message] == ["M3"]
    for first, steps in (
        ("", "last_step"),
        ("checkpoint_dir='d', ", "num_steps"),
        ("checkpoint_dir=None, ", "last_step"),
    ):
        plan = plan_of(HEAD + session.format(first, steps) + RUN)
        assert not [n for n in plan.notes if "earlier runs" in n.message]


# ---------------------------------------------------------------------- M4: rank 0 writes


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("s = tf.train.MonitoredTrainingSession(checkpoint_dir='d')",
         "s = tf.train.MonitoredTrainingSession(checkpoint_dir='d' if hvd.rank() == 0 else None)"),
        ("s = tf.train.MonitoredTrainingSession('', True, args.d, summary_dir=e)",
         "s = tf.train.MonitoredTrainingSession('', True, args.d if hvd.rank() == 0 else None, "
         "summary_dir=e if hvd.rank() == 0 else None)"),
        ("s = tf.train.MonitoredTrainingSession(checkpoint_dir=a if b else None)",
         "s = tf.train.MonitoredTrainingSession(checkpoint_dir=(a if b else None) if hvd.rank() == 0 else None)"),
        ("s = tf.train.SingularMonitoredSession(checkpoint_dir='d')",
         "s = tf.train.SingularMonitoredSession(checkpoint_dir='d' if hvd.rank() == 0 else None)"),
        ("s = tf.train.SingularMonitoredSession(checkpoint_filename_with_path='d/m-1')",
         "s = tf.train.SingularMonitoredSession(checkpoint_filename_with_path='d/m-1' if hvd.rank() == 0 else None)"),
        ("s = tf.train.MonitoredSession(tf.train.ChiefSessionCreator(checkpoint_dir='d'))",
         "s = tf.train.MonitoredSession(tf.train.ChiefSessionCreator(checkpoint_dir='d' if hvd.rank() == 0 else None))"),
    ],
)  # fmt: skip
def test_only_rank_0_has_the_directory(before: str, after: str) -> None:
    check("M4", HEAD, before, after, RUN)


@pytest.mark.parametrize(
    "session",
    [
        "tf.train.MonitoredTrainingSession(checkpoint_dir=None)",
        "tf.train.MonitoredTrainingSession(save_checkpoint_secs=60)",
        "tf.train.MonitoredTrainingSession(scaffold=tf.train.Scaffold(init_fn=f))",
        "tf.train.MonitoredSession(tf.train.ChiefSessionCreator())",
        "tf.train.MonitoredTrainingSession(hooks=[tf.train.NanTensorHook(loss), tf.train.FinalOpsHook(loss)])",
        "tf.train.MonitoredTrainingSession(hooks=[tf.train.FeedFnHook(f), tf.train.GlobalStepWaiterHook(5)])",
        "tf.train.MonitoredTrainingSession(hooks=[Mine()])",
    ],
)
def test_what_writes_nothing_is_left_alone(session: str) -> None:
    mine = "class Mine(tf.train.SessionRunHook):\n    pass\n"
    untouched("M4", HEAD + mine + f"s = {session}\n" + RUN)


SAVER = "tf.train.CheckpointSaverHook('d', save_steps=9)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"s = tf.train.MonitoredTrainingSession(hooks=[{SAVER}])",
         f"s = tf.train.MonitoredTrainingSession(hooks=[{root(SAVER)}])"),
        (f"h = {SAVER}\ns = tf.train.MonitoredTrainingSession(hooks=[h])",
         f"h = {SAVER}\ns = tf.train.MonitoredTrainingSession(hooks=[{root('h')}])"),
        (f"hs = [Mine()]\nhs.append({SAVER})\ns = tf.train.MonitoredTrainingSession(hooks=hs)",
         f"hs = [Mine()]\nif hvd.rank() == 0:\n    hs.append({SAVER})\ns = tf.train.MonitoredTrainingSession(hooks=hs)"),
        (f"hs = [Mine()]\nhs += [{SAVER}]\ns = tf.train.MonitoredTrainingSession(hooks=hs)",
         f"hs = [Mine()]\nhs += [{root(SAVER)}]\ns = tf.train.MonitoredTrainingSession(hooks=hs)"),
        ("s = tf.train.MonitoredTrainingSession(hooks=[tf.train.LoggingTensorHook([loss], 9)])",
         f"s = tf.train.MonitoredTrainingSession(hooks=[{root('tf.train.LoggingTensorHook([loss], 9)')}])"),
        ("h = tf.train.ProfilerHook(9, output_dir='d')\ns = tf.train.MonitoredTrainingSession(hooks=[h])",
         "h = tf.train.ProfilerHook(9, output_dir='d') if hvd.rank() == 0 else None\n"
         f"s = tf.train.MonitoredTrainingSession(hooks=[{root('h')}])"),
        ("class S(tf.train.CheckpointSaverHook):\n    pass\ns = tf.train.MonitoredTrainingSession(hooks=[S()])",
         f"class S(tf.train.CheckpointSaverHook):\n    pass\ns = tf.train.MonitoredTrainingSession(hooks=[{root('S()')}])"),
    ],
)  # fmt: skip
def test_hooks_that_write_stay_on_rank_0(before: str, after: str) -> None:
    check("M4", HEAD + "class Mine(tf.train.SessionRunHook):\n    pass\n", before, after, RUN)


OTHER = HEAD + "from m import Other\ns = tf.train.MonitoredTrainingSession(hooks=[Other()])\n" + RUN


def test_a_hook_of_another_file_is_asked_about() -> None:
    plan = plan_of(OTHER)
    assert ["what it does can't be seen" in doubt for doubt in doubts(plan, "M4")] == [True]
    assert f"hooks=[{B}, Other()]" in plan.text


def test_a_hook_derived_from_one_of_another_file_is_asked_about() -> None:
    own = OTHER.replace("\ns = tf", "\nclass Mine(Other):\n    pass\ns = tf").replace("[Other()]", "[Mine()]")
    plan = plan_of(own)
    assert ["what it does can't be seen" in doubt for doubt in doubts(plan, "M4")] == [True]


def test_where_rates_and_steps_stay_it_is_told_to_leave_files_to_rank_0() -> None:
    plan = plan_of(OTHER, split_data=False, rate="keep")
    assert [n.message for n in plan.notes if n.rule == "M4"] == [
        "every rank runs this hook, and what it does can't be seen: check that only rank 0 writes files"
    ]
    assert changes(plan, "M4") == []


def test_what_a_hook_prints_is_rank_0s() -> None:
    hook = "class Mine(tf.train.SessionRunHook):\n    def end(self, session):\n        print('end')\n"
    text = plan_of(HEAD + hook + "s = tf.train.MonitoredTrainingSession(hooks=[Mine()])\n" + RUN).text
    assert "        if hvd.rank() == 0:\n            print('end')\n" in text


def test_ranks_wait_for_the_checkpoint_that_rank_0_saves() -> None:
    restored = "with tf.Session() as other:\n    saver.restore(other, tf.train.latest_checkpoint(args.d))\n"
    session = "with tf.train.MonitoredTrainingSession(checkpoint_dir={}) as s:\n    s.run(train)\n"
    plan = plan_of(HEAD + session.format("args.d") + restored)
    assert plan.text.endswith(f"    {WAIT}\n    saver.restore(other, tf.train.latest_checkpoint(args.d))\n")
    assert plan.text.count(WAIT) == 1
    for directory in ("None", "args.other"):
        assert WAIT not in plan_of(HEAD + session.format(directory) + restored).text
    assert WAIT not in plan_of(HEAD + restored + session.format("args.d")).text


def test_a_reading_that_not_all_ranks_come_to_is_told() -> None:
    source = HEAD + (
        "with tf.train.MonitoredTrainingSession(checkpoint_dir='d') as s:\n    s.run(train)\n"
        "if random.random() > 0.5:\n    p = tf.train.latest_checkpoint('d')\n"
    )
    plan = plan_of("import random\n" + source)
    assert any("may still be saving" in n.message for n in plan.notes)
    assert WAIT not in plan.text


# ---------------------------------------------------------------------- what is distributed already


@pytest.mark.parametrize(
    "session",
    [
        "tf.train.MonitoredTrainingSession(server.target, checkpoint_dir='d')",
        "tf.train.MonitoredTrainingSession(master=server.target)",
        "tf.train.MonitoredTrainingSession(is_chief=task == 0)",
        "tf.train.SingularMonitoredSession(master=server.target)",
        "tf.train.MonitoredSession(tf.train.ChiefSessionCreator(master=server.target))",
        "tf.train.MonitoredSession(tf.train.WorkerSessionCreator())",
    ],
)
def test_sessions_on_servers_are_refused(session: str) -> None:
    refused(HEAD + f"s = {session}\n" + RUN, "HVD202", "already")


@pytest.mark.parametrize("arguments", ["''", "master='', is_chief=True", "'', True"])
def test_defaults_that_are_written_out_are_no_servers(arguments: str) -> None:
    plan_of(HEAD + f"s = tf.train.MonitoredTrainingSession({arguments})\n" + RUN)
