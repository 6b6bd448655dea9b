"""D4: one process of each host downloads."""

from __future__ import annotations

import pytest

from horovodize.rules.output import downloads, root_rank

from ..guarding import HEAD, apply, check, unchanged
from ..pairs import plan_of

RULES = (downloads.RULE,)
WAIT = 'hvd.broadcast(0, root_rank=0, name="downloaded")'

# ---------------------------------------------------------------------- left alone


def test_what_does_not_download() -> None:
    result = unchanged(
        RULES,
        """
        import tensorflow_datasets as tfds
        x = np.load("x.npy")
        base = tf.keras.applications.ResNet50(weights=None)
        data = loader.load_data()
        here = tfds.load("mnist", download=False)
        """,
    )
    assert result.notes == []


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("base = tf.keras.applications.ResNet50()", "made twice"),
        ("f = lambda: tf.keras.datasets.mnist.load_data()", "no statement"),
        ("parts = [tf.keras.utils.get_file(u, u) for u in urls]", "no statement"),
        ("path = local or tf.keras.utils.get_file('a', u)", "no statement"),
        ("path = tf.keras.utils.get_file(next(names), u)", "evaluated twice"),
        ("def read(path=tf.keras.utils.get_file('a', u)): pass", "no statement"),
        ("if new: d = tf.keras.datasets.mnist.load_data()", "no statement"),
        ("a = 1; d = tf.keras.datasets.mnist.load_data()", "no statement"),
        ("if not os.path.exists('a'):\n    p = tf.keras.utils.get_file('a', u)", "some processes may never"),
        ("while not d:\n    d = tf.keras.datasets.mnist.load_data(time.time())", "evaluated twice"),
    ],
)
def test_a_note_where_nothing_can_be_done(statement: str, why: str) -> None:
    result = unchanged(RULES, statement + "\n")
    assert len(result.notes) == 1
    assert why in result.notes[0]


def test_nothing_before_horovod_is_there() -> None:
    head = "from tensorflow.keras.datasets import mnist\nmnist.load_data()\nimport tensorflow as tf\n"
    source = "model = tf.keras.Sequential()\nmodel.compile('sgd')\n"
    assert unchanged(RULES, source, head.replace("mnist.load_data()\n", "data = 3\n")).notes == []


# ---------------------------------------------------------------------- before and after


def test_the_call_is_made_by_one_process_first() -> None:
    check(
        RULES,
        """
        (x, y), _ = tf.keras.datasets.mnist.load_data()
        """,
        f"""
        if hvd.size() > 1 and hvd.local_rank() == 0:  # one process per host downloads; the others then read its copy
            tf.keras.datasets.mnist.load_data()
        {WAIT}
        (x, y), _ = tf.keras.datasets.mnist.load_data()
        """,
    )


def test_neighbours_share_a_wait_but_not_what_one_of_them_binds() -> None:
    check(
        RULES,
        """
        import tensorflow_datasets as tfds
        def load(name):
            train = tfds.load(name, split="train")
            test = tfds.load(name, split="test")
            path = tf.keras.utils.get_file("a", origin)
            more = tf.keras.utils.get_file(path, origin)
        """,
        f"""
        import tensorflow_datasets as tfds
        def load(name):
            if hvd.size() > 1 and hvd.local_rank() == 0:  # one process per host downloads; the others then read its copy
                tfds.load(name, split="train")
                tfds.load(name, split="test")
                tf.keras.utils.get_file("a", origin)
            {WAIT}
            train = tfds.load(name, split="train")
            test = tfds.load(name, split="test")
            path = tf.keras.utils.get_file("a", origin)
            if hvd.size() > 1 and hvd.local_rank() == 0:  # one process per host downloads; the others then read its copy
                tf.keras.utils.get_file(path, origin)
            {WAIT}
            more = tf.keras.utils.get_file(path, origin)
        """,
    )


def test_text_comments_and_strings_of_the_call_stay() -> None:
    check(
        RULES,
        '''
        for name in names:
            path = pathlib.Path(tf.keras.utils.get_file(
                name,  # in the cache
                """http://host/
        data""",
            ))
        ''',
        f'''
        for name in names:
            if hvd.size() > 1 and hvd.local_rank() == 0:  # one process per host downloads; the others then read its copy
                tf.keras.utils.get_file(
                    name,  # in the cache
                    """http://host/
        data""",
                )
            {WAIT}
            path = pathlib.Path(tf.keras.utils.get_file(
                name,  # in the cache
                """http://host/
        data""",
            ))
        ''',
    )


