"""What running a file does, told from its bytes."""

from __future__ import annotations

import pytest

from horovodize.workspace.at_import import does_something

NOTHING = [
    "",
    '"""Helpers."""\nimport os\n\n\ndef f():\n    return g()\n',
    "import logging\nlogger = logging.getLogger(__name__)\n",
    "import logging as l\nlogger: l.Logger = l.getLogger(__name__)\n",
    "from pathlib import Path\nHERE = Path(__file__).parent\nDATA = str(HERE / 'data')\n",
    "import re\nWORDS = re.compile(\n    r'\\w+',\n    re.ASCII,\n)\nNAMES = frozenset(['a'])\n",
    "import tensorflow as tf\ntf.random.set_seed(1)\nRATE = tf.constant(0.1)\n",
    "import os, sys\nsys.path.append(os.path.dirname(__file__))\n",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .model import Model\n",
    "from . import model\nprint('started')\n",
    "def train():\n    pass\n\n\nDEFAULT = 3\nNAME = 'train'\n",
]

SOMETHING = [
    "from .model import fit\nfit()\n",
    "from .model import fit as train\nhistory = train(1)\n",
    "import model\nmodel.fit()\n",
    "import team.model\nhistory = team.model.fit()\n",
    "import numpy as np\nfrom .model import fit\nresult = np.array([\n    1,\n    fit(),\n])\n",
    "from absl import app\n\n\ndef main(_):\n    pass\n\n\napp.run(main)\n",
    "import tensorflow as tf\n\n\ndef main(_):\n    pass\n\n\ntf.app.run()\n",
    "import threading\n\n\ndef train():\n    pass\n\n\nthreading.Thread(target=train).start()\n",
    "from .model import *\nhistory = fit()\n",
    "class Trainer:\n    pass\n\n\ntrainer = Trainer()\n",
    "if __name__ == '__main__':\n    main()\n",
    "for i in range(3):\n    step(i)\n",
    "import logging\n\n\ndef logging_of():\n    pass\n\n\nlog = logging_of()\n",
    "def print():\n    train()\n\n\nprint()\n",
    "exec(open('train.py').read())\n",
]


@pytest.mark.parametrize("text", NOTHING)
def test_what_only_prepares_does_nothing(text: str) -> None:
    assert not does_something(text.encode())
    assert not does_something(text.replace("\n", "\r\n").encode())


@pytest.mark.parametrize("text", SOMETHING)
def test_what_may_run_the_files_own_code_does_something(text: str) -> None:
    assert does_something(text.encode())
    assert does_something(text.replace("\n", "\r\n").encode())
