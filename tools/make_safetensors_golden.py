#!/usr/bin/env python3
"""Writes tests/formats/reference.safetensors with the safetensors package: every dtype that Skein reads, names
in no order, a scalar and an empty tensor.

usage: make_safetensors_golden.py FILE        (needs `pip install safetensors torch`)"""
import sys

import torch
from safetensors.torch import save_file


def main(argv):
    values = torch.arange(6, dtype=torch.float64).reshape(2, 3) - 2.5
    tensors = {
        "z.f32": values.to(torch.float32), "a.f32": values.to(torch.float32) * 3, "half": values.to(torch.float16),
        "brain": values.to(torch.bfloat16), "double": values, "ids": torch.tensor([-1, 1 << 40]),
        "small": torch.tensor([7, -8], dtype=torch.int32), "bytes": torch.tensor([0, 255, 3], dtype=torch.uint8),
        "flags": torch.tensor([True, False, True]), "scalar": torch.tensor(1.5), "empty": torch.zeros(0, 4),
    }
    save_file(tensors, argv[1], metadata={"format": "pt"})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
