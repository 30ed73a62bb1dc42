#!/usr/bin/env python3
"""Times a training step of timm's ViT on random pictures that are on the GPU already: bf16 autocast, compiled, fused AdamW.

The peer there of `skein bench --bench.what=step --config configs/vit_base.ini`.

usage: timm_vit.py NAME BATCH         such as vit_base_patch16_224 64 (needs timm, PyTorch 2 and a GPU)
Prints a line of JSON: the median seconds of 20 steps and the most memory."""

import json
import statistics
import sys
import time

import timm
import torch
import torch.nn.functional as F


def main(name, batch):
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    model = timm.create_model(name, num_classes=1000, drop_rate=0.0).cuda().train()
    run = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.3, fused=True)
    pictures, labels = torch.randn(batch, 3, 224, 224, device="cuda"), torch.randint(1000, (batch,), device="cuda")

    def learn():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(run(pictures), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    found = []
    for step in range(25):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        learn()
        torch.cuda.synchronize()
        if step >= 5:
            found.append(time.perf_counter() - begin)
    seconds = statistics.median(found)
    print(json.dumps({"model": name, "batch": batch, "seconds": seconds, "pictures_per_second": batch / seconds,
                      "gpu_bytes": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]))
