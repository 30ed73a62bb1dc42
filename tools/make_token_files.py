#!/usr/bin/env python3
"""Makes tests/data/golden/*.{idx,bin}: small token files in the layouts of Megatron-LM, nanoGPT and llm.c, by NumPy.

    python3 tools/make_token_files.py tests/data/golden

Needs Debian's python3-numpy. The layouts are written from the programs' descriptions of them and share nothing with
Skein's sources. Documents of 5, 1, 40 and 17 tokens; token i of all is (7919 i + 13) mod 299; id 299 divides documents.
"""
import pathlib
import sys

import numpy

LENGTHS, END = (5, 1, 40, 17), 299
MEGATRON_CODES = {"u1": 1, "i1": 2, "i2": 3, "i4": 4, "i8": 5, "u2": 8}


def documents():
    tokens, begin = [(7919 * i + 13) % END for i in range(sum(LENGTHS))], 0
    for length in LENGTHS:
        yield tokens[begin:begin + length]
        begin += length


def in_sentences(document):
    parts = [document[:3], document[3:]] if len(document) > 3 else [document]
    return parts[:-1] + [parts[-1] + [END]]


def megatron(stem, kind, sequences_of):
    """sequences_of: the list of sequences that a document becomes."""
    sequences, boundaries = [], [0]
    for document in documents():
        sequences += sequences_of(document)
        boundaries.append(len(sequences))
    lengths = numpy.array([len(s) for s in sequences], dtype="<i4")
    width = numpy.dtype(kind).itemsize
    offsets = numpy.concatenate([[0], numpy.cumsum(lengths[:-1], dtype="<i8") * width]).astype("<i8")
    with open(f"{stem}.idx", "wb") as file:
        file.write(b"MMIDIDX\x00\x00" + numpy.array(1, "<u8").tobytes() + bytes([MEGATRON_CODES[kind]]))
        file.write(numpy.array([len(lengths), len(boundaries)], "<u8").tobytes())
        for array in (lengths, offsets, numpy.array(boundaries, "<i8")):
            file.write(array.tobytes())
    numpy.concatenate(sequences).astype("<" + kind).tofile(f"{stem}.bin")


def bare(path, kind, tokens, header=()):
    with open(path, "wb") as file:
        if header:
            file.write(numpy.array(list(header) + [0] * (256 - len(header)), "<i4").tobytes())
        file.write(numpy.array(tokens).astype("<" + kind).tobytes())


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("i2", "u2", "i4", "i8"):
        megatron(folder / f"megatron_{kind}", kind, lambda document: [document + [END]])
    megatron(folder / "megatron_sentences", "i4", in_sentences)
    closed = [t for d in documents() for t in d + [END]]
    opened = [t for d in documents() for t in [END] + d]
    bare(folder / "nanogpt.bin", "u2", closed)
    bare(folder / "llmc_u16.bin", "u2", opened, (20240520, 1, len(opened)))
    bare(folder / "llmc_u32.bin", "u4", opened, (20240801, 7, len(opened)))


if __name__ == "__main__":
    main()
