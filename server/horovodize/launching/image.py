"""A Dockerfile with TensorFlow, a Horovod that is built for it as `horovodize build-horovod` does, and sshd."""

from __future__ import annotations

from horovodize.building import recipe
from horovodize.building.build import version_of
from horovodize.building.target import BuildError
from horovodize.launching.job import Job, LaunchError
from horovodize.world.versions import Version

CODE = "/code"
IGNORED = "**/.git\n**/.venv*\n**/venv\n**/__pycache__\n"
_JOBS = 4

_TEMPLATE = """\
# TensorFlow {tensorflow}, and Horovod {horovod} built for it. In the folder of the script: docker build -f FILE -t IMAGE .
FROM {build_base} AS build
RUN apt-get update && \\
    apt-get install -y --no-install-recommends build-essential ca-certificates cmake{python_build} && \\
    rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
RUN pip install --no-cache-dir "{package}=={tensorflow}" {tools}
{requirements}WORKDIR /build
RUN pip download --no-cache-dir --no-deps --no-binary :all: --no-build-isolation horovod=={horovod} && \\
    tar -xzf horovod-{horovod}.tar.gz
{changes}
ENV {settings}
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels ./horovod-{horovod} && \\
    pip install --no-cache-dir --no-deps /wheels/horovod-*.whl

FROM {base}
RUN apt-get update && \\
    apt-get install -y --no-install-recommends openssh-client openssh-server{python} && \\
    rm -rf /var/lib/apt/lists/* && \\
    mkdir -p /run/sshd && \\
    sed -i 's/^#\\?StrictModes .*/StrictModes no/' /etc/ssh/sshd_config && \\
    printf 'Host *\\n    StrictHostKeyChecking no\\n    UserKnownHostsFile /dev/null\\n' > /etc/ssh/ssh_config.d/workers.conf
COPY --from=build /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
WORKDIR {code}
COPY . {code}
"""

# Of CUDA, only the compiler and NCCL's headers are taken to build with; to run with, TensorFlow's package brings its own.
_CUDA = {(2, 15): "12.2.2", (2, 16): "12.3.2", (2, 17): "12.3.2"}
_LATER_CUDA = "12.5.1"


def dockerfile(job: Job, *, gpus: bool) -> str:
    """Raises LaunchError where a version isn't one, or Horovod isn't built for it."""
    try:
        version = version_of(job.tensorflow)
    except BuildError as e:
        raise LaunchError(str(e)) from e
    if job.tensorflow.count(".") < 2:
        raise LaunchError(f"an image needs a whole version: --tensorflow {job.tensorflow}.0")
    cuda = f"nvidia/cuda:{_CUDA.get(version, _LATER_CUDA)}"
    slim = f"python:{job.python}-slim-bookworm"
    settings = {**recipe.SETTINGS, **({"HOROVOD_GPU_OPERATIONS": "NCCL"} if gpus else {})}
    # Ubuntu 22.04's own Python, where the base is CUDA's: 3.10.
    ubuntu = " python3 python3-dev python3-venv"
    tools = recipe.tools_for((3, 10) if gpus else _numbers(job.python))
    return _TEMPLATE.format(
        tensorflow=job.tensorflow,
        horovod=recipe.HOROVOD,
        build_base=f"{cuda}-devel-ubuntu22.04" if gpus else slim,
        base=f"{cuda}-base-ubuntu22.04" if gpus else slim,
        python_build=ubuntu if gpus else "",
        python=" python3" if gpus else "",
        package="tensorflow[and-cuda]" if gpus else "tensorflow-cpu",
        tools=" ".join(f'"{tool}"' if "<" in tool else tool for tool in tools),
        requirements=_requirements(job, gpus=gpus),
        changes="\n".join(changes(version)),
        settings=" ".join(f"{name}={value}" for name, value in settings.items()),
        code=CODE,
    )


def changes(tensorflow: Version) -> list[str]:
    """The recipe's changes to Horovod's source as instructions, which fail where the source isn't as expected."""
    folder = f"horovod-{recipe.HOROVOD}"
    found = []
    for path, old, new in recipe.changes(tensorflow, _JOBS):
        # A line of a source, as a basic regular expression between single quotes.
        pattern = "".join(f"\\{c}" if c in "[]$.*^/\\" else c for c in old).replace("'", "'\\''")
        inserted = new.replace("'", "'\\''")
        literal = old.replace("'", "'\\''")
        found.append(
            f"RUN test \"$(grep -cF -- '{literal}' {folder}/{path})\" = 1 && \\\n"
            f"    sed -i 's/{pattern}/{inserted}/' {folder}/{path}"
        )
    return found


def _requirements(job: Job, *, gpus: bool) -> str:
    """The folder's other packages; they must not bring another TensorFlow than the one that Horovod is built for."""
    if not job.requirements:
        return ""
    package = "tensorflow" if gpus else "tensorflow-cpu"
    return (
        "COPY requirements.txt /tmp/requirements.txt\n"
        f'RUN echo "{package}=={job.tensorflow}" > /tmp/constraints.txt && \\\n'
        "    pip install --no-cache-dir -r /tmp/requirements.txt -c /tmp/constraints.txt && \\\n"
        f"    python -c \"import importlib.metadata as m; assert m.version('{package}') == '{job.tensorflow}'\"\n"
    )


def _numbers(python: str) -> Version:
    major, _, minor = python.partition(".")
    return int(major), int(minor)
