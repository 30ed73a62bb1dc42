#!/usr/bin/env python3
"""Holds what runs write for TensorBoard against TensorBoard's own reader. Of every run given, which was killed and went on:

  the curves of tensorboard/train and tensorboard/validation have the steps and the values of metrics.jsonl, so none runs
  backwards;
  their tags are in the groups of docs/watching.md, and both have loss/loss;
  the options of every start stand there as text.

Prints a line for each; exit code 1 when one of them differs.

usage: compare_tensorboard.py RUN...        (needs `pip install tensorboard`)"""

import json
import sys
from pathlib import Path

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

GROUPS = ("loss", "learning", "rewards", "scores", "speed")
VALIDATION = "validation_"


def read(folder):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    return events.Reload()


def curves(events):
    """{tag: [(step, value)]}, as TensorBoard draws them."""
    return {
        tag: [(e.step, np.float32(e.value)) for e in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def wanted(run, validation):
    """{number: [(step, value)]} of metrics.jsonl."""
    made = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        numbers = json.loads(line)
        step = numbers.pop("step")
        for name, value in numbers.items():
            if name.startswith(VALIDATION) == validation:
                made.setdefault(name.removeprefix(VALIDATION), []).append((step, np.float32(value)))
    return made


def faults_of(run):
    loss = 0
    for part in ("train", "validation"):
        drawn, own = curves(read(run / "tensorboard" / part)), wanted(run, part == "validation")
        loss += "loss/loss" in drawn
        for tag in drawn:
            group, name = tag.split("/", 1)
            if group not in GROUPS:
                yield f"{part}: the tag {tag} is in none of the groups {', '.join(GROUPS)}"
            if drawn[tag] != own.pop(name, None):
                yield f"{part}: {tag} has other steps or values than metrics.jsonl"
        if own:
            yield f"{part}: no curves of {', '.join(own)}"
    if loss != 2:
        yield "training and validation have no loss/loss of both, to be drawn on one axis"
    events = read(run / "tensorboard" / "train")
    texts = events.Tensors("options") if "options" in events.Tags()["tensors"] else []
    if len(texts) < 2:
        yield f"{len(texts)} starts have their options as text; a run that went on has two or more"
    for text in texts:
        plugin = events.SummaryMetadata("options").plugin_data.plugin_name
        words = tensor_util.make_ndarray(text.tensor_proto).item().decode()
        if plugin != "text" or "train.steps" not in words:
            yield f"the options of the start at step {text.step} are not there as text: {words[:80]}"


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    bad = False
    for run in map(Path, sys.argv[1:]):
        faults = list(faults_of(run))
        bad |= bool(faults)
        print(f"{run}: {'; '.join(faults) or 'ok'}")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
