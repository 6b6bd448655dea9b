"""Ranks for `horovodrun` that are forks of this process rather than new ones, which would import TensorFlow again.

`horovodrun` does all that it does: hosts, slots, rendezvous, environments, and ending all when one fails. Only where it
would start a shell with a rank's command (`env NAME=value … python probe.py …`), a fork that has waited for it goes on."""

from __future__ import annotations

import json
import os
import shlex
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

PATIENCE = 5.0  # seconds from asking a rank to end to killing it


def prepare(count: int, go_on: Callable[[list[str], dict[str, str]], NoReturn]) -> None:
    """Forks `count` processes and has `horovodrun` use them. To be called before it starts any thread.

    go_on: what a rank does, with its arguments (after the interpreter) and its environment"""
    from horovod.runner import gloo_run

    waiting: list[tuple[int, int]] = []
    for _ in range(count):
        told, tell = os.pipe()
        process = os.fork()
        if not process:
            for inherited in (tell, *(other for _, other in waiting)):
                os.close(inherited)
            with os.fdopen(told) as source:
                line = source.readline()
            if not line:  # horovodrun ended before it came to this
                os._exit(0)
            go_on(*json.loads(line))
        os.close(told)
        waiting.append((process, tell))

    def execute(command: str, index: int, events: Sequence[Any] = (), **_: Any) -> int:
        process, tell = waiting[index]
        with os.fdopen(tell, "w") as target:
            target.write(json.dumps(parsed(command)) + "\n")
        return wait(process, events)

    gloo_run.safe_shell_exec.execute = execute


def parsed(command: str) -> tuple[list[str], dict[str, str]]:
    """Arguments after the interpreter, and the environment, of `env NAME=value … python FILE ARGUMENT…`."""
    _, *words = shlex.split(command)
    environment = {}
    while "=" in words[0]:
        name, value = words.pop(0).split("=", 1)
        environment[name] = value
    return words[1:], environment


def wait(process: int, events: Sequence[Any]) -> int:
    """Waits for a process to end, and ends it when one of the events comes. Returns its exit status."""
    deadline = None
    while True:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if deadline is None and any(event.is_set() for event in events):
            os.kill(process, signal.SIGTERM)
            deadline = time.monotonic() + PATIENCE
        elif deadline is not None and time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
        time.sleep(0.02)
