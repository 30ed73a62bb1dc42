#!/usr/bin/env python3
"""Makes tests/models/memory_network.golden.json: end-to-end memory networks by their formulas in numpy, f64.

A model of 2 and one of 3 hops with drawn tables, two stories of unequal sentences, one of them with a moment that has no sentence and one with more
sentences than are remembered: tokens and segments as data/stories/story_samples.h has them, weights of each hop, and logits.

    python3 -m venv venv && venv/bin/pip install numpy
    venv/bin/python tools/make_memory_golden.py
"""

import json
import pathlib

import numpy as np

WORDS, WIDTH, MEMORIES = 11, 5, 4
# Sentences by age of a story, and its question.
STORIES = [
    {"sentences": {0: [3, 1, 4], 1: [1, 5, 9, 2], 3: [6]}, "question": [5, 3]},
    {
        "sentences": {0: [8, 9], 1: [7, 9, 3], 2: [2, 3, 8], 3: [4, 6], 4: [2, 6, 4]},
        "question": [3, 3, 8],
    },
]


def bag(table, words, ordered):
    count = len(words)
    made = np.zeros(WIDTH)
    for j, word in enumerate(words, 1):
        k = np.arange(1, WIDTH + 1)
        order = (1 - j / count) - k / WIDTH * (1 - 2 * j / count) if ordered else np.ones(WIDTH)
        made += order * table[word]
    return made


def answer(story, tables, times, head, ordered, linear):
    u = bag(tables[0], story["question"], ordered)
    ages = [age for age in sorted(story["sentences"]) if age < MEMORIES]
    hops = []
    for hop in range(len(tables) - 1):
        inputs, outputs = (
            np.array(
                [bag(tables[at], story["sentences"][age], ordered) + times[at][age] for age in ages]
            )
            for at in (hop, hop + 1)
        )
        scores = inputs @ u
        weights = (
            scores
            if linear
            else np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        )
        u = u + weights @ outputs
        by_age = np.zeros(MEMORIES)
        by_age[ages] = weights
        hops.append(by_age.tolist())
    return hops, (head @ u).tolist()


def batch():
    rows = []
    for story in STORIES:
        asked = max(story["sentences"]) + 1
        words = [
            (word, asked - 1 - age)
            for age in sorted(story["sentences"], reverse=True)
            for word in story["sentences"][age]
        ]
        rows.append(words + [(word, asked) for word in story["question"]])
    length = max(len(row) for row in rows)
    padded = [row + [(0, -1)] * (length - len(row)) for row in rows]
    return [[word for word, _ in row] for row in padded], [
        [segment for _, segment in row] for row in padded
    ]


def main():
    random = np.random.default_rng(7)
    tokens, segments = batch()
    cases = []
    for hops, ordered, linear, tied in [
        (2, True, False, True),
        (3, True, True, False),
        (2, False, False, False),
    ]:
        tables = random.normal(0, 0.5, (hops + 1, WORDS, WIDTH))
        times = random.normal(0, 0.5, (hops + 1, MEMORIES, WIDTH))
        head = tables[hops] if tied else random.normal(0, 0.5, (WORDS, WIDTH))
        told = [answer(story, tables, times, head, ordered, linear) for story in STORIES]
        cases.append(
            {
                "word_order": ordered,
                "linear": linear,
                "tied": tied,
                "tables": tables.reshape(hops + 1, -1).tolist(),
                "times": times.reshape(hops + 1, -1).tolist(),
                "head": head.ravel().tolist(),
                "weights": [weights for weights, _ in told],
                "logits": [logits for _, logits in told],
            }
        )
    made = {"tokens": tokens, "segments": segments, "cases": cases}
    folder = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models"
    (folder / "memory_network.golden.json").write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
