"""What the scripts here share: a small run that takes a fifth of a second, programs started under
faults, and judging."""

import atexit
import collections
import functools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BIN = Path(os.environ.get("SKEIN_TEST_BIN_DIR", ROOT / "build/cpu/bin"))
SKIPPED = 77
MODEL = ["--model.context=16", "--model.d_model=16", "--model.n_layers=1", "--model.n_heads=2"]
COMMIT = re.compile(r"step-(\d{8,})\.g(\d{6,})$")

Ended = collections.namedtuple("Ended", "code output seconds hung")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def scratch():
    """A fresh folder that goes with this process; kept where SKEIN_TEST_KEEP is set."""
    folder = Path(tempfile.mkdtemp(prefix="skein-faults-")).resolve()
    if os.environ.get("SKEIN_TEST_KEEP"):
        print(f"kept: {folder}")
    else:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def text(paragraphs):
    return "".join(
        f"Paragraph {i}: the quick brown fox can't jump over {i} lazy dogs; "
        f"it counts {i * 7 % 31} of them.\n\n"
        for i in range(1, paragraphs + 1)
    )


def make_store(path, paragraphs):
    corpus = path.with_suffix(".txt")
    corpus.write_text(text(paragraphs))
    quiet([BIN / "skein-data", "encode", "--tokenizer.path=bytes", f"--output.path={path}", corpus])
    return path


def quiet(command):
    """The output of a program that must succeed."""
    if not Path(command[0]).exists() and not shutil.which(str(command[0])):
        sys.exit(f"there is no {command[0]}: build it, or name its folder in SKEIN_TEST_BIN_DIR")
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(),
    )
    if done.returncode != 0:
        sys.exit(
            f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout.decode()}"
        )
    return done.stdout.decode()


@functools.cache
def sanitized():
    """Whether the programs are built with a sanitizer."""
    return b"__asan_init" in (BIN / "skein").read_bytes()


def build_library(folder):
    """The library that faulty_files.c is the source of."""
    library = folder / "faulty_files.so"
    compiler = shlex.split(os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or "")
    if sanitized():
        skip("the programs are built with a sanitizer, which must be the first library itself")
    if not compiler:
        skip("there is no C compiler for tests/faults/faulty_files.c")
    quiet(
        [
            *compiler,
            "-std=gnu11",
            "-shared",
            "-fPIC",
            "-O1",
            HERE / "faulty_files.c",
            "-o",
            library,
            "-ldl",
            "-pthread",
        ]
    )
    return library


def environment(**more):
    mine = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SKEIN_", "SLURM_", "OMPI_COMM"))
    }
    mine.update(
        OMP_NUM_THREADS="1",
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        OMPI_MCA_mpi_yield_when_idle="1",
        OMPI_MCA_btl_vader_single_copy_mechanism="none",
        OMPI_MCA_hwloc_base_binding_policy="none",
    )
    mine.update({name: str(value) for name, value in more.items()})
    return mine


def faulty(library, below, **what):
    """Variables for a process whose calls below a folder meet faults; see faulty_files.c."""
    variables = {"LD_PRELOAD": library, "SKEIN_TEST_FAULTS_BELOW": below}
    variables.update(
        {
            f"SKEIN_TEST_FAULTS_{name.upper()}": value
            for name, value in what.items()
            if value is not None
        }
    )
    return variables


def rank(number, ranks, meeting):
    return {"SKEIN_RENDEZVOUS": f"file://{meeting}", "SKEIN_RANK": number, "SKEIN_RANKS": ranks}


def heed_hangups():
    """Also where the script itself was started with nohup, which programs would inherit."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Process:
    """A program in a process group of its own; its output is read from a file."""

    def __init__(self, command, log, **variables):
        self.command, self.log, self.began = (
            [str(part) for part in command],
            Path(log),
            time.monotonic(),
        )
        with open(log, "wb") as out:
            self.child = subprocess.Popen(
                self.command,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=environment(**variables),
                start_new_session=True,
                preexec_fn=heed_hangups,
            )

    def output(self):
        return self.log.read_text(errors="replace")

    def running(self):
        return self.child.poll() is None

    def signal(self, number):
        if self.running():
            self.child.send_signal(number)

    def says(self, pattern, limit=60):
        """Whether the output has the pattern before the program ends and the limit is over."""
        return wait_for(lambda: re.search(pattern, self.output()) is not None, limit, self.running)

    def end(self, limit):
        """How it ended, with code -n after signal n; beyond the limit it is killed: hung."""
        try:
            code, hung = self.child.wait(max(0.01, limit)), False
        except subprocess.TimeoutExpired:
            code, hung = -signal.SIGKILL, True
        self.kill()
        return Ended(code, self.output(), time.monotonic() - self.began, hung)

    def kill(self):
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()


def rounds(names, only, kinds):
    """Name, kind and number of the rounds in `names`, or of the one that --only gives."""
    for name in [only] if only else names:
        kind, _, number = name.partition(":")
        if kind not in kinds or not number.isdigit():
            sys.exit(f"there is no round {name}; one is {kinds[0]}:0")
        yield name, kind, int(number)


def wait_for(condition, limit, alive=lambda: True):
    until = time.monotonic() + limit
    while time.monotonic() < until:
        if condition():
            return True
        if not alive():
            return condition()
        time.sleep(0.01)
    return False


def alive(process):
    """Whether a process of that number still does something."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in (
            "Z",
            "X",
        )
    except OSError:
        return False


