#!/usr/bin/env python3
"""What copying scores: for each source of a test part the target of that source of the training part which shares the rarest words with it.
A model that writes has to beat it; where it is high, the two parts are not apart.

  tools/bench/nearest_text.py synopsis.train.tsv synopsis.test.tsv > nearest.txt
  skein-data score --score.metrics=rouge nearest.txt test.synopsis.txt

TSV with a header, source and target. A shared word counts ln(N / n)^2, n of N training sources having it; the sum is divided by the square root
of the training source's words and 10. Words of more than 2,000 training sources do not count. One target a line.
"""
import collections
import math
import pathlib
import re
import sys


def pairs(path):
    return [line.split("\t")[:2] for line in pathlib.Path(path).read_text(encoding="utf-8").split("\n")[1:] if line]


def words(text):
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def main():
    train, test = map(pairs, sys.argv[1:3])
    known = [words(source) for source, _ in train]
    having = collections.defaultdict(list)
    for number, of_source in enumerate(known):
        for word in sorted(of_source):
            having[word].append(number)
    rare = {word: numbers for word, numbers in having.items() if len(numbers) <= 2000}
    for source, _ in test:
        shared = collections.Counter()
        for word in sorted(words(source) & rare.keys()):
            for number in rare[word]:
                shared[number] += math.log(len(train) / len(rare[word])) ** 2
        best = max(shared, key=lambda n: (shared[n] / math.sqrt(10 + len(known[n])), -n), default=0)
        print(train[best][1])


if __name__ == "__main__":
    main()
