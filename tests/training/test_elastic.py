"""A rank is killed while it trains, or one joins: all go on from the last commit, and no row is left out or seen twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.training.hosts import CABLE, Hosts, two_hosts
from tests.training.keeping import distribute
from tests.training.running import python

pytestmark = [pytest.mark.training, pytest.mark.timeout(1800)]

ROWS, BATCH, EPOCHS, EVERY, HELD = 480, 8, 3, 5, (1, 12)
STILL = 300.0  # seconds in which nothing at all has gone on, after which a run is given up
SCRIPT = f"""\
import numpy as np
import tensorflow as tf

rows = np.arange({ROWS}, dtype="float32")[:, np.newaxis]
dataset = tf.data.Dataset.from_tensor_slices(rows).shuffle({ROWS}).batch({BATCH})
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
optimizer = tf.keras.optimizers.Adam(0.01)
epochs_seen = []
for epoch in range({EPOCHS}):
    for part in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(part / {ROWS}) - 1.0))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    epochs_seen.append(epoch)
print("epochs", epochs_seen)
"""


def distributed(folder: Path) -> Path:
    """The script as the tool makes it, which notes what it sees and commits often."""
    source, script = folder / "source.py", folder / "train.py"
    source.write_text(SCRIPT)
    distribute(source, script, "--elastic")
    text = script.read_text()
    for old, new in (
        ("commit_every=100", f"commit_every={EVERY}"),
        ("model(part / ", "model(seen(part, optimizer) / "),
        (
            "import horovod_elastic as elastic\n",
            "import horovod_elastic as elastic\nfrom seen_rows import ended, seen\n",
        ),
    ):
        assert text.count(old) == 1, text
        text = text.replace(old, new)
    script.write_text(text + "ended(model)\n")
    (folder / "seen_rows.py").write_text((Path(__file__).parent / "seen_rows.py").read_text())
    return script


def wait(process: subprocess.Popen[bytes], folder: Path, until: Callable[[], bool]) -> None:
    """Waits as long as something goes on: in the notes, in what is said, or in the time that processes have computed."""
    before, since = None, time.monotonic()
    while not until():
        now = [(p.name, p.stat().st_size) for p in sorted(folder.glob("*")) if p.is_file()]
        if now != before:
            before, since = now, time.monotonic()
        assert time.monotonic() - since < STILL, (folder / "said.txt").read_text()[-5000:]
        assert process.poll() is None or until(), (folder / "said.txt").read_text()[-5000:]
        time.sleep(0.1)


def start(hosts: Hosts, folder: Path, script: Path, ranks: int, says: str) -> subprocess.Popen[bytes]:
    """Begins with some ranks, on the hosts that a shell script says."""
    one, _ = hosts.addresses
    discovery = folder / "hosts.sh"
    discovery.write_text(f"#!/bin/sh\n{says}\n")
    discovery.chmod(0o755)
    program = python()
    few_and_many = ["-np", str(ranks), "--min-np", "2", "--max-np", "3"]
    horovodrun = [str(program.parent / "horovodrun"), *few_and_many, "--gloo"]
    options = [
        "--host-discovery-script",
        str(discovery),
        "--network-interfaces",
        CABLE,
        "--start-timeout",
        "1200",
    ]
    path = os.pathsep.join([str(hosts.programs), str(program.parent), os.environ["PATH"]])
    environment = {
        **os.environ,
        "PATH": path,
        "SEEN": str(folder),
        "HOLD": json.dumps(HELD),
        "STARTED": str(ranks),
        "HOROVOD_GLOO_TIMEOUT_SECONDS": "60",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with (folder / "said.txt").open("wb") as said:
        return subprocess.Popen(
            hosts.command(one, *horovodrun, *options, str(program), str(script)),
            cwd=folder,
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def notes(folder: Path) -> list[list[Any]]:
    return [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]


def test_training_goes_on_when_a_rank_is_killed(tmp_path: Path) -> None:
    script = distributed(tmp_path)
    with two_hosts(tmp_path) as hosts:
        one, two = hosts.addresses
        process = start(hosts, tmp_path, script, 3, f"echo {one}:2\necho {two}:1")
        wait(process, tmp_path, lambda: len(list(tmp_path.glob("*.held"))) == 3)
        there = [p for p in hosts.processes(hosts.addresses[1]) if (tmp_path / f"{p}.held").exists()]
        assert len(there) == 1, hosts.processes(hosts.addresses[1])
        os.kill(there[0], signal.SIGKILL)
        (tmp_path / "go").touch()
        wait(process, tmp_path, lambda: process.poll() is not None)
    assert process.returncode == 0, (tmp_path / "said.txt").read_text()[-5000:]
    found = notes(tmp_path)
    steps, ends = [n for n in found if n[2] != "ended"], [n for n in found if n[2] == "ended"]
    after = [n for n in steps if n[1] == 2]
    begun = min((epoch, done) for _, _, epoch, done, _, _ in after)
    # the last commit before the step at which all ranks were held: three ranks took EVERY steps up to each
    assert begun == (HELD[0], HELD[1] // EVERY * EVERY * 3 * BATCH)
    counted = after + [n for n in steps if n[1] == 3 and (n[2], n[3]) < begun]
    for epoch in range(EPOCHS):
        taken = Counter(row for _, _, number, _, rows, _ in counted if number == epoch for row in rows)
        assert taken == Counter({float(row): 1 for row in range(ROWS)}), epoch
    assert {round(n[5], 6) for n in steps if n[1] == 3} == {0.03}
    assert {round(n[5], 6) for n in after} == {0.02}
    assert sorted(n[0] for n in ends) == [0, 1]
    assert ends[0][3] == ends[1][3]
    assert "epochs [0, 1, 2]" in (tmp_path / "said.txt").read_text()


def test_a_rank_that_joins_takes_its_share_of_what_is_left(tmp_path: Path) -> None:
    script, joined = distributed(tmp_path), tmp_path / "joined"
    with two_hosts(tmp_path) as hosts:
        one, two = hosts.addresses
        says = f"echo {one}:1\nif [ -e {joined} ]; then echo {two}:2; else echo {two}:1; fi; touch {tmp_path}/asked"
        process = start(hosts, tmp_path, script, 2, says)
        wait(process, tmp_path, lambda: len(list(tmp_path.glob("*.held"))) == 2)
        joined.touch()
        for _ in range(2):  # once it may have been asked just before
            (tmp_path / "asked").unlink(missing_ok=True)
            wait(process, tmp_path, (tmp_path / "asked").exists)
        time.sleep(3)  # what is known then is sent to the ranks
        (tmp_path / "go").touch()
        wait(process, tmp_path, lambda: process.poll() is not None)
    assert process.returncode == 0, (tmp_path / "said.txt").read_text()[-5000:]
    found = notes(tmp_path)
    steps, ends = [n for n in found if n[2] != "ended"], [n for n in found if n[2] == "ended"]
    after = [n for n in steps if n[1] == 3]
    begun = min((epoch, done) for _, _, epoch, done, _, _ in after)
    assert begun > HELD  # a commit after the step at which both were held
    counted = after + [n for n in steps if n[1] == 2 and (n[2], n[3]) < begun]
    for epoch in range(EPOCHS):
        taken = Counter(row for _, _, number, _, rows, _ in counted if number == epoch for row in rows)
        assert taken == Counter({float(row): 1 for row in range(ROWS)}), epoch
    assert {round(n[5], 6) for n in steps if n[1] == 2} == {0.02}
    assert {round(n[5], 6) for n in after} == {0.03}
    assert sorted(n[0] for n in ends) == [0, 1, 2]
    assert ends[0][3] == ends[1][3] == ends[2][3]
    assert "epochs [0, 1, 2]" in (tmp_path / "said.txt").read_text()