def test_urlretrieve_is_left_to_one_process_with_its_test() -> None:
    check(
        RULES,
        """
        from urllib.request import urlretrieve
        urlretrieve(url, "data.csv")
        if not os.path.exists("more"):
            os.makedirs("more")
            urlretrieve(url, "more/data.csv")
        """,
        f"""
        from urllib.request import urlretrieve
        if hvd.local_rank() == 0:
            urlretrieve(url, "data.csv")
        {WAIT}
        if not os.path.exists("more") and hvd.local_rank() == 0:
            os.makedirs("more")
            urlretrieve(url, "more/data.csv")
        {WAIT}
        """,
    )


def test_rank_0_of_all_does_not_guard_what_each_host_does() -> None:
    result = apply(
        "import os\nimport wget\nimport tensorflow as tf\nmodel = tf.keras.Sequential()\nmodel.fit(1)\n"
        "if not os.path.exists('d'):\n    os.mkdir('d')\n    wget.download(url, 'd/a')\n",
        downloads.RULE,
        root_rank.RULE,
    )
    assert "if not os.path.exists('d') and hvd.local_rank() == 0:\n    os.mkdir('d')\n" in result.text
    assert "hvd.rank() == 0" not in result.text


def test_urlretrieve_to_a_file_of_its_own_is_no_matter() -> None:
    result = unchanged(RULES, "import urllib.request\npath, _ = urllib.request.urlretrieve(url)\n")
    assert result.notes == []


def test_what_urlretrieve_gives_may_be_what_it_was_given() -> None:
    check(
        RULES,
        """
        from urllib.request import urlretrieve
        path = os.path.join(folder, "data.csv")
        if not os.path.exists(path):
            def tell(count, size, total):
                print(count * size / total)
            path, _ = urlretrieve(url, path, tell)
            found = os.stat(path)
            print(found.st_size)
        path, _ = urlretrieve(url, path)
        name, _ = urlretrieve(url, "other.csv")
        rows = open(path).read() + open("other.csv").read()
        """,
        f"""
        from urllib.request import urlretrieve
        path = os.path.join(folder, "data.csv")
        if not os.path.exists(path) and hvd.local_rank() == 0:
            def tell(count, size, total):
                print(count * size / total)
            path, _ = urlretrieve(url, path, tell)
            found = os.stat(path)
            print(found.st_size)
        {WAIT}
        if hvd.local_rank() == 0:
            path, _ = urlretrieve(url, path)
        {WAIT}
        if hvd.local_rank() == 0:
            name, _ = urlretrieve(url, "other.csv")
        {WAIT}
        rows = open(path).read() + open("other.csv").read()
        """,
    )


@pytest.mark.parametrize(
    "text",
    [
        "name, _ = urlretrieve(url, path)\nrows = open(name)\n",
        "path, headers = urlretrieve(url, path)\nprint(headers)\n",
        "_, path = urlretrieve(url, path)\nprint(path)\n",
        "own.path, _ = urlretrieve(url, own.path)\n",
        "path = keep(urlretrieve(url, path))\n",
        "if not os.path.exists(path):\n    path, _ = urlretrieve(url, path)\n    size = os.stat(path)\nprint(size)\n",
        "if not os.path.exists(path):\n    def tell(*given): pass\n    path, _ = urlretrieve(url, path, tell)\ntell()\n",
    ],
)
def test_what_urlretrieve_gives_is_needed(text: str) -> None:
    result = unchanged(RULES, "from urllib.request import urlretrieve\npath = 'data.csv'\n" + text)
    assert len(result.notes) == 1


def test_a_print_does_not_hide_a_download() -> None:
    check(
        (downloads.RULE, root_rank.RULE),
        """
        print(len(tf.keras.datasets.mnist.load_data()))
        """,
        f"""
        if hvd.size() > 1 and hvd.local_rank() == 0:  # one process per host downloads; the others then read its copy
            tf.keras.datasets.mnist.load_data()
        {WAIT}
        data = tf.keras.datasets.mnist.load_data()
        if hvd.rank() == 0:
            print(len(data))
        """,
    )


def test_line_ends_quotes_tabs_and_no_comments() -> None:
    source = (
        "import tensorflow as tf\r\nm = tf.keras.Sequential()\r\nm.fit(1)\r\n"
        "def f():\r\n\td = tf.keras.datasets.mnist.load_data('a')\r\n"
    )
    assert apply(source, *RULES, comments=False).text == source.replace(
        "\td =",
        "\tif hvd.size() > 1 and hvd.local_rank() == 0:\r\n\t\ttf.keras.datasets.mnist.load_data('a')\r\n"
        "\thvd.broadcast(0, root_rank=0, name='downloaded')\r\n\td =",
    )


