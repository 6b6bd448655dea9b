"""S3: every session gets the GPU of its process, and a config of the user's own is pinned instead of replaced."""

from __future__ import annotations

import pytest

from ..pairs import check, doubts, plan_of, refused
from ..sessions import BUILT, INIT, LOOP

OPENED = INIT + LOOP
PIN = "visible_device_list=str(hvd.local_rank())"


def pinned(before: str, after: str, tail: str = OPENED, head: str = BUILT) -> None:
    check("S3", head, before, after, tail)


# ---------------------------------------------------------------------- near misses


def test_what_is_no_session_gets_no_config() -> None:
    plan = plan_of(BUILT + "import requests\nweb = requests.Session()\nsess = tf.Session()\n" + OPENED)
    assert "web = requests.Session()\n" in plan.text


def test_a_session_of_keras_is_left_alone() -> None:
    plan = plan_of(BUILT + "from tensorflow.keras import backend as K\nsess = K.get_session()\n" + OPENED)
    assert "sess = K.get_session()\n" in plan.text
    assert "ConfigProto" not in plan.text


def test_the_config_that_is_written_does_not_take_a_name_of_the_file() -> None:
    plan = plan_of(BUILT + "config = {'lr': 1}\nsess = tf.Session()\n" + OPENED)
    assert "config = {'lr': 1}\n" in plan.text
    assert "sess = tf.Session(config=config)\n" not in plan.text


# ---------------------------------------------------------------------- without a config


@pytest.mark.parametrize("opened", ["(tf).Session()", "(\n    tf.Session\n)()", "tf . Session()"])
def test_tensorflow_is_called_by_its_name_however_its_use_is_written(opened: str) -> None:
    plan = plan_of(f"{BUILT}sess = {opened}\n{OPENED}")
    assert "\nconfig = tf.ConfigProto(gpu_options=tf.GPUOptions(" in plan.text
    assert plan.text.count("import tensorflow") == 1


@pytest.mark.parametrize(
    ("opened", "expected"),
    [
        ("tf.Session()", "tf.Session(config=config)"),
        ("tf.InteractiveSession()", "tf.InteractiveSession(config=config)"),
        (
            "tf.Session(graph=tf.get_default_graph())",
            "tf.Session(graph=tf.get_default_graph(), config=config)",
        ),
        ("tf.Session('', None)", "tf.Session('', None, config=config)"),
        ("tf.Session(config=None)", "tf.Session(config=config)"),
    ],
)
def test_a_session_without_config(opened: str, expected: str) -> None:
    pinned(f"sess = {opened}", f"sess = {expected}")


def test_the_config_shows_one_gpu_and_lets_memory_grow() -> None:
    head = plan_of(BUILT + "sess = tf.Session()\n" + OPENED).text
    assert f"config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True, {PIN}))\n" in head


def test_a_config_that_is_too_long_for_a_line_takes_three() -> None:
    built = BUILT.replace("import tensorflow.compat.v1 as tf", "import tensorflow as tf").replace(
        "tf.", "tf.compat.v1."
    )
    head = plan_of(built + "sess = tf.compat.v1.Session()\n" + (OPENED).replace("tf.", "tf.compat.v1.")).text
    assert "config = tf.compat.v1.ConfigProto()\nconfig.gpu_options.allow_growth = True\n" in head
    assert "config.gpu_options.visible_device_list = str(hvd.local_rank())\n" in head


def test_a_with_and_several_sessions() -> None:
    pinned(
        """
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(train)
        sess = tf.Session()
        """,
        """
        with tf.Session(config=config) as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(train)
        sess = tf.Session(config=config)
        """,
    )


# ---------------------------------------------------------------------- the user's own


def test_a_config_bound_to_a_name_is_pinned_by_a_statement() -> None:
    pinned(
        "conf = tf.ConfigProto(allow_soft_placement=True)\nsess = tf.Session(config=conf)",
        "conf = tf.ConfigProto(allow_soft_placement=True)\n"
        "conf.gpu_options.visible_device_list = str(hvd.local_rank())\nsess = tf.Session(config=conf)",
    )


def test_an_inline_config_is_pinned_by_an_argument() -> None:
    pinned(
        "sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))",
        f"sess = tf.Session(config=tf.ConfigProto(log_device_placement=True, gpu_options=tf.GPUOptions({PIN})))",
    )


def test_gpu_options_that_are_there_get_the_device() -> None:
    pinned(
        "options = tf.GPUOptions(allow_growth=True)\nsess = tf.Session(config=tf.ConfigProto(gpu_options=options))",
        f"options = tf.GPUOptions(allow_growth=True, {PIN})\n"
        "sess = tf.Session(config=tf.ConfigProto(gpu_options=options))",
    )


def test_a_device_that_the_user_has_chosen_gives_way() -> None:
    pinned(
        "conf = tf.ConfigProto()\nconf.gpu_options.visible_device_list = '0'\nsess = tf.Session(config=conf)",
        "conf = tf.ConfigProto()\nconf.gpu_options.visible_device_list = str(hvd.local_rank())\n"
        "sess = tf.Session(config=conf)",
    )


def test_a_config_is_pinned_once_for_two_sessions() -> None:
    plan = plan_of(
        BUILT
        + "conf = tf.ConfigProto()\nother = tf.Session(config=conf)\nsess = tf.Session(config=conf)\n"
        + OPENED
    )
    assert plan.text.count("visible_device_list") == 1


# ---------------------------------------------------------------------- asked and refused


def test_a_config_from_elsewhere_is_pinned_before_the_session_and_asked_about() -> None:
    plan = check(
        "S3",
        BUILT + "from mine import conf\n",
        "sess = tf.Session(config=conf)",
        "conf.gpu_options.visible_device_list = str(hvd.local_rank())\nsess = tf.Session(config=conf)",
        OPENED,
    )
    assert doubts(plan, "S3")


def test_what_can_not_be_pinned_is_refused() -> None:
    refused(BUILT + "sess = tf.Session(**options)\n" + OPENED, "HVD006", "may pass a config")
    refused(BUILT + "sess = tf.Session(config=make() or None)\n" + OPENED, "HVD006", "can't be followed")


@pytest.mark.parametrize(
    "alias",
    [
        "tf1 = tf.compat.v1\n",
        "tf = tf1 = tf.compat.v1\n",
        "tf1 = tf.compat.v1 if hasattr(tf, 'compat') else tf\n",
        "tf1 = tf if tf.__version__ < '2' else tf.compat.v1\n",
        "tf = tf.compat.v1 if hasattr(tf, 'compat') else tf\ntf1 = tf\n",
        "if tf.__version__ > '2':\n    import tensorflow.compat.v1 as tf\ntf1 = tf\n",
    ],
)
def test_the_head_does_not_use_a_name_that_is_set_after_it(alias: str) -> None:
    """`tf1 = tf.compat.v1` comes after the imports, and so after the head."""
    body = (
        "w = tf1.get_variable('w', [1])\ntrain = tf1.train.AdamOptimizer(0.1).minimize(w)\n"
        "with tf1.Session() as sess:\n    sess.run(tf1.global_variables_initializer())\n    sess.run(train)\n"
    )
    plan = plan_of("import tensorflow as tf\n" + alias + body)
    assert "\nconfig = tf.compat.v1.ConfigProto()\n" in plan.text
    assert "import tensorflow as tf1" not in plan.text
