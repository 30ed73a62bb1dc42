#!/usr/bin/env python3
"""Makes tests/train/scores.golden.json: scores by scikit-learn, SciPy and seqeval, to hold Skein's against.

    python3 tools/make_score_golden.py tests/train/scores.golden.json

Needs scikit-learn, scipy and seqeval from PyPI. Random classes, numbers (with ties) and tags, the latter in sound
and unsound orders, with every prefix, without any, and with types that hold hyphens.
"""
import json
import pathlib
import random
import sys
import warnings

import numpy
from scipy import stats
from seqeval.metrics import classification_report
from sklearn import metrics

TAG_SETS = {
    "iob": ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"],
    "iobes": ["O", "B-PER", "I-PER", "E-PER", "S-PER", "B-LOC", "I-LOC", "E-LOC", "S-LOC"],
    "hyphens": ["O", "B-creative-work", "I-creative-work", "I-work", "B-work"],
    "odd": ["O", "B", "I", "E", "S", "B-PER", "I-PER", "p", "person", "Other", "new-york", ".", ".-PER", "U-PER",
            "L-PER", "O-PER", "\u00e9-PER", "\u4e2d", "B-", "-PER", "Bx-PER"],
}


def class_case(draw, classes, size, skew):
    truth = [int(classes * draw.random() ** skew) for _ in range(size)]
    predicted = [t if draw.random() < 0.6 else draw.randrange(classes) for t in truth]
    if draw.random() < 0.15:
        predicted = [0] * size
    scores = metrics.precision_recall_fscore_support(truth, predicted, labels=list(range(classes)), zero_division=0)
    return {
        "classes": classes, "truth": truth, "predicted": predicted,
        "accuracy": metrics.accuracy_score(truth, predicted),
        "micro": metrics.f1_score(truth, predicted, average="micro"),
        "macro": metrics.f1_score(truth, predicted, average="macro", zero_division=0),
        "weighted": metrics.f1_score(truth, predicted, average="weighted", zero_division=0),
        "matthews": metrics.matthews_corrcoef(truth, predicted),
        "precision": scores[0].tolist(), "recall": scores[1].tolist(), "f1": scores[2].tolist(),
        "support": scores[3].tolist(),
    }


def number_case(draw, size, offset, step):
    truth = [draw.gauss(0, 1) for _ in range(size)]
    predicted = [0.7 * t + draw.gauss(0, 1) for t in truth]
    if step:
        truth, predicted = ([step * round(x / step) for x in side] for side in (truth, predicted))
    truth = [offset + x for x in truth]
    return {
        "truth": truth, "predicted": predicted, "squared": metrics.mean_squared_error(truth, predicted),
        "pearson": float(stats.pearsonr(truth, predicted).statistic),
        "spearman": float(stats.spearmanr(truth, predicted).statistic),
    }


def tag_case(draw, tags, sentences, share_kept):
    truth = [[draw.choice(tags) for _ in range(draw.randint(1, 9))] for _ in range(sentences)]
    predicted = [[t if draw.random() < share_kept else draw.choice(tags) for t in sentence] for sentence in truth]
    report = classification_report(truth, predicted, output_dict=True, zero_division=0)

    def plain(score):
        return {"precision": float(score["precision"]), "recall": float(score["recall"]),
                "f1": float(score["f1-score"]), "support": int(score["support"])}

    averages = {name: plain(report.pop(f"{name} avg")) for name in ("micro", "macro", "weighted")}
    return {"truth": [" ".join(s) for s in truth], "predicted": [" ".join(s) for s in predicted], **averages,
            "types": {name: plain(score) for name, score in report.items()}}


def main():
    warnings.filterwarnings("ignore")
    draw = random.Random(20)
    numpy.seterr(all="ignore")
    golden = {
        "classes": [class_case(draw, classes, size, skew) for classes, size, skew in
                    ((2, 1, 1), (2, 2, 1), (2, 40, 1), (2, 40, 3), (3, 30, 1), (3, 30, 4), (5, 60, 2), (9, 20, 1),
                     (77, 150, 1), (4, 3, 1), (2, 25, 8), (6, 50, 1))],
        "numbers": [number_case(draw, size, offset, step) for size, offset, step in
                    ((2, 0, 0), (3, 0, 0), (30, 0, 0), (30, 5, 0.5), (30, 1e6, 0), (50, 0, 1), (40, -3, 0.25))],
        "tags": [tag_case(draw, tags, sentences, kept) for tags in TAG_SETS.values()
                 for sentences, kept in ((1, 0.5), (3, 0.8), (12, 0.3), (12, 0.7), (12, 0.9), (40, 0.8))],
    }
    path = pathlib.Path(sys.argv[1])
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
