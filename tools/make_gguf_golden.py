#!/usr/bin/env python3
"""What the tests hold GGUF files against, by gguf, the package of llama.cpp's authors.

Without FILE it writes tests/formats/reference.gguf. Of a FILE it lists what gguf's reader reads: a line for each value (key,
type, JSON; floats as their bits) and for each tensor (name, type, shape as rows first, FNV-1a of its bytes);
tests/convert/golden/gguf holds such lists.

usage: make_gguf_golden.py [FILE]        (from the repository's root; needs `pip install gguf`)"""

import json
import sys

import gguf
import numpy as np

Q8_0 = gguf.GGMLQuantizationType.Q8_0


def write_reference(path):
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_uint32("a.count", 7)
    writer.add_float32("a.part", 0.1)
    writer.add_bool("a.yes", True)
    writer.add_string("a.text", "héllo")
    writer.add_array("a.texts", ["x", "", "yz"])
    writer.add_array("a.numbers", [-1, 2])
    writer.add_array("a.parts", [0.5, -2.0])
    writer.add_array("a.bytes", b"\x00\xff")
    rows = [[(i * 37 % 101 - 50) / 7 for i in range(32)], [(i * i % 13) * 1e-3 for i in range(32)]]
    values = np.array(rows, dtype=np.float32)
    writer.add_tensor("q", gguf.quantize(values, Q8_0), raw_dtype=Q8_0)
    writer.add_tensor("f", np.array([1.5, -2.0, 3.0], dtype=np.float32))
    writer.add_tensor("h", np.array([[1.5], [0.1]], dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def plain(value, type_):
    if type_ == gguf.GGUFValueType.FLOAT32:
        return int(np.float32(value).view(np.uint32))
    return value


def fnv(data):
    total = 0xCBF29CE484222325
    for byte in data:
        total = (total ^ byte) * 0x100000001B3 % 2**64
    return f"{total:016x}"


def list_file(path):
    reader = gguf.GGUFReader(path)
    for key, field in reader.fields.items():
        if key.startswith("GGUF."):
            continue
        contents, last = field.contents(), field.types[-1]
        listed = len(field.types) > 1
        value = [plain(one, last) for one in contents] if listed else plain(contents, last)
        name = ":".join(type_.name for type_ in field.types)
        print(key, name, json.dumps(value, separators=(",", ":")))
    for tensor in reader.tensors:
        shape = ",".join(str(size) for size in reversed(tensor.shape.tolist()))
        print(tensor.name, tensor.tensor_type.name, f"[{shape}]", fnv(tensor.data.tobytes()))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        list_file(sys.argv[1])
    else:
        write_reference("tests/formats/reference.gguf")
