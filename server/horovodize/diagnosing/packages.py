"""Judges what an interpreter has: versions that don't go together, what was built for another TensorFlow, GPUs left idle."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from horovodize.building import recipe
from horovodize.diagnosing.diagnosis import Line, note, ok, problem, skipped
from horovodize.diagnosing.interpreter import Packages, Seen
from horovodize.world.versions import FIRST_WITH_KERAS_3, KERAS_3, from_on

TENSORFLOW, KERAS, HOROVOD = "TensorFlow", "Keras", "Horovod"
LAUNCHER, GPUS, XLA = "horovodrun", "GPUs", "XLA"
_LEGACY = "TF_USE_LEGACY_KERAS"
_ON = ("1", "true", "True")


def by_metadata(packages: Packages, executable: str, environment: Mapping[str, str]) -> Iterator[Line]:
    """What the packages' metadata say, without importing anything."""
    yield ok("Python", f"{packages.python}, {executable}")
    yield _tensorflow(packages, executable)
    if packages.tensorflow:
        yield _keras(packages, executable, environment)
    yield _horovod(packages, executable)
    if packages.horovod:
        yield _launcher(packages, executable)


def _tensorflow(packages: Packages, executable: str) -> Line:
    if not packages.tensorflow:
        return problem(
            TENSORFLOW,
            "not installed",
            f"name the right interpreter with --python, or: {_pip(executable)} tensorflow",
        )
    several = sorted(
        name for name in packages.versions if name.startswith("tensorflow") and packages.versions[name]
    )
    if len({packages.versions[name] for name in several}) > 1:
        found = ", ".join(f"{name} {packages.versions[name]}" for name in several)
        return problem(
            TENSORFLOW,
            f"{found}: they overwrite each other's files",
            f"{executable} -m pip uninstall {' '.join(several)}, then install one of them",
        )
    return ok(TENSORFLOW, packages.tensorflow)


def _keras(packages: Packages, executable: str, environment: Mapping[str, str]) -> Line:
    legacy = environment.get(_LEGACY, "") in _ON
    own = packages.versions.get("keras", "")
    if not from_on(packages.tensorflow, FIRST_WITH_KERAS_3):
        if from_on(own, KERAS_3):
            return problem(
                KERAS,
                f"{own} doesn't go with TensorFlow {packages.tensorflow}, whose Keras is {_before(packages.tensorflow)}",
                f"{_pip(executable)} 'keras<3'",
            )
        return ok(KERAS, f"{own or 'in TensorFlow'} (Keras 2)")
    if legacy:
        if not packages.versions.get("tf-keras"):
            return problem(KERAS, f"{_LEGACY}={environment[_LEGACY]}, but tf-keras isn't installed",
                           f"{_pip(executable)} 'tf-keras=={_minor(packages.tensorflow)}.*'")  # fmt: skip
        return ok(KERAS, f"tf-keras {packages.versions['tf-keras']} (legacy Keras 2: {_LEGACY} is set)")
    return (
        ok(KERAS, f"{own} (Keras 3)") if own else problem(KERAS, "not installed", f"{_pip(executable)} keras")
    )


def _horovod(packages: Packages, executable: str) -> Line:
    build = (
        f"horovodize build-horovod --python {shlex.quote(executable)}, then install the wheel that it names"
    )
    if not packages.horovod:
        return problem(HOROVOD, "not installed", build)
    if packages.built_for and packages.tensorflow and packages.built_for != packages.tensorflow:
        return problem(
            HOROVOD,
            f"{packages.horovod} was built for TensorFlow {packages.built_for}, not {packages.tensorflow}",
            build,
        )
    if not packages.built_for:
        return problem(HOROVOD, f"{packages.horovod} was built without TensorFlow", build)
    return ok(HOROVOD, f"{packages.horovod}, built for TensorFlow {packages.built_for}")


def _launcher(packages: Packages, executable: str) -> Line:
    if not packages.distutils:
        return problem(
            LAUNCHER,
            f"imports distutils, which Python {_minor(packages.python)} doesn't have",
            f"{_pip(executable)} 'setuptools<81'",
        )
    return ok(LAUNCHER, "can be started")


def on_path(found: str | None, beside: str) -> Line | None:
    """What is said where a shell would start another `horovodrun` than the interpreter's, or none. `found`: the one that is
    first on the PATH; `beside`: the interpreter's, "" where it has none."""
    if not beside:
        return note(
            LAUNCHER, "not beside the interpreter", "start ranks with PYTHON -m horovod.runner.launch instead"
        )
    if found is None:
        return note(
            LAUNCHER, "not on the PATH", f"call it by its path: {beside}, or activate its environment"
        )
    if found != beside:
        return note(LAUNCHER, f"on the PATH is another one: {found}", f"call it by its path: {beside}")
    return None


