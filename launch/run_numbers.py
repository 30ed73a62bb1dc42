"""What a run folder holds, for the scripts that hand it to other programs (to-wandb, to-mlflow)."""

import json
import re
import sys
from pathlib import Path

# As config.ini writes values that begin or end with blanks, or hold quotes, comments or ends of lines.
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def value_of(text):
    quoted = QUOTED.match(text)
    if not quoted:
        return text.rsplit("  # ", 1)[0]
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), quoted[1])


class Run:
    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.metrics = self.folder / "metrics.jsonl"
        if not self.metrics.is_file():
            complain(f"{self.metrics} is missing; give folders of runs (run.dir)")
        self.name = self.folder.name

    def options(self):
        """{"lr.lr": "0.001"} of config.ini, which the run wrote itself: a value a line, its origin behind it."""
        made, section = {}, ""
        config = self.folder / "config.ini"
        for line in config.read_text().split("\n") if config.is_file() else []:
            if line.startswith("["):
                section = line.strip("[]")
            elif " = " in line:
                key, value = line.split(" = ", 1)
                made[f"{section}.{key}"] = value_of(value)
        return made

    def steps(self, after):
        """(step, {name: number}) of each step behind `after`; numbers that are not finite are left out."""
        step, numbers = None, {}
        # Behind the last end of a line stands what the run is writing.
        for number, line in enumerate(self.metrics.read_text().split("\n")[:-1], 1):
            try:
                record = json.loads(line)
                now = int(record.pop("step"))
            except (ValueError, KeyError, AttributeError, TypeError) as fault:
                complain(f"{self.metrics}:{number} is no line of a run's numbers: {fault}")
            if step is not None and now != step and step > after:
                yield step, numbers
            if now != step:
                step, numbers = now, {}
            numbers.update(
                (name, value) for name, value in record.items() if isinstance(value, (int, float))
            )
        if step is not None and step > after:
            yield step, numbers


def complain(text):
    print(f"{Path(sys.argv[0]).name}: {text}", file=sys.stderr)
    sys.exit(2)