def processes_of(folder, name=None):
    """The numbers of all living processes of the run in that folder, or of those of a name."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"--run.dir={folder}" not in (path / "cmdline").read_text().split("\0"):
                continue
            if name in (None, (path / "comm").read_text().strip()):
                found.append(int(path.name))
        except OSError:
            continue
    return [number for number in found if alive(number)]


def standing_of(folder):
    """Where the processes of the run in that folder and their children stand, the dead included."""
    numbers = ",".join(map(str, processes_of(folder)))
    columns = "pid,ppid,stat,wchan:20,etimes,comm"
    command = ["ps", "-o", columns, "-p", numbers, "--ppid", numbers]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout if numbers else ""


def kill_all(processes):
    for number in processes:
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            continue


def run(command, log, limit=60, **variables):
    return Process(command, log, **variables).end(limit)


def pretrain(folder, store, steps, *options, every=2, batch=4):
    return [
        BIN / "skein",
        "pretrain",
        *MODEL,
        f"--train.global_batch={batch}",
        f"--data.train={store}",
        f"--train.steps={steps}",
        f"--checkpoint.every={every}",
        "--run.log_every=1",
        "--checkpoint.async=true",  # what has more to go wrong
        f"--run.dir={folder}",
        *options,
    ]


def commits(folder):
    """(step, generation) of what stands under a final name, sorted; read without the product."""
    inner = folder / "checkpoints"
    found = [COMMIT.match(name) for name in os.listdir(inner)] if inner.is_dir() else []
    return sorted((int(match[1]), int(match[2])) for match in found if match)


def checkpoint(folder, step):
    names = [f"step-{s:08}.g{g:06}" for s, g in commits(folder) if s == step]
    return folder / "checkpoints" / names[-1] if names else None


def history(folder):
    """(step, line) of the steps in metrics.jsonl, in their order; a torn line is left out."""
    path, lines = folder / "metrics.jsonl", []
    for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and "loss" in value:
            lines.append((value["step"], line))
    return lines


def same_bits(one, other):
    if one is None or other is None:
        return False
    return (
        subprocess.run(
            [str(BIN / "skein-inspect"), "diff", str(one), str(other)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
        ).returncode
        == 0
    )


def listed(folder):
    """(step, state) of each commit as skein-inspect tells it, newest first; none where it tells of
    none, and a bad one more where it fails."""
    done = subprocess.run(
        [str(BIN / "skein-inspect"), "list", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(),
    )
    rows = [line.split() for line in done.stdout.decode(errors="replace").splitlines()]
    found = [(int(row[0]), row[-1]) for row in rows if row and row[0].isdigit()]
    failed = done.returncode not in (0, 2)
    return found + ([(0, f"skein-inspect ended with {done.returncode}")] if failed else [])


def last_words(output, lines=3):
    return "\n".join("      " + line[:300] for line in output.splitlines()[-lines:])


class Verdicts:
    """Counts what was tried by kind; at the end a table, and exit code 1 where something failed."""

    def __init__(self, script, again=True):
        self.script, self.again, self.began = script, again, time.monotonic()
        self.tried, self.failed = collections.Counter(), collections.Counter()

    def add(self, kind, name, faults, output=""):
        self.tried[kind] += 1
        if not faults:
            return
        self.failed[kind] += 1
        print(f"FAILED: {name}: {'; '.join(faults)}")
        if self.again:
            print(f"    again: tests/faults/{self.script} --only {name}")
        if output:
            print(last_words(output))
        sys.stdout.flush()

    def close(self):
        width = max([len(kind) for kind in self.tried] + [8])
        print(f"{'':{width}}  tried failed")
        for kind, tried in self.tried.items():
            print(f"{kind:{width}} {tried:6} {self.failed[kind]:6}")
        failed, tried = sum(self.failed.values()), sum(self.tried.values())
        print(
            f"{self.script}: {tried} tried, {failed} failed, {time.monotonic() - self.began:.0f} s"
        )
        if tried == 0:
            sys.exit(f"{self.script}: nothing was tried")
        return 1 if failed else 0
