"""Trains public scripts alone and distributed on 1, 2 and 4 ranks, and says a line of each: alike, differs (how),
refused (why), asked (what), crashed or stalls (where).

    make trials DIR=mirror [LIST=tests/trials/keras_3.toml] [ARGS="--only PART --json out.json"]

DIR holds a git directory `<owner>+<name>/repo` for each repository. Runs are kept in build/trials by what was run, so that
only scripts whose distributed text has changed are trained again."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from horovodize import runtime
from horovodize.distribute_project import distribute_script, file_plans
from horovodize.options import Options
from horovodize.plan import Plan, Refusal
from horovodize.source import Document
from tests.training.running import KERAS_2, KERAS_3, SEED, train
from tests.trials.digest import Rank, Run, digest
from tests.trials.judging import final, judge, scaling
from tests.trials.listed import Listed, read

HERE = Path(__file__).parent
SIZES = (1, 2, 4)
SEEDS = (SEED, SEED + 100, SEED + 200)


@dataclass
class Result:
    """What came of a script. `said` are the distributed plan's notes and doubts, or why it was refused."""

    name: str
    outcome: str = ""
    how: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    scaling: str = ""
    losses: dict[str, list[float]] = field(default_factory=dict)
    steps: dict[str, list[int]] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)

    def line(self) -> str:
        losses = "  ".join(
            f"{where} {' '.join(f'{v:.3g}' for v in them)}" for where, them in self.losses.items()
        )
        details = "; ".join(self.how)
        return " | ".join(part for part in (self.outcome, self.name, self.scaling, losses, details) if part)


class Trial:
    """One script of the list, in a folder of its own."""

    def __init__(self, listed: Listed, mirror: Path, work: Path, limit: float) -> None:
        self._listed, self._limit = listed, limit
        key = hashlib.sha1(listed.name.encode()).hexdigest()[:10]
        self._world = KERAS_3 if listed.keras == 3 else KERAS_2
        self._work = work / key
        self._kept = work / "runs"
        self._original = listed.write(mirror, self._work / "original")
        self.result = Result(listed.name)

    def run(self, sizes: tuple[int, ...]) -> Result:
        result = self.result
        distributed = self._distribute()
        if distributed is None:
            return result
        alone = [self._train(self._original, 1, SEEDS[0])]
        if alone[0].fault:
            result.outcome, result.how = "does not run", [f"{alone[0].fault}: {alone[0].where}"]
            return result
        self._note("alone", alone[0])
        runs = []
        for size in sizes:
            runs.append(self._train(distributed, size, SEEDS[0]))
            self._note(str(size), runs[-1])
            if runs[-1].fault == "stalls":
                break
        result.how = judge(alone, runs, self._listed.game)
        if any("the loss ends" in fault for fault in result.how):  # is it within what chance does alone?
            more = (self._train(self._original, 1, seed) for seed in SEEDS[1:])
            alone += [run for run in more if not run.fault]
            result.how = judge(alone, runs, self._listed.game)
        whole = [run for run in runs if not run.fault and run.size > 1]
        result.scaling = scaling(alone[0], whole[-1]) if whole else ""
        verdicts = [run.fault for run in runs if run.fault]
        verdict = verdicts[0] if verdicts else "differs" if result.how else "alike"
        result.outcome = f"{result.outcome}, {verdict}" if result.outcome else verdict
        return result

    def _note(self, where: str, run: Run) -> None:
        self.result.runs[where] = run
        self.result.losses[where] = final(run)
        self.result.steps[where] = run.ranks[0].steps if run.ranks else []

    def _distribute(self) -> Path | None:
        document = Document.from_bytes(self._original.read_bytes(), str(self._original))

        def load(path: str) -> Document | None:
            try:
                return Document.from_bytes(Path(path).read_bytes(), path)
            except OSError:
                return None

        options = Options(tensorflow="2.21" if self._world is KERAS_3 else "")
        found = distribute_script(document, load, options)
        if isinstance(found, Refusal):
            self.result.outcome = "refused"
            self.result.how = [f"{reason.code}: {reason.message}" for reason in found.reasons]
            return None
        if not isinstance(found, Plan):
            self.result.outcome, self.result.how = "unchanged", [found.message]
            return None
        self.result.said = [f"asked: {c.rule}: {c.doubt}" for c in found.changes if not c.sure]
        self.result.said += [f"note: {n.rule}: {n.message}" for n in found.notes]
        self.result.outcome = "" if found.sure else "asked"
        folder = self._work / "distributed"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._original.parent, folder)
        for plan in file_plans(found):
            path = Path(plan.document.path or self._original)
            edited = plan.document.edited(plan.edits)
            (folder / path.relative_to(self._original.parent)).write_bytes(edited)
        for module in found.beside:
            (folder / module).write_text(runtime.text_of(module), encoding="utf-8")
        return folder / self._original.name

    def _train(self, script: Path, size: int, seed: int) -> Run:
        texts = b"".join(p.read_bytes() for p in sorted(script.parent.rglob("*.py")))
        texts += (
            HERE / "made_up.py"
        ).read_bytes() + f"{size} {seed} {self._listed.runs} {self._listed.tf1}{self._listed.data}".encode()
        kept = self._kept / (hashlib.sha1(texts).hexdigest() + ".json")
        if kept.exists():
            said = json.loads(kept.read_text())
            return Run(**{**said, "ranks": [Rank(**rank) for rank in said["ranks"]]})
        folder = kept.with_suffix(".files")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for path in script.parent.iterdir():
            if path.is_file() and path.suffix != ".py":
                shutil.copy(path, folder)
        if self._listed.data:
            subprocess.run([str(self._world.python), "-c", self._listed.data], cwd=folder, check=True)
        for _ in range(self._listed.runs):
            outcome = train(
                script,
                folder,
                ranks=size,
                tf1=self._listed.tf1,
                seed=seed,
                limit=self._limit,
                before=HERE / "made_up.py",
                world=self._world,
            )
        run = digest(outcome, str(script))
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(asdict(run)))
        if run.fault:
            kept.with_suffix(".txt").write_text(outcome.output + "\n" + outcome.why())
        return run


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make trials", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mirror", type=Path, metavar="DIR")
    parser.add_argument("--list", type=Path, default=HERE / "scripts.toml")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="scripts whose repository and path contain one of these"
    )
    parser.add_argument("--sizes", default="1,2,4", help="on how many ranks (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=100, help="seconds for a run (default: %(default)g)")
    parser.add_argument("--work", type=Path, default=Path("build/trials"), help="where runs are kept")
    parser.add_argument("--json", type=Path, help="add each result to this file, a line of JSON each")
    options = parser.parse_args()
    sizes = tuple(int(size) for size in options.sizes.split(","))
    wrong = 0
    for listed in read(options.list):
        if not any(part in listed.name for part in options.only):
            continue
        try:
            result = Trial(listed, options.mirror, options.work.absolute(), options.limit).run(sizes)
        except (ValueError, subprocess.CalledProcessError) as error:
            result = Result(listed.name, "not listed rightly", [str(error)])
        wrong += any(word in result.outcome for word in ("differs", "crashed", "stalls"))
        print(result.line(), flush=True)
        for said in result.said:
            print(f"    {said}", flush=True)
        if options.json:
            with options.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(result)) + "\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
