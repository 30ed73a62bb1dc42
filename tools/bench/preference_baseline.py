#!/usr/bin/env python3
"""What length alone and a linear model on words tell of preferences: the least a reward model must beat.

    python3 tools/bench/preference_baseline.py --train hh.train.jsonl qa.train.jsonl --test hh.valid.jsonl qa.valid.jsonl

JSONL with chosen and rejected, prompt or not. Logistic regression (without intercept) on the difference of the two answers' word and
word-pair counts, its penalty by five-fold cross-validation on the training part. Needs scikit-learn from PyPI.
"""
import argparse
import json
import math
import pathlib

import numpy
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegressionCV


def pairs(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        yield record["chosen"], record["rejected"]


def told(name, right):
    count = len(right)
    share = float(numpy.mean(right))
    print(f"  {name:<18} accuracy {share:.3f} +- {math.sqrt(share * (1 - share) / count):.3f} of {count} pairs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--test", type=pathlib.Path, nargs="+", required=True)
    options = parser.parse_args()
    train = [pair for path in options.train for pair in pairs(path)]
    words = CountVectorizer(ngram_range=(1, 2), min_df=3, token_pattern=r"(?u)\b\w+\b|[^\w\s]")
    words.fit([answer for pair in train for answer in pair])
    difference = lambda made: words.transform([chosen for chosen, _ in made]) - words.transform([rejected for _, rejected in made])
    signs = numpy.where(numpy.arange(len(train)) % 2 == 0, 1, -1)
    model = LogisticRegressionCV(Cs=[1e-4, 1e-3, 1e-2, 1e-1, 1], cv=5, fit_intercept=False, max_iter=2000)
    model.fit(difference(train).multiply(signs[:, None]).tocsr(), signs)
    for path in options.test:
        made = list(pairs(path))
        print(path)
        told("longer is better", [len(chosen) > len(rejected) for chosen, rejected in made])
        told("bags of words", model.decision_function(difference(made)) > 0)


if __name__ == "__main__":
    main()
