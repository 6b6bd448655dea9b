"""K3 fit: Horovod's callbacks come first, and each of the user's goes where it belongs."""

from __future__ import annotations

import pytest

from ..pairs import MODEL, TF, changes, check, doubts, only, plan_of, untouched

HEAD = MODEL + "from tensorflow.keras import callbacks as c\nmodel.compile('sgd')\n"
H = "hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()"
LIST = f"[{H}]\n"
# Before the user's, where a line with all of them would be a long one.
OWN = "\n    hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n    hvd.callbacks.MetricAverageCallback(),\n    "


def root(callback: str) -> str:
    return f"*([{callback}] if hvd.rank() == 0 else [])"


# ---------------------------------------------------------------------- the list


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.fit(x, y)", f"callbacks = {LIST}model.fit(x, y, callbacks=callbacks)"),
        ("h = model.fit(x, y)", f"callbacks = {LIST}h = model.fit(x, y, callbacks=callbacks)"),
        ("h = model.fit(x, y, callbacks=None)", f"callbacks = {LIST}h = model.fit(x, y, callbacks=callbacks)"),
        ("model.fit(\n    x,\n    y,\n)", f"model.fit(\n    x,\n    y,\n    callbacks=[{H}],\n)"),
        ("model.fit(x,\n          y, epochs=3)",
         f"callbacks = {LIST}model.fit(x,\n          y, epochs=3, callbacks=callbacks)"),
        ("history = model.fit(x,\n                    y)",
         f"callbacks = {LIST}history = model.fit(x,\n                    y,\n                    callbacks=callbacks)"),
        ("callbacks = 3\nmodel.fit(x, y)", f"callbacks = 3\nhvd_callbacks = {LIST}model.fit(x, y, callbacks=hvd_callbacks)"),
        ("if model.fit(x, y): pass", f"if model.fit(x, y, callbacks=[{H}]): pass"),
        ("a = 1; model.fit(x, y); b = 2", f"a = 1; model.fit(x, y, callbacks=[{H}]); b = 2"),
        ("print(model.fit(x, y).history)", f"callbacks = {LIST}print(model.fit(x, y, callbacks=callbacks).history)"),
        ("def f():\n    return model.fit(x, y)\nf()",
         f"def f():\n    callbacks = {LIST}    return model.fit(x, y, callbacks=callbacks)\nf()"),
        ("model.fit(x, y, callbacks=[])", f"model.fit(x, y, callbacks=[{H}])"),
        ("model.fit(x, y, callbacks=[c.BaseLogger()])", f"model.fit(x, y, callbacks=[{OWN}c.BaseLogger()])"),
        ("model.fit(x, y, callbacks=(c.BaseLogger(),))", f"model.fit(x, y, callbacks=({OWN}c.BaseLogger(),))"),
        ("model.fit(x, y, callbacks=c.BaseLogger())", f"model.fit(x, y, callbacks=[{OWN}c.BaseLogger()])"),
        ("model.fit(x, y, 32, 5, 1, [c.BaseLogger()])", f"model.fit(x, y, 32, 5, 1, [{OWN}c.BaseLogger()])"),
        ("model.fit(x, y, callbacks=[c.BaseLogger(), c.TerminateOnNaN() , c.History()], epochs=3)",
         f"model.fit(x, y, callbacks=[{OWN}c.BaseLogger(),\n    stops_together(c.TerminateOnNaN(), 'on_train_batch_end') ,"
         "\n    c.History()], epochs=3)"),
        ("model.fit(x, y, callbacks=[c.BaseLogger(),  # first\n                           c.History()])",
         f"model.fit(x, y, callbacks=[{OWN}c.BaseLogger(),  # first\n                           c.History()])"),
        ("model.fit(x, y, callbacks=[\n    c.BaseLogger(),  # careful\n])",
         "model.fit(x, y, callbacks=[\n    hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n"
         "    hvd.callbacks.MetricAverageCallback(),\n    c.BaseLogger(),  # careful\n])"),
        ("model.fit_generator(g, steps_per_epoch=3)",
         f"callbacks = {LIST}model.fit_generator(g, steps_per_epoch=3, callbacks=callbacks)"),
    ],
)  # fmt: skip
def test_horovods_callbacks_come_first(before: str, after: str) -> None:
    check("K3", HEAD, before, after)