# ---------------------------------------------------------------------- archives


@pytest.mark.parametrize(
    "text",
    [
        "names = ZipFile('a.zip').namelist()\n",
        "frame.extractall('x')\n",
        "words = text.str.extract('a')\n",
        "with ZipFile('a.zip') as z:\n    x = z.read('x')\n",
    ],
)
def test_what_does_not_unpack(text: str) -> None:
    assert unchanged(RULES, "from zipfile import ZipFile\n" + text).notes == []


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("with ZipFile('a.zip') as z:\n    z.extractall('a')\n", True),
        (
            "with tarfile.open('a.tar') as t:\n    members = t.getmembers()\n    t.extractall('a', members=members)\n",
            True,
        ),
        ("shutil.unpack_archive('a.zip', 'a')\n", True),
        ("z = ZipFile('a.zip')\nz.extractall('a')\nnames = z.namelist()\n", False),
    ],
)
def test_one_process_of_a_host_unpacks(text: str, whole: bool) -> None:
    head = "from zipfile import ZipFile\nimport shutil, tarfile\n"
    lines = text.splitlines()
    inside = lines if whole else lines[1:2]
    guarded = "\n".join(["if hvd.local_rank() == 0:", *("    " + line for line in inside), WAIT])
    expected = guarded if whole else "\n".join([lines[0], guarded, lines[2]])
    check(RULES, head + text, f"{head}{expected}\n")


def test_an_archive_that_something_else_needs_is_open_everywhere() -> None:
    opened = "with ZipFile('a.zip') as z:\n    z.extractall('a')\n    names = z.namelist()\n"
    text = f"from zipfile import ZipFile\n{opened}print(names)\n"
    after = f"    if hvd.local_rank() == 0:\n        z.extractall('a')\n    {WAIT}\n"
    check(RULES, text, text.replace("    z.extractall('a')\n", after))


CALLED = """\
import os
import tensorflow as tf
from zipfile import ZipFile
def unpack(path):
    archive = ZipFile(path)
    archive.extractall("data")
{}    unpack("a.zip")
"""


@pytest.mark.parametrize(
    ("test", "waits"), [("if not os.path.exists('data'):\n", False), ("for _ in [0]:\n", True)]
)
def test_no_process_waits_where_others_may_find_the_files(test: str, waits: bool) -> None:
    plan = plan_of(CALLED.format(test) + TRAINED)
    assert ("hvd.broadcast(0, root_rank=0, name=" in plan.text) is waits
    assert any("may unpack this" in n.message for n in plan.notes) is not waits


TRAINED = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
"""


AGAIN = "(x, y), _ = tf.keras.datasets.mnist.load_data()\n"


@pytest.mark.parametrize(
    ("then", "guards"),
    [
        (AGAIN, 1),
        ("if big:\n    " + AGAIN, 1),
        ("from tensorflow import keras\nfor k in range(3):\n    z = keras.datasets.mnist.load_data()\n", 1),
        ("def later():\n    z = tf.keras.datasets.mnist.load_data()\nlater()\n", 2),
        ("z = tf.keras.datasets.mnist.load_data('mine.npz')\n", 2),  # another file
        ("z = tf.keras.datasets.cifar10.load_data()\n", 2),
    ],
)
def test_what_is_in_the_cache_by_now_is_not_waited_for_again(then: str, guards: int) -> None:
    between = "model.build((4, 9))\n"
    text = apply(HEAD + "big = True\n" + AGAIN + between + then, *RULES).text
    assert text.count(WAIT) == guards


def test_a_statement_over_several_lines_is_none_before_itself() -> None:
    assert apply(HEAD + AGAIN.replace(", _ =", ", (\n    u, v,\n) ="), *RULES).text.count(WAIT) == 1


def test_what_some_runs_leave_out_is_no_download_before() -> None:
    text = apply(
        HEAD + "import sys\nif len(sys.argv) > 1:\n    " + AGAIN + "model.build((4, 9))\n" + AGAIN, *RULES
    ).text
    assert text.count(WAIT) == 2
    path = "path = 'a'\nz = tf.keras.utils.get_file(path, u)\nmodel.build((4, 9))\npath = 'b'\n"
    assert apply(HEAD + path + "z = tf.keras.utils.get_file(path, u)\n", *RULES).text.count(WAIT) == 2
