#!/usr/bin/env python3
"""What a linear model on bags of words scores on three real tasks: the least a fine-tuned encoder must beat.

    python3 tools/bench/bag_of_words.py DATA [--json FILE] [--tasks sentiment,banking77,wnut17]

DATA holds classify/ and ner/ (sentiment-sentences, banking77, wnut17; plain or .xz). Needs scikit-learn and seqeval
from PyPI. Sentences: logistic regression on counts or TF-IDF of words, or of words and pairs of them; weighting, pairs
and penalty by five-fold cross-validation on the training part. Words (WNUT-17): logistic regression for each word on
itself, its affixes and shape and those of two neighbours on either side; penalty by entity F1 on the development part.
Test parts are scored once, with the chosen settings, by models of the training parts alone.
"""
import argparse
import csv
import io
import json
import lzma
import pathlib
import re
import sys
import warnings

from seqeval.metrics import f1_score as entity_f1
from seqeval.metrics import precision_score, recall_score
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline

SEED = 1
WORDS = r"(?u)\b\w+\b|[^\w\s]"  # every mark is a word of its own: "!" and ":)" tell much
PENALTIES = {"sentiment": (0.3, 1, 3, 10, 30), "banking77": (3, 10, 30, 100), "wnut17": (1, 3, 10, 30, 100, 300)}


def read(folder, name):
    path = folder / name
    if path.exists():
        return path.read_bytes().decode("utf-8")
    packed = folder / (name + ".xz")
    if not packed.exists():
        sys.exit(f"neither {path} nor {packed} is there")
    return lzma.decompress(packed.read_bytes()).decode("utf-8")


def sentiment(data):
    for part in ("train", "test"):
        lines = read(data, f"classify/sentiment-sentences.{part}.tsv").rstrip("\n").split("\n")
        pairs = [line.split("\t", 1) for line in lines]
        yield [text for _, text in pairs], [label for label, _ in pairs]


def banking77(data):
    for part in ("train", "test"):
        rows = list(csv.DictReader(io.StringIO(read(data, f"classify/banking77.{part}.csv"), newline="")))
        yield [row["text"] for row in rows], [row["category"] for row in rows]


def score_sentences(name, parts):
    (train_texts, train_labels), (test_texts, test_labels) = parts
    pipeline = Pipeline([("bag", CountVectorizer()), ("model", LogisticRegression(max_iter=1000))])
    grid = {
        "bag": [kind(token_pattern=WORDS, ngram_range=(1, longest), **more) for longest in (1, 2)
                for kind, more in ((CountVectorizer, {"binary": True}), (TfidfVectorizer, {"sublinear_tf": True}))],
        "model__C": PENALTIES[name],
    }
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    search = GridSearchCV(pipeline, grid, cv=folds, scoring="accuracy").fit(train_texts, train_labels)
    predicted = search.predict(test_texts)
    bag = search.best_params_["bag"]
    return {
        "task": name, "train": len(train_texts), "test": len(test_texts), "metric": "accuracy",
        "chosen": f"{type(bag).__name__} 1-{bag.ngram_range[1]} C={search.best_params_['model__C']}",
        "validation": search.best_score_, "score": accuracy_score(test_labels, predicted),
        "macro_f1": f1_score(test_labels, predicted, average="macro"),
    }


def conll(text):
    """[[(word, tag)]]: a line without a word ends a sentence."""
    sentences, open_one = [], []
    for line in text.split("\n") + [""]:
        word, _, tag = line.rstrip("\r").partition("\t")
        if word.strip():
            open_one.append((word, tag))
        elif open_one:
            sentences.append(open_one)
            open_one = []
    return sentences


def shape(word):
    return re.sub(r"(.)\1+", r"\1+", re.sub(r"\d", "0", re.sub(r"[^\W\d_]", lambda m: "Xx"[m[0].islower()], word)))


def word_features(words, at):
    features = {"always": 1, "first": at == 0, "last": at == len(words) - 1}
    for offset in (-2, -1, 0, 1, 2):
        if not 0 <= at + offset < len(words):
            continue
        word, place = words[at + offset], f"{offset:+d}"
        features[f"{place} lower {word.lower()}"] = 1
        features[f"{place} shape {shape(word)}"] = 1
        if offset == 0:
            features[f"word {word}"] = 1
            for size in (1, 2, 3, 4):
                features[f"prefix {word.lower()[:size]}"] = 1
                features[f"suffix {word.lower()[-size:]}"] = 1
    return features


def tags_by(model, bag, sentences):
    flat = model.predict(bag.transform([word_features([w for w, _ in s], i) for s in sentences for i in range(len(s))]))
    tags = iter(flat)
    return [[str(next(tags)) for _ in s] for s in sentences]


def wnut17(data):
    train, dev, test = (conll(read(data, f"ner/wnut17.{part}.conll")) for part in ("train", "dev", "test"))
    bag = DictVectorizer()
    inputs = bag.fit_transform([word_features([w for w, _ in s], i) for s in train for i in range(len(s))])
    wanted = [tag for s in train for _, tag in s]

    def gold(sentences):
        return [[tag for _, tag in s] for s in sentences]

    tried = []
    for penalty in PENALTIES["wnut17"]:
        model = LogisticRegression(C=penalty, max_iter=300).fit(inputs, wanted)
        tried.append((entity_f1(gold(dev), tags_by(model, bag, dev)), penalty, model))
    best, penalty, model = max(tried, key=lambda t: t[:2])
    predicted = tags_by(model, bag, test)
    return {
        "task": "wnut17", "train": len(train), "test": len(test), "metric": "entity F1",
        "chosen": f"word features C={penalty}", "validation": best, "score": entity_f1(gold(test), predicted),
        "precision": precision_score(gold(test), predicted), "recall": recall_score(gold(test), predicted),
    }


TASKS = {
    "sentiment": lambda data: score_sentences("sentiment", list(sentiment(data))),
    "banking77": lambda data: score_sentences("banking77", list(banking77(data))),
    "wnut17": wnut17,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path, help="write the results here as well")
    parser.add_argument("--tasks", default=",".join(TASKS), help="which of " + ", ".join(TASKS))
    options = parser.parse_args()
    unknown = set(options.tasks.split(",")) - set(TASKS)
    if unknown:
        parser.error(f"no task {', '.join(sorted(unknown))}; there are {', '.join(TASKS)}")
    warnings.filterwarnings("ignore", message=".*NE tag.*")
    results = []
    print(f"{'task':<10} {'train':>6} {'test':>5} {'metric':<9} {'validation':>10} {'test score':>10}  chosen", flush=True)
    for task in options.tasks.split(","):
        r = TASKS[task](options.data)
        results.append(r)
        print(f"{r['task']:<10} {r['train']:>6} {r['test']:>5} {r['metric']:<9} {100 * r['validation']:>10.2f} "
              f"{100 * r['score']:>10.2f}  {r['chosen']}", flush=True)
    text = json.dumps(results, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
