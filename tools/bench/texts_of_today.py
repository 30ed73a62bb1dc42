#!/usr/bin/env python3
"""What there is of present-day text among small data sets, as JSONL: instructions, dialogues, sums, sentences, and the training texts
of three tasks without their labels. Books alone teach an encoder little of what banks and tweets speak about.

usage: texts_of_today.py DATA > today.jsonl
"""
import csv
import io
import json
import lzma
import sys
from pathlib import Path


def text_of(path):
    return lzma.open(path, "rt", encoding="utf-8").read()


def records(path, *keys):
    for line in text_of(path).splitlines():
        record = json.loads(line)
        yield "\n".join(record[key] for key in keys)


def sentences(conll):
    words = []
    for line in conll.split("\n"):
        if line.strip():
            words.append(line.split("\t")[0])
        elif words:
            yield " ".join(words)
            words = []


def texts(data):
    yield from records(data / "instruct/dolly-6400.train.jsonl.xz", "instruction", "response")
    yield from records(data / "preference/hh-harmless-base.train.jsonl.xz", "chosen")
    yield from records(data / "preference/qa-feedback.pairs.jsonl.xz", "prompt", "chosen")
    yield from records(data / "qa/gsm8k.train.jsonl.xz", "question", "answer")
    yield from (line.split("\t")[0] for line in text_of(data / "seq2seq/tatoeba-en-de.train.tsv.xz").splitlines())
    yield from (line.split("\t")[1] for line in text_of(data / "classify/sentiment-sentences.train.tsv.xz").splitlines())
    yield from (row[0] for row in list(csv.reader(io.StringIO(text_of(data / "classify/banking77.train.csv.xz"))))[1:])
    yield from sentences(text_of(data / "ner/wnut17.train.conll.xz"))


if __name__ == "__main__":
    for text in texts(Path(sys.argv[1])):
        print(json.dumps({"text": text}))
