#!/usr/bin/env python3
"""Times a self-attention layer of PyTorch's compiled FlexAttention with a block mask, projections included, forward and backward, on a GPU.

The peer there of `skein bench --bench.what=attention --bench.attention=model`: 12 heads of 64, bf16. KIND is causal (a decoder), window (a
decoder whose tokens see 512 places), global (an encoder with a window of 512 and one token that sees all and is seen by all) or bigbird (an encoder; blocks
of 64: the first, the last, three about a query's own, and three drawn ones, others for each head).

usage: torch_flex.py KIND TOKENS BATCH        (needs PyTorch 2.6 or later and a GPU)
Prints a line of JSON: the median seconds of 20 passes, by the faster of mask blocks of 128 and of 64, and the most memory."""

import json
import statistics
import sys
import time

import torch
import torch.nn as nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

HEADS, WIDTH, WINDOW, BLOCK, DRAWN = 12, 64, 512, 64, 3


def listed(tokens):
    """[HEADS, blocks, blocks]: which block of keys a block of queries sees."""
    count = tokens // BLOCK
    seen = torch.zeros(HEADS, count, count, dtype=torch.bool)
    own = torch.arange(count)
    for shift in (-1, 0, 1):
        seen[:, own, (own + shift).clamp(0, count - 1)] = True
    seen[:, :, 0] = seen[:, :, -1] = seen[:, 0] = seen[:, -1] = True
    drawn = torch.randint(count, (HEADS, count, DRAWN))
    return seen.scatter(2, drawn, True).cuda()


def visible(kind, tokens):
    if kind == "causal":
        return lambda b, h, q, k: k <= q
    if kind == "window":
        return lambda b, h, q, k: (k <= q) & (q - k < WINDOW)
    if kind == "global":
        return lambda b, h, q, k: ((q - k).abs() <= WINDOW // 2) | (q == 0) | (k == 0)
    seen = listed(tokens)
    return lambda b, h, q, k: seen[h, q // BLOCK, k // BLOCK]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(HEADS * WIDTH, 3 * HEADS * WIDTH), nn.Linear(HEADS * WIDTH, HEADS * WIDTH)

    def forward(self, x, mask):
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, HEADS, WIDTH).permute(2, 0, 3, 1, 4)
        return self.out(flex_attention(q, k, v, block_mask=mask).transpose(1, 2).reshape(B, T, C))


def seconds_of(kind, tokens, batch, side):
    heads = HEADS if kind == "bigbird" else None
    mask = create_block_mask(visible(kind, tokens), None, heads, tokens, tokens, device="cuda", BLOCK_SIZE=side)
    layer = torch.compile(Layer().cuda().bfloat16())
    x, dy = (torch.randn(batch, tokens, HEADS * WIDTH, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    x.requires_grad_()
    found = []
    for step in range(25):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        layer(x, mask).backward(dy)
        torch.cuda.synchronize()
        if step >= 5:
            found.append(time.perf_counter() - begin)
    return statistics.median(found)


def main(kind, tokens, batch):
    torch.manual_seed(1)
    best = {}
    for side in (128, 64):
        try:
            found = {"seconds": seconds_of(kind, tokens, batch, side), "blocks": side}
        except Exception as error:  # some sides compile to no kernel
            print(f"blocks of {side}: {str(error)[:300]}", file=sys.stderr)
            continue
        if not best or found["seconds"] < best["seconds"]:
            best = found
    print(json.dumps({"kind": kind, "tokens": tokens, "batch": batch, **best, "gpu_bytes": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("causal", "window", "global", "bigbird"):
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
