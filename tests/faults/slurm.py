"""A job of two ranks under Slurm, asked to stop by scancel: the first rank that leaves makes srun
send TERM to the other."""

import re
import shutil
import subprocess

import runs


def missing():
    """Why there is none, or nothing."""
    if not shutil.which("sbatch"):
        return "there is no sbatch"
    if (
        subprocess.run(
            ["sinfo", "-h"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ).returncode
        != 0
    ):
        return "sinfo finds no cluster"
    return None


def control(job, field):
    out = subprocess.run(
        ["scontrol", "show", "job", job], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ).stdout.decode()
    found = re.search(rf"\b{field}=(\S+)", out)
    return found[1] if found else ""


def try_job(store, name, place):
    place.mkdir()
    log, script = place / "log", place / "job.sh"
    command = " ".join(map(str, runs.pretrain(place / "run", store, 1000000, every=1000000)))
    script.write_text(
        "#!/bin/bash\nexport OMP_NUM_THREADS=1\n"
        f"srun --mpi=pmix --kill-on-bad-exit=1 -n 2 {command}\n"
    )
    job = (
        subprocess.run(
            [
                "sbatch",
                "--parsable",
                "-n",
                "2",
                "--requeue",
                f"--output={log}",
                "--open-mode=append",
                script,
            ],
            stdout=subprocess.PIPE,
            check=True,
        )
        .stdout.decode()
        .strip()
    )
    try:
        if not runs.wait_for(lambda: log.exists() and re.search(r"step +5/", log.read_text()), 120):
            return [f"job {job} did not come so far"], log.read_text() if log.exists() else ""
        subprocess.run(["scancel", f"--signal={name}", job], check=True)
        runs.wait_for(lambda: control(job, "JobState") not in ("RUNNING", "COMPLETING"), 60)
        state = {field: control(job, field) for field in ("JobState", "ExitCode", "Restarts")}
    finally:
        subprocess.run(["scancel", job])
    # A cluster with RequeueExit=85 has taken the job back; another says what its script ended with.
    well = state["ExitCode"].startswith("85:") or (
        state["JobState"] == "PENDING" and state["Restarts"] == "1"
    )
    faults = [] if well else [f"the job is {state}"]
    if not runs.commits(place / "run"):
        faults.append("there is no commit")
    return faults, log.read_text()
