"""Starts a command on several ranks, listens to each of them, and ends them all."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Heard = Callable[["int | None", str], None]
_RANK = Path(__file__).parent / "rank.py"
_LOOK = 0.1  # seconds between looks at what the ranks have said
_GRACE = 8.0  # seconds to end in: horovodrun gives its processes five
_PART = 4000  # characters of an unfinished line, in which a progress bar is drawn over and over
_PREFIXED = re.compile(r"\[(\d+)\]<(?:stdout|stderr)>:(.*)", re.DOTALL)


class CannotRun(Exception):
    """Why nothing was started: a sentence for the user that says what to do."""


@dataclass(frozen=True)
class RunResult:
    """How a run ended.

    status       0 where all ranks ended well; the launcher's otherwise
    statuses     of each rank that ended by itself or by a signal (negative, as `subprocess` says it)
    ended        when each rank ended, in seconds since 1970
    seconds      the whole run
    output       what each rank said; under None what the launcher did
    over_limit   it was ended because it took too long
    interrupted  it was ended by Ctrl-C"""

    status: int
    statuses: Mapping[int, int]
    ended: Mapping[int, float]
    seconds: float
    output: Mapping[int | None, str] = field(repr=False)
    over_limit: bool = False
    interrupted: bool = False


def run_ranks(
    command: Sequence[str | Path],
    ranks: int,
    *,
    python: str,
    folder: Path,
    hosts: str | None = None,
    launcher: str = "horovodrun",
    environment: Mapping[str, str] | None = None,
    on_line: Heard | None = None,
    on_part: Heard | None = None,
    on_idle: Callable[[], None] | None = None,
    limit: float | None = None,
    log: Path | None = None,
    elastic: Sequence[str] = (),
) -> RunResult:
    """Runs `python COMMAND…` on some ranks, or alone where `ranks` is 0: a plain process, without a launcher.

    command      the script and its arguments
    python       the user's interpreter; see `interpreter`
    folder       where to run
    hosts        as `horovodrun -H` wants them: "one:2,two:2"; None for this machine
    launcher     "horovodrun", "mpirun", "srun", or a command line that ends where ours begins ("mpirun -np 4 --oversubscribe")
    environment  instead of this process's own
    on_line      is given each line as it comes, without its end, and the rank (None: the launcher itself)
    on_part      is given the end of a line that isn't finished and has grown, such as a progress bar, and the rank
    on_idle      is called some times a second
    limit        seconds after which all is ended
    elastic      horovodrun's options for ranks that come and go: that one died doesn't make the run fail
    log          a folder that keeps `rank-N.txt`; with ranks on other machines, one that they see, too

    Ctrl-C ends all ranks, and the result says so. SIGTERM and SIGHUP, by which editors end what they started, do the same.
    No process stays. Raises CannotRun."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_ended_as_by_ctrl_c())
        if log is None:
            said = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="horovodize-ranks-")))
        else:
            log.mkdir(parents=True, exist_ok=True)
            said = log.absolute()
            for old in said.glob("rank-*"):
                old.unlink()
        around = dict(os.environ if environment is None else environment)
        around["PATH"] = os.pathsep.join([os.path.dirname(python), around.get("PATH", os.defpath)])
        around["PYTHONUNBUFFERED"] = "1"
        ours = [python, str(_RANK), str(said), python, *map(str, command)]
        line = [*launch_line(launcher, ranks, hosts, around, elastic), *ours] if ranks else ours
        run = _Run(line, folder, around, said, on_line, on_part, on_idle)
        return run.result(limit, may_die=bool(elastic))


@contextlib.contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt: the ranks have sessions of their own, and would go on without us."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = [(number, signal.signal(number, signal.default_int_handler)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def launch_line(
    launcher: str, ranks: int, hosts: str | None, environment: Mapping[str, str], elastic: Sequence[str] = ()
) -> list[str]:
    """The words before the interpreter. Raises CannotRun where the launcher isn't there."""
    words = shlex.split(launcher)
    name = words[0] if words else ""
    path = shutil.which(name, path=environment.get("PATH"))
    if path is None:
        hint = "--launcher names another"
        if name == "horovodrun":
            hint = "install Horovod for this interpreter, or name another with --python"
        raise CannotRun(f"there is no {name or 'launcher'} on the PATH: {hint}")
    base = os.path.basename(name)
    count = str(ranks)
    if len(words) > 1:
        return [path, *words[1:]]
    if elastic and base != "horovodrun":
        raise CannotRun(f"{base} starts a fixed number of ranks: elastic ones need horovodrun")
    if base == "horovodrun":
        return [path, "-np", count, *elastic, *(["-H", hosts] if hosts else []), "--gloo"]
    if base in ("mpirun", "mpiexec"):
        return [path, "-np", count, *(["-H", hosts] if hosts else []), "-x", "PATH", "-x", "LD_LIBRARY_PATH"]
    if base == "srun":
        names = ",".join(host.partition(":")[0] for host in hosts.split(",")) if hosts else ""
        return [path, "-n", count, *(["-w", names] if names else [])]
    return [path]


