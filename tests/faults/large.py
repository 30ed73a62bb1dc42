"""Checkpoints that have much of one thing: what takes a square of it in time, deep recursion or
many times its memory. Each maker changes a manifest and returns a shard, or None for the good one,
and the text that takes the place of INSERT."""

import struct

from sums import lookup3

INSERT = "what is inserted"
NOWHERE = (1 << 64) - 1
DEPTH, LINKS, ATTRIBUTES, NAMES = 100_000, 6_000, 20_000, 30_000


# --- the manifest ---


def deep_metadata(manifest):
    manifest["metadata"]["deep"] = INSERT
    return None, "[" * DEPTH + "]" * DEPTH


def deep_notes(manifest):
    deep = "[" * DEPTH + "]" * DEPTH
    manifest["metadata"]["notes"] = f'{{"task": "reward", "template": {{"x": {deep}}}}}'
    return None, ""


def deep_instructions(manifest):
    deep = "[" * DEPTH + "]" * DEPTH
    manifest["metadata"]["notes"] = f'{{"instructions": {{"form": {deep}}}}}'
    return None, ""


def dense_list(manifest):
    manifest["metadata"]["dense"] = INSERT
    return None, "[" + "{}," * 300_000 + "{}]"


def many_boxes(manifest):
    tensor = {"dtype": "u8", "shape": [5000], "pieces": []}
    for i in range(5000):
        tensor["pieces"].append(piece("x", start=i))
    manifest["tensors"]["param/x"] = tensor
    return None, ""


def ranges_of_boxes(manifest):
    """Two boxes that meet, and ranges of them, none of which meets one of the other."""
    tensor = {"dtype": "u8", "shape": [3, 4000], "pieces": []}
    for i in range(4000):
        box = {"shard": 0, "dataset": "x", "box_start": [i % 2, 0], "box_extent": [2, 4000]}
        tensor["pieces"].append({**box, "begin": i, "end": i + 1})
    manifest["tensors"]["param/x"] = tensor
    return None, ""


def many_blocks(manifest):
    manifest["metadata"]["config"]["model.n_layers"] = "10000"
    return None, ""


def piece(dataset, start=0):
    box = {"box_start": [start], "box_extent": [1], "begin": 0, "end": 1}
    return {"shard": 0, "dataset": dataset, **box}


# --- shards of their own ---


def summed(block):
    return block + struct.pack("<I", lookup3(block))


def message(kind, body):
    return struct.pack("<BHB", kind, len(body), 0) + body


def header(messages):
    return summed(b"OHDR" + bytes([2, 2]) + struct.pack("<I", len(messages)) + messages)


INTEGER = bytes([0x10, 8, 0, 0]) + struct.pack("<IHH", 8, 0, 64)
BYTE = bytes([0x10, 0, 0, 0]) + struct.pack("<IHH", 1, 0, 8)
ONE = bytes([2, 1, 0, 1]) + struct.pack("<Q", 1)
SCALAR = bytes([2, 0, 0, 0])


def attribute(name, kind, shape, data):
    name = name.encode() + b"\0"
    sizes = struct.pack("<BBHHHB", 3, 0, len(name), len(kind), len(shape), 0)
    return message(0x0C, sizes + name + kind + shape + data)


def text(name, value):
    kind = bytes([0x13, 1, 0, 0]) + struct.pack("<I", len(value))
    return attribute(name, kind, SCALAR, value.encode())


def integer(name, value, shape=SCALAR):
    return attribute(name, INTEGER, shape, struct.pack("<q", value))


def root(manifest, heap_at, tree_at):
    known = text("format", "skein-checkpoint") + integer("version", 1)
    for name in ("step", "generation"):
        known += integer(name, manifest[name])
    known += integer("rank", 0) + integer("ranks", 1)
    if manifest.get("run"):
        known += text("run", manifest["run"])
    return header(known + message(2, bytes(2) + struct.pack("<QQ", heap_at, tree_at)))


def shard(manifest, objects, ids, rest):
    """A file whose root has links in a heap of one block: its elements, the offset and length of
    each link in them, and what follows at byte 4096."""
    block_at = 4096 + len(rest)
    size = 1 << (len(objects) + 32).bit_length()
    leaf = b"BTLF" + bytes([0, 5])
    for offset, length in ids:
        leaf += bytes(5) + struct.pack("<IH", offset + 32, length)
    leaf = summed(leaf)
    heap_at, tree_at, leaf_at = 2048, 3072, block_at + size
    heap = b"FRHP" + struct.pack("<BHHBIQQ", 0, 7, 0, 0, 4200, 0, NOWHERE) + bytes(80)
    heap += struct.pack("<HQQHHQH", 4, size, size, 32, 1, block_at, 0)
    tree = b"BTHD" + struct.pack("<BBIHHBB", 0, 5, len(leaf), 11, 0, 100, 40)
    tree += struct.pack("<QHQ", leaf_at, len(ids), len(ids))
    superblock = b"\x89HDF\r\n\x1a\n" + bytes([3, 8, 8, 0])
    superblock += struct.pack("<QQQQ", 0, NOWHERE, leaf_at + len(leaf), 48)
    block = b"FHDB" + bytes([0]) + struct.pack("<QI", heap_at, 0).ljust(27, b"\0") + objects
    made = bytearray(leaf_at + len(leaf))
    for at, part in (
        (0, summed(superblock)),
        (48, root(manifest, heap_at, tree_at)),
        (heap_at, summed(heap)),
        (tree_at, summed(tree)),
        (4096, rest),
        (block_at, block.ljust(size, b"\1")),
        (leaf_at, leaf),
    ):
        made[at : at + len(part)] = part
    return bytes(made)


def only_tensors(manifest, names):
    manifest["tensors"] = {
        name: {"dtype": "u8", "shape": [1], "pieces": [piece(name)]} for name in names
    }


def link(name, at):
    return bytes([1, 0, len(name)]) + name.encode() + struct.pack("<Q", at)


def many_links(manifest):
    """To one object with many attributes."""
    known = text("dtype", "u8")
    for name, value in (("global_shape", 1), ("box_start", 0), ("box_extent", 1)):
        known += integer(name, value, ONE)
    known += integer("begin", 0) + integer("end", 1)
    for i in range(ATTRIBUTES):
        known += attribute(f"{i:x}", BYTE, SCALAR, b"x")
    layout = bytes([3, 1]) + struct.pack("<QQ", 0, 1)
    dataset = header(message(1, ONE) + message(3, BYTE) + message(8, layout) + known)
    names = [f"x{i}" for i in range(LINKS)]
    objects, ids = b"", []
    for name in names:
        one = link(name, 4096)
        ids.append((len(objects), len(one)))
        objects += one
    only_tensors(manifest, names)
    return shard(manifest, objects, ids, dataset), ""


def overlapping_links(manifest):
    """Names of 4,096 bytes that begin 8 bytes behind each other."""
    objects = b"".join(
        bytes([1, 1, 0, 0x10]) + struct.pack("<I", i) for i in range(NAMES + 600)
    )
    only_tensors(manifest, ["x"])
    return shard(manifest, objects, [(8 * i, 4108) for i in range(NAMES)], b""), ""


MAKERS = [
    deep_metadata,
    deep_notes,
    deep_instructions,
    dense_list,
    many_boxes,
    ranges_of_boxes,
    many_blocks,
    many_links,
    overlapping_links,
]
