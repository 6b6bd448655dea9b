"""C6: what is written into a buffer is no file of the job: every rank writes, and reads, its own."""

from __future__ import annotations

import pytest

from horovodize.rules.output import root_rank

from ..guarding import HEAD, check, unchanged

RULES = (root_rank.RULE,)
IO = HEAD + "import io, csv, json, pickle, shutil, tempfile, zipfile\nfrom io import BytesIO, StringIO\n"


@pytest.mark.parametrize(
    "statement",
    [
        "plt.savefig('a.png')",  # a file
        "canvas.print_figure('a.png')",
        "plt.savefig(unknown)",  # not seen
        "print(buf.getvalue())",
        "open('a.png', 'wb').write(buf.getvalue())",
        "csv.writer(open('a.csv', 'w')).writerow([1])",
        "plt.savefig('a.png' if rank else buf)",  # a file in some cases
    ],
)
def test_files_are_rank_0_s(statement: str) -> None:
    head = IO + "buf = BytesIO()\n"
    result = check(RULES, f"{statement}\n", f"if hvd.rank() == 0:\n    {statement}\n", head)
    assert not result.reasons


@pytest.mark.parametrize(
    "program",
    [
        "buf = BytesIO()\nplt.savefig(buf, format='png')\n",
        "def jpeg(image):\n    buf = io.BytesIO()\n    image.save(buf, 'jpeg')\n    return buf.getvalue()\n",
        "with BytesIO() as buf:\n    np.save(buf, x)\n",
        "def put(image, where):\n    image.save(where)\nput(a, BytesIO())\nput(b, BytesIO())\n",
        "buf = StringIO()\nprint('a', file=buf)\njson.dump(x, buf)\npickle.dump(x, file=buf)\n",
        "buf = StringIO()\nrows = csv.writer(buf)\nrows.writerow([1])\nbuf.writelines(['a'])\n",
        "buf = BytesIO()\nwith zipfile.ZipFile(buf, 'w') as z:\n    z.writestr('a', b'b')\n",
        "with tempfile.NamedTemporaryFile() as f:\n    plt.savefig(f)\n",
        "class Sink:\n    def __init__(self):\n        self.buf = BytesIO()\n"
        "    def add(self, image):\n        image.save(self.buf)\n",
    ],
)
def test_every_rank_writes_into_its_own_buffer(program: str) -> None:
    unchanged(RULES, program, IO)