@pytest.mark.parametrize(
    ("before", "passed"),
    [
        ("mine = [c.BaseLogger()]\nprint(mine)\nmodel.fit(x, y, callbacks=mine)", "*mine"),
        ("mine = [c.BaseLogger()]\nmine.insert(0, c.BaseLogger())\nmodel.fit(x, y, callbacks=mine)", "*mine"),
        ("mine = None\nmodel.fit(x, y, callbacks=mine)", "*(mine or [])"),
        (
            "mine = [c.BaseLogger()] if careful else None\nmodel.fit(x, y, callbacks=mine)",
            "*(mine or [])",
        ),
        ("from m import mine\nmodel.fit(x, y, callbacks=mine)", "*(mine or [])"),
        ("mine = list()\nmodel.fit(x, y, callbacks=mine)", "*(mine or [])"),
        ("mine = []\nmine = mine + [c.BaseLogger()]\nmodel.fit(x, y, callbacks=mine)", "*mine"),
        (
            "mine = [c.BaseLogger()]\nmine += [c.BaseLogger()]\nmodel.fit(x, y, callbacks=mine)",
            "*mine",
        ),
    ],
)
def test_a_list_with_a_name_is_taken_into_a_new_one(before: str, passed: str) -> None:
    text = only(plan_of(HEAD + before + "\n"), "K3")
    line = f"[{H}, {passed}]\n"
    after = f"\ncallbacks = {line}model.fit(x, y, callbacks=callbacks)\n"
    assert text == HEAD + before.rsplit("\n", 1)[0] + after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("mine = [c.BaseLogger()]\n", f"mine = [{H}, c.BaseLogger()]\n"),
        (
            "mine = []\nif x:\n    mine.append(c.BaseLogger())\n",
            f"mine = [{H}]\nif x:\n    mine.append(c.BaseLogger())\n",
        ),
    ],
)
def test_a_list_that_is_passed_once_is_extended_where_it_is_made(before: str, after: str) -> None:
    fit = "model.fit(x, y, callbacks=mine)\n"
    assert only(plan_of(HEAD + before + fit), "K3") == HEAD + after + fit


@pytest.mark.parametrize(
    "source",
    [
        "mine = [c.BaseLogger()]\nfor k in range(3):\n    model.fit(x, y, callbacks=mine)\n",
        "mine = [c.BaseLogger()]\nmodel.fit(x, y, callbacks=mine)\nmodel.fit(y, x, callbacks=mine)\n",
        "def train(mine=[c.BaseLogger()]):\n    model.fit(x, y, callbacks=mine)\ntrain()\ntrain()\n",
    ],
)
def test_each_fit_needs_callbacks_that_have_not_broadcast_yet(source: str) -> None:
    text = only(plan_of(HEAD + source), "K3")
    fits = source.count("model.fit")
    assert text.count("callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)") == fits
    assert "mine = [hvd" not in text
    assert "mine=[hvd" not in text


def test_one_callback_with_a_name_is_no_list() -> None:
    check(
        "K3",
        HEAD,
        "mine = c.BaseLogger()\nmodel.fit(x, y, callbacks=mine)",
        f"mine = c.BaseLogger()\nmodel.fit(x, y, callbacks=[{OWN}mine])",
    )


def test_the_users_list_is_not_changed_for_a_second_fit() -> None:
    source = (
        HEAD + "mine = [c.BaseLogger()]\nmodel.fit(x, y, callbacks=mine)\nmodel.fit(x, y, callbacks=mine)\n"
    )
    text = plan_of(source).text
    assert text.count("BroadcastGlobalVariablesCallback") == 2
    assert "mine = [c.BaseLogger()]\n" in text


# ---------------------------------------------------------------------- where each belongs


@pytest.mark.parametrize(
    ("folder", "own"),
    [
        ("'b'", "'b' if hvd.rank() == 0 else f'b-{hvd.rank()}'"),
        ("folder", "folder if hvd.rank() == 0 else folder + f'-{hvd.rank()}'"),
        ("'{}'", "'{}' if hvd.rank() == 0 else '{}' + f'-{hvd.rank()}'"),
    ],
)
def test_each_rank_resumes_from_a_backup_of_its_own(folder: str, own: str) -> None:
    """Rank 0 alone would go on at a later epoch, and the others would wait for it. It is asked."""
    plan = plan_of(f"{HEAD}model.fit(x, y, callbacks=[c.BackupAndRestore({folder})])\n")
    assert f"c.BackupAndRestore({own})" in plan.text.replace('"', "'")
    assert any("its own backup" in change.doubt for change in plan.to_confirm)


