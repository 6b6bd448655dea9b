"""G4: training under a test of a number that files tell, which is rank 0's on all ranks."""

from __future__ import annotations

import pytest

from ..pairs import TF, plan_of, refused

HEAD = (
    "import glob, json, os, re, time\nimport numpy as np\n"
    + TF
    + "x, y = np.ones((960, 3)), np.ones(960)\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
    "model.compile('sgd', 'mse')\n"
)
NEWEST = """\
begin = 0
found = sorted(glob.glob('kept/*.h5'))
if found:
    model.load_weights(found[-1])
    begin = int(re.findall(r'[0-9]+', found[-1])[0])
"""
STATE = """\
begin = 0
if os.path.exists('state.json'):
    with open('state.json') as f:
        begin = json.load(f)['epoch']
"""
FIT = "model.fit(x, y, epochs=9, initial_epoch=begin, callbacks=[tf.keras.callbacks.TerminateOnNaN()])\n"
TOLD = "begin = hvd.broadcast_object(begin)\n"


@pytest.mark.parametrize("read", [NEWEST, STATE])
@pytest.mark.parametrize("test", ["begin < 9", "9 > begin", "0 <= begin < 9"])
def test_all_ranks_train_where_rank_0s_number_says_so(read: str, test: str) -> None:
    kept = "with open('state.json', 'w') as f:\n    json.dump({'epoch': 9}, f)\n"
    plan = plan_of(HEAD + read + f"if {test}:\n    {FIT}{kept}model.save('m.h5')\n")
    assert f"{TOLD}if {test}:\n" in plan.text
    assert plan.text.count(TOLD) == 1  # and not again for `initial_epoch`
    assert not plan.to_confirm


def test_a_number_that_is_set_between_is_asked_for_again() -> None:
    later = f"if begin < 3:\n    {FIT}    begin = int(os.path.getmtime('state.json'))\n{FIT}"
    assert plan_of(HEAD + NEWEST + later).text.count(TOLD) == 2


def test_a_number_is_asked_for_in_each_function_that_reads_it() -> None:
    functions = f"def first(begin):\n    {FIT}def second(begin):\n    {FIT}"
    assert plan_of(HEAD + NEWEST + functions + "first(begin)\nsecond(begin)\n").text.count(TOLD) == 2


@pytest.mark.parametrize(
    "test",
    [
        "os.path.getmtime('a') > os.path.getmtime('b')",  # no name that could be rank 0's
        "time.time() < begin",  # the clock, too
        "begin == 3",
        "found",
    ],
)
def test_other_tests_are_refused(test: str) -> None:
    refused(HEAD + NEWEST + f"if {test}:\n    {FIT}", "HVD205")


def test_ranks_that_are_told_a_number_have_read_the_file_and_wait_no_more() -> None:
    kept = "with open('state.json', 'w') as f:\n    json.dump({'epoch': 9}, f)\n"
    read = 'hvd.broadcast(0, root_rank=0, name="read")'
    told = plan_of(HEAD + STATE + f"if begin < 9:\n    {FIT}{kept}").text.replace("'", '"')
    assert TOLD in told
    assert read not in told
    shown = plan_of(HEAD + STATE + f"print(begin)\n{kept}model.fit(x, y)\n").text.replace("'", '"')
    assert read in shown
