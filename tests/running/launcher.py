"""A launcher as horovodrun is one, without Horovod: `launcher.py N COMMAND…` starts ranks, and ends all when one fails."""

import os
import subprocess
import sys
import time

processes = [
    subprocess.Popen(sys.argv[2:], env=dict(os.environ, HOROVOD_RANK=str(rank)), start_new_session=True)
    for rank in range(int(sys.argv[1]))
]
status = 0
while any(process.poll() is None for process in processes):
    failed = [process for process in processes if process.poll()]
    if failed and not status:
        status = 1
        until = time.monotonic() + float(os.environ.get("PATIENCE", "0"))  # those that fail alike may do so
        while time.monotonic() < until and any(process.poll() is None for process in processes):
            time.sleep(0.02)
        for process in processes:
            if process.poll() is None:
                process.terminate()
    time.sleep(0.02)
sys.exit(1 if any(process.returncode for process in processes) else 0)