@pytest.mark.parametrize(
    "callback",
    [
        "ModelCheckpoint('m.h5')",
        "TensorBoard('logs')",
        "CSVLogger('log.csv')",
        "RemoteMonitor()",
    ],
)
def test_what_writes_stays_on_rank_0(callback: str) -> None:
    check(
        "K3",
        HEAD,
        f"model.fit(x, y, callbacks=[c.{callback}])",
        f"model.fit(x, y, callbacks=[{OWN}{root('c.' + callback)}])",
    )


@pytest.mark.parametrize(
    "callback",
    [
        "EarlyStopping(patience=2)",
        "ReduceLROnPlateau()",
        "LearningRateScheduler(lambda e, lr: lr)",
    ],
)
def test_what_steers_runs_on_every_rank(callback: str) -> None:
    check(
        "K3",
        HEAD,
        f"model.fit(x, y, callbacks=[c.{callback}])",
        f"model.fit(x, y, callbacks=[{OWN}c.{callback}])",
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("k = c.ModelCheckpoint('m')\nmodel.fit(x, y, callbacks=[k])",
         f"k = c.ModelCheckpoint('m')\nmodel.fit(x, y, callbacks=[{OWN}{root('k')}])"),
        ("model.fit(x, y, callbacks=c.ModelCheckpoint('m'))",
         f"model.fit(x, y, callbacks=[{OWN}{root('c.ModelCheckpoint(' + repr('m') + ')')}])"),
        ("k = c.ModelCheckpoint('m')\nmodel.fit(x, y, callbacks=k)",
         f"k = c.ModelCheckpoint('m')\nmodel.fit(x, y, callbacks=[{OWN}{root('k')}])"),
    ],
)  # fmt: skip
def test_a_writer_with_a_name_stays_on_rank_0_too(before: str, after: str) -> None:
    check("K3", HEAD, before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("mine = []\nmine.append(c.ModelCheckpoint('m'))\n",
         "mine = []\nif hvd.rank() == 0:\n    mine.append(c.ModelCheckpoint('m'))\n"),
        ("mine = [c.ModelCheckpoint('m'), c.BaseLogger()]\n",
         f"mine = [{root('c.ModelCheckpoint(' + repr('m') + ')')}, c.BaseLogger()]\n"),
        ("mine = []\nmine.insert(0, c.CSVLogger('m'))\n",
         "mine = []\nif hvd.rank() == 0:\n    mine.insert(0, c.CSVLogger('m'))\n"),
        ("mine = []\nmine.extend([c.CSVLogger('m')])\n",
         f"mine = []\nmine.extend([{root('c.CSVLogger(' + repr('m') + ')')}])\n"),
        ("mine = []\nmine += [c.CSVLogger('m')]\n", f"mine = []\nmine += [{root('c.CSVLogger(' + repr('m') + ')')}]\n"),
        ("def make():\n    made = [c.BaseLogger()]\n    made.append(c.CSVLogger('m'))\n    return made\nmine = make()\n",
         "def make():\n    made = [c.BaseLogger()]\n    if hvd.rank() == 0:\n        made.append(c.CSVLogger('m'))\n"
         "    return made\nmine = make()\n"),
        ("more = [c.CSVLogger('m')]\nmine = [c.BaseLogger()] + more\n",
         f"more = [{root('c.CSVLogger(' + repr('m') + ')')}]\nmine = [c.BaseLogger()] + more\n"),
        ("more = [c.CSVLogger('m')]\nmine = [c.BaseLogger(), *more]\n",
         f"more = [{root('c.CSVLogger(' + repr('m') + ')')}]\nmine = [c.BaseLogger(), *more]\n"),
        ("mine = [a for a in (c.BaseLogger(), c.CSVLogger('m')) if a]\n",
         f"mine = [a for a in (c.BaseLogger(), {root('c.CSVLogger(' + repr('m') + ')')}) if a]\n"),
    ],
)  # fmt: skip
def test_writers_that_are_added_to_a_list_stay_on_rank_0(before: str, after: str) -> None:
    text = only(plan_of(HEAD + before + "print(mine)\nmodel.fit(x, y, callbacks=mine)\n"), "K3")
    assert text.startswith(HEAD + after)


MAKE = "def make():\n    made = [c.BaseLogger()]\n    made.append(c.CSVLogger('m'))\n    return made\n"


