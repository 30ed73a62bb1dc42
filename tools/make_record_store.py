#!/usr/bin/env python3
"""Makes tests/data/golden/records.h5: a small store of records, by h5py and xxhash.

    python3 tools/make_record_store.py tests/data/golden

Needs h5py, numpy and xxhash of PyPI. It is written from docs/record-store.md and shares nothing with Skein's sources. Pair k of
five has a source of k + 1 tokens 10 k + i of 300 ids, and a target of 5 - k tokens 200 - i of 250 ids.
"""
import pathlib
import sys

import h5py
import numpy
import xxhash

PAIRS = 5


def put_tokens(store, name, rows, vocab_size, kind):
    column = store.create_group(name)
    values = numpy.concatenate([numpy.array(row) for row in rows]).astype("<" + kind)
    starts = numpy.cumsum([0] + [len(row) for row in rows]).astype("<u8")
    column["values"], column["starts"] = values, starts
    column.attrs["meaning"] = "tokens"
    column.attrs["xxh3"] = numpy.uint64(xxhash.xxh3_64_intdigest(values.tobytes()))
    column.attrs["starts_xxh3"] = numpy.uint64(xxhash.xxh3_64_intdigest(starts.tobytes()))
    column.attrs["vocab_size"], column.attrs["text_bytes"] = vocab_size, 7
    column.attrs["prefix"] = f"{name}: "
    column.attrs["tokenizer"] = '{"of":"%s"}' % name


def put_numbers(store, name, values):
    column = store.create_group(name)
    column["values"] = values
    column.attrs["meaning"] = "numbers"
    column.attrs["xxh3"] = numpy.uint64(xxhash.xxh3_64_intdigest(values.tobytes()))


def main():
    with h5py.File(pathlib.Path(sys.argv[1]) / "records.h5", "w", libver="latest") as store:
        store.attrs["format"], store.attrs["version"], store.attrs["count"] = "skein-records", 1, PAIRS
        put_tokens(store, "source", [[10 * k + i for i in range(k + 1)] for k in range(PAIRS)], 300, "u2")
        put_tokens(store, "target", [[200 - i for i in range(5 - k)] for k in range(PAIRS)], 250, "u1")
        put_numbers(store, "image", numpy.arange(PAIRS * 6, dtype="<f4").reshape(PAIRS, 2, 3))


if __name__ == "__main__":
    main()