# ---------------------------------------------------------------------- what is seen when they are imported


def by_import(seen: Seen, executable: str, local_ranks: int, gpus: int | None) -> Iterator[Line]:
    """What an import of TensorFlow and Horovod showed. `local_ranks`: ranks on this host; `gpus`: those that `nvidia-smi`
    lists, None where it isn't there."""
    if seen.failed == "python":
        yield problem("import", f"importing TensorFlow or Horovod ends the process: {seen.error}",
                      "TensorFlow may need instructions that this processor lacks, or Horovod is another's")  # fmt: skip
    elif seen.failed:
        yield problem(
            "import",
            f"{seen.failed} can't be imported: {seen.error}",
            f"horovodize build-horovod --python {shlex.quote(executable)}"
            if seen.failed == "horovod"
            else f"reinstall it: {_pip(executable)} --force-reinstall {seen.failed}",
        )
    if seen.built:
        yield _controllers(seen)
    if not seen.failed or seen.failed == "horovod":
        yield _gpus(seen, local_ranks, gpus)


def _controllers(seen: Seen) -> Line:
    has = [name for name, built in seen.built.items() if built]
    if not {"Gloo", "MPI"} & set(has):
        return problem(
            "controllers",
            "Horovod was built with neither Gloo nor MPI",
            "build it again: horovodize build-horovod",
        )
    return ok("controllers", ", ".join(has))


def _gpus(seen: Seen, local_ranks: int, gpus: int | None) -> Line:
    if not seen.gpus and not gpus:
        return ok(GPUS, "none: trains on the CPU")
    if not seen.gpus:
        return problem(
            GPUS,
            f"nvidia-smi lists {gpus}, TensorFlow sees none",
            "install a TensorFlow for GPUs, 'tensorflow[and-cuda]', and look at CUDA_VISIBLE_DEVICES",
        )
    if seen.gpus < local_ranks:
        return problem(
            GPUS,
            f"{seen.gpus} for {local_ranks} ranks on this host",
            f"start at most {seen.gpus} here, or hide the GPUs from them with CUDA_VISIBLE_DEVICES=''",
        )
    if seen.built and not seen.built.get("NCCL"):
        return note(
            GPUS,
            f"{seen.gpus}, but Horovod has no NCCL: gradients are averaged by the CPUs, which is slow",
            "HOROVOD_GPU_OPERATIONS=NCCL horovodize build-horovod",
        )
    return ok(GPUS, f"{seen.gpus} for {local_ranks} {'rank' if local_ranks == 1 else 'ranks'} on this host")


# ---------------------------------------------------------------------- XLA


def xla(packages: Packages, environment: Mapping[str, str]) -> Line:
    """Whether a variable has XLA compile what Horovod's operations stand in."""
    flags = environment.get("TF_XLA_FLAGS", "").split()
    on = [
        flag
        for flag in flags
        if flag.startswith("--tf_xla_auto_jit=") and flag.partition("=")[2] not in ("0", "-1")
    ]
    inside = environment.get("HOROVOD_ENABLE_XLA_OPS", "") in _ON
    if inside and from_on(packages.tensorflow, recipe.FIRST_WITHOUT_XLA_HEADERS):
        return problem(
            XLA,
            f"HOROVOD_ENABLE_XLA_OPS is set, but Horovod has no such operations for TensorFlow {packages.tensorflow}",
            "unset HOROVOD_ENABLE_XLA_OPS",
        )
    if on and not inside:
        return note(
            XLA,
            f"TF_XLA_FLAGS has {on[0]}: Horovod's operations can't be compiled, and split what is",
            "unset TF_XLA_FLAGS if training fails or is slow",
        )
    return ok(XLA, "on, with Horovod's operations" if inside else "not switched on from outside")


def nothing_to_train_with(packages: Packages) -> Line | None:
    """Why no rank can be started; None where they can."""
    lacking = [n for n, v in ((TENSORFLOW, packages.tensorflow), (HOROVOD, packages.horovod)) if not v]
    return skipped("two ranks", f"not tried without {' and '.join(lacking)}") if lacking else None


def _pip(executable: str) -> str:
    return f"{shlex.quote(executable)} -m pip install"


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _before(tensorflow: str) -> str:
    """The Keras of a TensorFlow before 2.16: from 2.4 on they have the same numbers."""
    return f"{_minor(tensorflow)}.*"