def interpreter(python: str = "", folder: Path | None = None) -> str:
    """The interpreter that scripts run with: the one that is named (or its environment's folder), else that of the settings of
    a folder, else VIRTUAL_ENV's, else `python` on the PATH. Raises CannotRun."""
    if not python and folder is not None:
        from horovodize.configuration import ConfigurationError, nearest_settings

        with contextlib.suppress(ConfigurationError):
            python = nearest_settings(folder, {}).python
    path = os.path.expanduser(python or os.environ.get("VIRTUAL_ENV", "")) or "python"
    if os.path.isdir(path):
        path = os.path.join(path, "bin", "python")
    found = shutil.which(path) or (sys.executable if not python and path == "python" else None)
    if found is None:
        raise CannotRun(f"there is no Python at {python or path}")
    return os.path.abspath(found)  # not the real path: a link in bin/ is what makes it an environment's


class _Run:
    """One run, from its start to its end."""

    def __init__(
        self,
        line: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        said: Path,
        on_line: Heard | None,
        on_part: Heard | None,
        on_idle: Callable[[], None] | None,
    ) -> None:
        self.said, self.on_line, self.on_part, self.on_idle = said, on_line, on_part, on_idle
        self.readers: dict[int | None, _Reader] = {}
        launcher = said / "launcher.txt"
        self.readers[None] = _Reader(launcher)
        self.started = time.monotonic()
        try:
            with launcher.open("wb") as output:
                self.process = subprocess.Popen(
                    line,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as e:
            raise CannotRun(f"{line[0]} can't be started: {e.strerror or e}") from e

    def result(self, limit: float | None, *, may_die: bool = False) -> RunResult:
        over = interrupted = False
        try:
            while self.process.poll() is None:
                time.sleep(_LOOK)
                self._listen()
                if self.on_idle is not None:
                    self.on_idle()
                if limit is not None and time.monotonic() - self.started > limit:
                    over = True
                    self._end()
        except KeyboardInterrupt:
            interrupted = True
            self._end()
        finally:
            self._end()
        self._listen(last=True)
        statuses, ended = self._statuses()
        output = {rank: reader.text for rank, reader in self.readers.items()}
        status = self.process.returncode
        if not status and any(statuses.values()) and not may_die:
            status = 1
        seconds = time.monotonic() - self.started
        return RunResult(status, statuses, ended, seconds, output, over, interrupted)

    def _listen(self, last: bool = False) -> None:
        for path in sorted(self.said.glob("rank-*.txt")):
            self.readers.setdefault(int(path.stem.removeprefix("rank-")), _Reader(path))
        for rank, reader in sorted(self.readers.items(), key=lambda item: (item[0] is None, item[0] or 0)):
            before = reader.size
            for line in reader.lines(last):
                self._heard(rank, line)
            if self.on_part is not None and rank is not None and reader.size > before and reader.part:
                self.on_part(rank, reader.part)

    def _heard(self, rank: int | None, line: str) -> None:
        found = _PREFIXED.match(line) if rank is None else None
        if found is not None:  # a rank that doesn't see our folder
            rank, line = int(found[1]), found[2]
        if self.on_line is not None:
            self.on_line(rank, line)

    def _statuses(self) -> tuple[dict[int, int], dict[int, float]]:
        statuses: dict[int, int] = {}
        ended: dict[int, float] = {}
        for path in self.said.glob("rank-*.json"):
            rank = int(path.stem.removeprefix("rank-"))
            with contextlib.suppress(OSError, ValueError, KeyError):
                told = json.loads(path.read_text())
                statuses[rank], ended[rank] = int(told["status"]), float(told["at"])
        return dict(sorted(statuses.items())), ended

    def _end(self) -> None:
        """Ends the launcher and, with it or after it, all processes that it started on this machine."""
        if self.process.poll() is None:
            for number in (signal.SIGINT, signal.SIGTERM):
                self._signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(_GRACE / 2)
                    break
        self._signal(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_GRACE)
        patience = time.monotonic() + _GRACE
        # Again until there is none: one that is just being started escapes a look, and on a busy machine dying takes a moment.
        while (pids := _started_by(self.said)) and time.monotonic() < patience:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def _started_by(said: Path) -> list[int]:
    """The processes of a run whose folder this is: those that run `rank.py` for it, and what they started, which has it in its
    environment. Launchers give them sessions of their own, and their parents may be gone."""
    found = []
    needles = {str(_RANK).encode(), str(said).encode()}
    mark = b"HOROVODIZE_RUN=" + str(said).encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (
                (entry / "cmdline").read_bytes().split(b"\0")
            )  # of a dead one, that nobody has waited for, empty
            marked = mark in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if (marked or needles.issubset(words)) and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return sorted(found)


class _Reader:
    """Reads a file that grows, line by line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = 0
        self._rest = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def size(self) -> int:
        """How many bytes were read."""
        return self._at

    @property
    def part(self) -> str:
        """The end of a line that isn't finished."""
        return self._rest[-_PART:]

    def lines(self, last: bool = False) -> list[str]:
        """The lines that came since; with `last`, an unfinished one, too."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._at)
                data = file.read()
        except OSError:
            return []
        self._at += len(data)
        text = self._decoder.decode(data, last)
        self._parts.append(text)
        whole = self._rest + text
        found = whole.split("\n")
        self._rest = found.pop()
        if last and self._rest:
            found.append(self._rest)
            self._rest = ""
        return [line.rstrip("\r") for line in found]
