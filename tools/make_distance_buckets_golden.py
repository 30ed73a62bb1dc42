#!/usr/bin/env python3
"""Makes tests/kernels/distance_buckets.golden.json: T5's buckets of the distances -600 to 600 by transformers' own function.

    python3 -m venv venv && venv/bin/pip install torch transformers
    venv/bin/python tools/make_distance_buckets_golden.py
"""
import json
import pathlib

import torch
import transformers
from transformers.models.t5.modeling_t5 import T5Attention

FARTHEST = 600
SETTINGS = [(32, 128, True), (32, 128, False), (8, 20, True), (64, 256, False), (10, 1000, True)]


def main():
    distances = torch.arange(-FARTHEST, FARTHEST + 1)
    made = {"transformers": transformers.__version__, "first": -FARTHEST, "settings": []}
    for count, farthest, both_ways in SETTINGS:
        buckets = T5Attention._relative_position_bucket(
            distances, bidirectional=both_ways, num_buckets=count, max_distance=farthest)
        made["settings"].append({"count": count, "farthest": farthest, "both_ways": both_ways, "buckets": buckets.tolist()})
    path = pathlib.Path(__file__).parent.parent / "tests/kernels/distance_buckets.golden.json"
    path.write_text(json.dumps(made, separators=(",", ":")).replace('{"count', '\n{"count') + "\n")


if __name__ == "__main__":
    main()