@pytest.mark.parametrize(
    "fit",
    [
        "class Trainer:\n    def __init__(self):\n        self.mine = make()\n"
        "    def run(self):\n        model.fit(x, y, callbacks=self.mine)\nTrainer().run()\n",
        "given = {'callbacks': make()}\nmodel.fit(x, y, callbacks=given['callbacks'])\n",
        "given = dict(callbacks=make())\nmodel.fit(x, y, **given)\n",
        "given = {}\ngiven['callbacks'] = make()\nmodel.fit(x, y, callbacks=given['callbacks'])\n",
        "mine = make() or []\nmodel.fit(x, y, callbacks=mine)\n",
        "mine = make() if careful else []\nmodel.fit(x, y, callbacks=mine)\n",
        "mine = [a for a in make() if a]\nmodel.fit(x, y, callbacks=mine)\n",
    ],
)
def test_what_a_function_adds_to_its_list_stays_on_rank_0_wherever_the_list_is_kept(fit: str) -> None:
    text = plan_of(HEAD + MAKE + fit).text
    assert "    if hvd.rank() == 0:\n        made.append(c.CSVLogger('m'))\n" in text


def test_writers_in_a_dictionary_that_dict_makes_stay_on_rank_0() -> None:
    plan = plan_of(HEAD + "given = dict(epochs=3, callbacks=[c.CSVLogger('m')])\nmodel.fit(x, y, **given)\n")
    assert f"callbacks=[{root('c.CSVLogger(' + repr('m') + ')')}])" in plan.text
    assert not [note for note in plan.notes if note.rule == "K3"]


@pytest.mark.parametrize(
    "made",
    [
        "mine = [pick(a) for a in (c.BaseLogger(), c.CSVLogger('m'))]\n",
        "mine = [a for a in files for b in (c.CSVLogger('m'),)]\n",
    ],
)
def test_a_comprehension_that_makes_others_of_them_is_said(made: str) -> None:
    plan = plan_of(HEAD + "from m import files, pick\n" + made + "model.fit(x, y, callbacks=mine)\n")
    assert made in plan.text
    assert [d for d in doubts(plan, "K3") if "can't be seen" in d]


def test_a_list_that_is_passed_on_is_followed() -> None:
    source = HEAD + (
        "def train(callbacks):\n    model.fit(x, y, callbacks=callbacks)\n"
        "def main():\n    found = []\n    found.append(c.CSVLogger('m'))\n    train(found)\nmain()\n"
    )
    assert "    if hvd.rank() == 0:\n        found.append(c.CSVLogger('m'))\n" in only(plan_of(source), "K3")


def test_a_function_that_passes_its_list_to_itself_is_followed_once() -> None:
    source = HEAD + (
        "def train(callbacks, n):\n    model.fit(x, y, callbacks=callbacks)\n    if n:\n        train(callbacks, n - 1)\n"
        "train([c.CSVLogger('m')], 3)\n"
    )
    assert f"train([{root('c.CSVLogger(' + repr('m') + ')')}], 3)" in plan_of(source).text


# ---------------------------------------------------------------------- the user's own


def test_a_class_of_the_users_own_runs_on_every_rank() -> None:
    source = (
        HEAD
        + "class Mine(c.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n        print(epoch)\n"
    )
    text = plan_of(source + "model.fit(x, y, callbacks=[Mine()])\n").text
    assert f"callbacks=[{OWN}Mine()]" in text
    assert "        if hvd.rank() == 0:\n            print(epoch)\n" in text


def test_a_class_derived_from_a_writer_stays_on_rank_0() -> None:
    source = HEAD + "class Mine(c.ModelCheckpoint):\n    pass\nmodel.fit(x, y, callbacks=[Mine('m')])\n"
    assert root("Mine('m')") in plan_of(source).text


def test_a_lambda_that_writes_stays_on_rank_0_and_one_that_stops_does_not() -> None:
    writes = "c.LambdaCallback(on_epoch_end=lambda e, logs: out.write(str(logs)))"
    stops = "c.LambdaCallback(on_epoch_end=lambda e, logs: setattr(model, 'stop_training', e > 3))"
    sets = "c.LambdaCallback(on_epoch_end=lambda e, logs: model.optimizer.learning_rate.assign(0.1))"
    text = only(plan_of(HEAD + f"model.fit(x, y, callbacks=[{writes}, {stops}, {sets}])\n"), "K3")
    assert f"[{OWN}{root(writes)},\n    {stops},\n    {sets}]" in text


