"""Train a script alone and distributed, a few times each, in copies of its folder, and say whether it trains the same: equal
weights on all ranks, steps and rates, files, rows, and the loss against what other seeds give alone. The files stay as they
are."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from horovodize.cli.config import Configuration, add_option_flags
from horovodize.cli.inputs import add_output_file, shell_completed
from horovodize.cli.runner import CommandError, ExitStatus

if TYPE_CHECKING:
    from horovodize.cli.output import Console
    from horovodize.verifying.training import Trainer
    from horovodize.verifying.verdict import Verdict

HELP = "train a script alone and on ranks, and compare"
EXAMPLES = """\
horovodize verify train.py                                            # on 2 ranks
horovodize verify train.py -np 1,2,4 --format html -o report.html -- --epochs 2
horovodize verify train.py --distributed train_hvd.py                 # what somebody has distributed by hand
horovodize verify train.py --steps 100 --data-limit 5000
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shell_completed(
        parser.add_argument("path", metavar="SCRIPT", help="the script, as it trains alone"), "FILE"
    )
    parser.add_argument(
        "arguments", nargs="*", metavar="ARGUMENT", help="the script's own arguments, after --"
    )
    parser.add_argument(
        "-np", dest="sizes", metavar="N[,N…]", type=_sizes, default=(2,), help="numbers of ranks (default: 2)"
    )
    parser.add_argument(
        "--seeds", metavar="N", type=_count, default=3, help="runs alone, one a seed (default: 3)"
    )
    parser.add_argument(
        "--steps",
        metavar="K",
        type=_count,
        default=0,
        help="end every run after K steps of a rank (default: train to the end)",
    )
    parser.add_argument(
        "--data-limit",
        metavar="ROWS",
        type=_count,
        default=0,
        help="read ROWS rows only of keras.datasets, of tables read by NumPy and of pandas' read_csv",
    )
    shell_completed(
        parser.add_argument(
            "--distributed",
            metavar="FILE",
            help="verify this file, rather than what distributing the script makes",
        ),
        "FILE",
    )
    parser.add_argument("--limit", metavar="SECONDS", type=_count, default=600,
                        help="time for one run, after which it counts as stalled (default: 600)")  # fmt: skip
    parser.add_argument("--launcher", metavar="COMMAND", default="horovodrun",
                        help="what starts the ranks: horovodrun (default), mpirun, srun, or a command line")  # fmt: skip
    parser.add_argument("--format", choices=("text", "json", "html"), default="text", help="(default: text)")
    add_output_file(parser)
    shell_completed(
        parser.add_argument("--report", metavar="FILE", help="write the HTML page to FILE, too"), "FILE"
    )
    add_option_flags(parser, "split_data", "rate", "batch", "tensorflow")


def run(arguments: argparse.Namespace, console: Console) -> int:
    import tempfile
    from pathlib import Path

    from horovodize.cli.doctor import tell_problems
    from horovodize.running.ranks import CannotRun, interpreter
    from horovodize.verifying.page import as_page
    from horovodize.verifying.training import Trainer
    from horovodize.verifying.verdict import CouldNotRun, verify

    for path in filter(None, (arguments.output_file, arguments.report)):
        _check_writable(path)
    script = Path(arguments.path)
    distributed = Path(arguments.distributed) if arguments.distributed else None
    options = Configuration(arguments, console).settings(script.absolute().parent).options
    python = ""
    with tempfile.TemporaryDirectory(prefix="horovodize-verify-", ignore_cleanup_errors=True) as folder:
        try:
            python = interpreter(arguments.python or "", script.absolute().parent)
            trainer = Trainer(
                script=script,
                folder=Path(folder),
                python=python,
                options=options,
                distributed=distributed,
                arguments=arguments.arguments,
                steps=arguments.steps,
                data_limit=arguments.data_limit,
                limit=arguments.limit,
                launcher=arguments.launcher,
            )
            _tell_prepared(trainer, console)
            verdict = verify(
                arguments.path,
                trainer,
                arguments.sizes,
                seeds=arguments.seeds,
                rate=options.rate,
                tell=lambda text: console.message(f"{arguments.path}: training {text}"),
            )
            if arguments.report:
                Path(arguments.report).write_text(as_page(verdict), encoding="utf-8")
        except (CannotRun, CouldNotRun) as e:
            if python:
                tell_problems(python, max(arguments.sizes), "", console, explained=True)
            raise CommandError(str(e)) from e
        except OSError as e:
            raise CommandError(f"{e.filename or script}: {e.strerror or e}") from e
    for path in dict.fromkeys(trainer.touched):
        console.warning(f"{path}, which is too large to be copied, has changed while the script was training")
    _write(verdict, arguments.format, console)
    if not all(one.run.complete for one in verdict.judged):
        tell_problems(python, max(arguments.sizes), "", console, explained=False)
    return ExitStatus.OK if verdict.alike else ExitStatus.FINDINGS


_BEFORE = (
    ". What is compared is the script before it was distributed; with that text as before.py (from git, or your editor): "
    "horovodize verify before.py --distributed SCRIPT"
)


def _check_writable(path: str) -> None:
    """Raises CommandError before anything is trained, which takes minutes, rather than after it."""
    from pathlib import Path

    if Path(path).is_dir():
        raise CommandError(f"{path}: Is a directory")
    if not Path(path).absolute().parent.is_dir():
        raise CommandError(f"{path}: No such file or directory")


def _tell_prepared(trainer: Trainer, console: Console) -> None:
    """What is asked of the user comes first. Raises CommandError for a script that is refused, or needs no change."""
    prepared = trainer.prepared
    if prepared.refused:
        first = prepared.refused[0]
        for problem in prepared.refused:
            console.at(problem.path, problem.place, problem.code, problem.message)
        raise CommandError(f"{first.path} can't be distributed, so there is nothing to verify")
    if trainer.distributed is None and not prepared.plans:
        found = prepared.message or "there is nothing to distribute"
        raise CommandError(
            f"{trainer.script}: {found}; nothing to verify{_BEFORE if prepared.message else ''}"
        )
    for document, change in prepared.to_confirm:
        place = document.place(change.span.start)
        console.at(document.path, place, change.rule, f"to confirm: {change.doubt}", "yellow")


def _write(verdict: Verdict, form: str, console: Console) -> None:
    if form == "json":
        console.json(verdict.as_json())
        return
    from horovodize.verifying.page import as_page
    from horovodize.verifying.text import as_text

    console.write(as_page(verdict) if form == "html" else as_text(verdict))


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers of ranks, like 1,2,4")
    return sizes


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)
