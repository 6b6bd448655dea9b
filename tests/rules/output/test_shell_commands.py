"""C6 and D4: commands that a program has the shell run."""

from __future__ import annotations

import pytest

from horovodize.rules.output import downloads, root_rank

from ..guarding import check, unchanged

RULES = (downloads.RULE, root_rank.RULE)
IMPORTS = "import os\nimport subprocess\n"


@pytest.mark.parametrize(
    "statement",
    [
        "os.system('nvidia-smi')",
        "os.system('clear')",
        "os.system(command)",
        "os.system(program + ' cp a b')",
        "os.system('ls | grep cp')",
        "os.system('python prepare.py > /dev/null 2>&1')",
        "subprocess.run([sys.executable, 'wget.py'])",
        "subprocess.Popen(['tensorboard', '--logdir', 'logs'])",
        "subprocess.Popen('wget http://a/b', shell=True)",
        "found = os.popen('wc -l data').read()",
        "shell.system('rm -rf logs')",
    ],
)
def test_what_only_looks_or_is_not_known(statement: str) -> None:
    assert unchanged(RULES, IMPORTS + statement + "\n").notes == []


def test_a_command_that_fetches_and_whose_status_is_used_is_said() -> None:
    (note,) = unchanged(RULES, IMPORTS + "failed = os.system('wget http://a/b')\n").notes
    assert "its value is used" in note


@pytest.mark.parametrize(
    "statement",
    [
        "os.system('cp train.py logs')",
        "os.system('cp %s %s' % (__file__, folder))",
        "os.system('mkdir -p ' + folder)",
        "os.system(f'rm -rf {folder}')",
        "os.system('mv {} {}'.format(a, b))",
        "os.system('cd out && PART=1 sudo /bin/rm -f a; ls')",
        "os.system('gsutil -m cp model.h5 gs://bucket/')",
        "os.system('gzip out.txt')",
        "subprocess.call('tar czf a.tgz out', shell=True)",
        "subprocess.run(['zip', '-r', name, 'out'], check=True)",
    ],
)
def test_what_changes_files_is_left_to_rank_0(statement: str) -> None:
    check(RULES, IMPORTS + statement + "\n", f"{IMPORTS}if hvd.rank() == 0:\n    {statement}\n")


@pytest.mark.parametrize(
    "statement",
    [
        "os.system('wget -q http://a/b.tgz && mkdir data')",
        "os.system('curl -O ' + url)",
        "subprocess.check_call(['tar', 'xzf', path])",
        "subprocess.run('unzip -o {}'.format(path), shell=True)",
        "os.system('gsutil cp gs://bucket/data.csv .')",
        "os.system('git clone http://a/b')",
        "os.system('gzip -d data.gz')",
        "os.system('python prepare.py > data.csv')",  # several that write one file would mix
        "os.system('perl score.pl < {} >> {}'.format(a, b))",
        "subprocess.call('sort a | uniq >b 2> log', shell=True)",
    ],
)
def test_what_brings_files_is_done_once_per_host_and_waited_for(statement: str) -> None:
    wait = 'hvd.broadcast(0, root_rank=0, name="downloaded")'
    after = f"{IMPORTS}if hvd.local_rank() == 0:\n    {statement}\n{wait}\n"
    check(RULES, IMPORTS + statement + "\n", after)


def test_a_command_that_has_a_name_is_known_by_what_it_is_made_of() -> None:
    wait = 'hvd.broadcast(0, root_rank=0, name="downloaded")'
    named = IMPORTS + "command = 'perl score.pl < {} > {}'.format(a, b)\n"
    after = f"{named}if hvd.local_rank() == 0:\n    os.system(command)\n{wait}\n"
    check(RULES, named + "os.system(command)\n", after)
    either = IMPORTS + "command = 'rm -rf a' if old else ask()\nos.system(command)\n"
    assert unchanged(RULES, either).notes == []


def test_a_test_whether_it_is_there_belongs_to_it() -> None:
    before = IMPORTS + "if not os.path.exists('data'):\n    os.system('unzip data.zip')\n"
    wait = 'hvd.broadcast(0, root_rank=0, name="downloaded")\n'
    check(RULES, before, before.replace("'data')", "'data') and hvd.local_rank() == 0") + wait)