def test_what_can_not_be_seen_into_runs_on_every_rank_and_is_asked_about() -> None:
    plan = plan_of(HEAD + "from mine import Special\nmodel.fit(x, y, callbacks=[Special()])\n")
    assert f"callbacks=[{OWN}Special()]" in plan.text
    assert ["what it does can't be seen" in d for d in doubts(plan, "K3")] == [True]


def test_one_of_several_that_can_not_be_seen_into_is_asked_about() -> None:
    source = "from mine import Special\nmine = Special() if turns else c.TerminateOnNaN()\n"
    plan = plan_of(HEAD + source + "model.fit(x, y, callbacks=[mine])\n")
    assert any("what it does can't be seen" in d for d in doubts(plan, "K3"))


# ---------------------------------------------------------------------- which fits


def test_train_on_batch_takes_no_callbacks() -> None:
    plan = plan_of(HEAD + "for x, y in data:\n    model.train_on_batch(x, y)\n")
    assert not changes(plan, "K3")
    assert changes(plan, "K6")


def test_fits_of_others_are_left() -> None:
    source = HEAD + "from sklearn.svm import SVC\nSVC().fit(x, y)\nmodel.fit(x, y)\n"
    assert "SVC().fit(x, y)\n" in plan_of(source).text


def test_any_receiver_will_do() -> None:
    source = TF + (
        "def build():\n    m = tf.keras.Sequential([])\n    m.compile('sgd')\n    return m\nbuild().fit(x, y)\n"
    )
    assert "build().fit(shard(x), shard(y), callbacks=callbacks" in plan_of(source).text


def test_a_program_without_fit_gets_no_callbacks() -> None:
    untouched(
        "K3",
        MODEL
        + "w = tf.Variable(1.0)\nopt = o.SGD(0.1)\nfor _ in range(9):\n    opt.minimize(lambda: w * draw(), [w])\n",
    )


def test_batch_norm_statistics_are_taken_from_rank_0_after_fit() -> None:
    source = (
        MODEL
        + "model.add(tf.keras.layers.BatchNormalization())\nmodel.compile('sgd')\nh = model.fit(x, y)\nsave(h)\n"
    )
    text = plan_of(source).text
    assert text.index("h = model.fit(") < text.index(
        "hvd.broadcast_variables(model.non_trainable_variables, root_rank=0)\nsave(h)"
    )


@pytest.mark.parametrize(("saved", "sent"), [("'m.keras'", False), ("'other.keras'", True)])
def test_a_model_that_the_script_has_saved_itself_has_the_layers_that_it_makes(
    saved: str, sent: bool
) -> None:
    source = MODEL + f"model.save({saved})\nagain = tf.keras.models.load_model('m.keras')\nagain.fit(x, y)\n"
    assert ("non_trainable_variables" in plan_of(source).text) is sent


def test_batch_norm_statistics_of_a_returned_fit_come_by_callback() -> None:
    source = MODEL + (
        "model.add(tf.keras.layers.BatchNormalization())\nmodel.compile('sgd')\ndef train():\n"
        "    return model.fit(x, y)\ntrain()\n"
    )
    text = plan_of(source).text
    assert (
        "LambdaCallback(on_train_end=lambda logs: hvd.broadcast_variables(model.non_trainable_variables, root_rank=0))"
        in text
    )


@pytest.mark.parametrize(
    ("before", "fitted"),
    [
        ("", "callbacks=[{}]"),
        ("log = {}\n", "callbacks=[log]"),
        ("listed = [{}]\n", "callbacks=listed"),
    ],
)
def test_what_a_callback_of_rank_0_opens_needs_no_other_file_on_the_others(before: str, fitted: str) -> None:
    made = "tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda e, logs: open('log', 'a').write(str(e)))"
    text = plan_of(
        MODEL + "model.compile('sgd')\n" + before.format(made) + f"model.fit(x, y, {fitted.format(made)})\n"
    ).text
    assert "if hvd.rank() == 0 else []" in text
    assert "devnull" not in text


def test_what_one_opens_that_ends_training_is_rank_0s_own() -> None:
    stops = "lambda e, logs: setattr(model, 'stop_training', open('log', 'a').write(str(e)) > 9)"
    made = f"tf.keras.callbacks.LambdaCallback(on_epoch_end={stops})"
    text = plan_of(MODEL + "model.compile('sgd')\n" + f"model.fit(x, y, callbacks=[{made}])\n").text
    assert "devnull" in text or "/dev/null" in text
