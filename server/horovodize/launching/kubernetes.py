"""An MPIJob (v2beta1) for the MPI operator of Kubeflow, which starts pods that reach each other by ssh; in the first of them,
Horovod's own launcher starts the ranks. No MPI is needed."""

from __future__ import annotations

import json
import shlex
from pathlib import PurePosixPath

from horovodize.launching.image import CODE, IGNORED, dockerfile
from horovodize.launching.job import NO_GPUS, Job, LaunchError, Layout, Prepared, never_elastic

_TEMPLATE = """\
# kubectl apply -f {name}; needs Kubeflow's MPI operator 0.4 or newer
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: {label}
spec:
  slotsPerWorker: {each}
  # The ranks are started when all workers can be reached.
  launcherCreationPolicy: WaitForWorkersReady
  runPolicy:
    cleanPodPolicy: Running
    backoffLimit: 0
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
            - name: launcher
              image: {image}
              workingDir: {code}
              command: {command}
    Worker:
      replicas: {nodes}
      template:
        spec:
          containers:
            - name: worker
              image: {image}
              workingDir: {code}
              command: ["/usr/sbin/sshd", "-De"]
              resources:
                {resources}
              volumeMounts:
                - {{name: shm, mountPath: /dev/shm}}
                # Data, and checkpoints that are to stay: a volume that all workers share.
          volumes:
            # NCCL's processes on one node share memory; a pod has 64 MB of it by itself.
            - {{name: shm, emptyDir: {{medium: Memory}}}}
"""


def kubernetes(job: Job) -> Prepared:
    never_elastic(job, "kubernetes")
    layout = job.layout()
    if not job.tensorflow and not job.image:
        raise LaunchError(
            "which TensorFlow is the image to have? --tensorflow 2.15.1, or --python with one that has it"
        )
    path = PurePosixPath(job.script)
    if path.is_absolute() or ".." in path.parts:
        raise LaunchError(f"the image holds the current folder; start from one that {job.script} is in")
    image = job.image or f"{job.label}-horovod:latest"
    name = f"{job.stem}-mpijob.yaml"
    files = {name: _job(job, layout, image)}
    notes: tuple[str, ...] = () if layout.gpus else (NO_GPUS,)
    start = f"kubectl apply -f {job.file(name)}"
    if job.tensorflow:
        files["Dockerfile"] = dockerfile(job, gpus=layout.gpus)
        files["Dockerfile.dockerignore"] = IGNORED  # read where it stands beside the Dockerfile
        dockerfile_path = job.file("Dockerfile")
        start = f"docker build -f {dockerfile_path} -t {image} {shlex.quote(job.folder)} && docker push {image} && {start}"
        if not job.image:
            notes += (f"the image is called {image}; name your registry's with --image",)
    notes += ("what ranks write stays in their pods unless a volume is mounted",)
    return Prepared(start, files, notes)


def _job(job: Job, layout: Layout, image: str) -> str:
    # The hosts' file is the operator's: "NAME-worker-0.NAME.NAMESPACE.svc slots=4".
    command = ["horovodrun", "-np", str(job.ranks), "--hostfile", "/etc/mpi/hostfile", "python", job.script]
    each = layout.ranks_per_node
    # Limits for GPUs are what is asked for, too.
    resources = f"limits: {{nvidia.com/gpu: {each}}}" if layout.gpus else f'requests: {{cpu: "{each}"}}'
    return _TEMPLATE.format(
        name=f"{job.stem}-mpijob.yaml",
        label=job.label,
        each=each,
        image=json.dumps(image),
        code=CODE,
        command=json.dumps([*command, *job.arguments], ensure_ascii=False),
        nodes=layout.nodes,
        resources=resources,
    )
