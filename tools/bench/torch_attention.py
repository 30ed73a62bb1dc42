#!/usr/bin/env python3
"""Times the self-attention layers of Hugging Face's Longformer and BigBird, with their projections, forward and backward.

The peer of `skein bench --bench.what=attention --bench.attention=model`: batch 1, 12 heads of 64, f32, 2 threads. Longformer has a window
of 512 and one token that sees all, BigBird blocks of 64 and three drawn ones.

usage: torch_attention.py longformer|bigbird TOKENS        (needs `pip install torch transformers`; BigBird: a multiple of 64)
Prints the seconds of five passes, their median, and the most memory of the process."""

import resource
import statistics
import sys
import time

import torch
from transformers import BigBirdConfig, LongformerConfig
from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention


def longformer(tokens):
    layer = LongformerSelfAttention(LongformerConfig(attention_window=[512], attention_probs_dropout_prob=0.0), 0)
    mask = torch.zeros(1, tokens)
    mask[0, 0] = 10000.0
    return lambda x: layer(x, attention_mask=mask, is_index_masked=mask < 0, is_index_global_attn=mask > 0, is_global_attn=True)[0]


def bigbird(tokens):
    layer = BigBirdBlockSparseAttention(BigBirdConfig(attention_probs_dropout_prob=0.0), seed=0).train()
    ones = torch.ones(1, tokens)
    blocks = ones.view(1, tokens // 64, 64)
    near = torch.cat([blocks[:, 1:-3], blocks[:, 2:-2], blocks[:, 3:-1]], dim=2)
    masks = dict(
        band_mask=torch.einsum("blq,blk->blqk", blocks[:, 2:-2], near).unsqueeze(1),
        from_mask=ones.view(1, 1, tokens, 1),
        to_mask=ones.view(1, 1, 1, tokens),
        from_blocked_mask=blocks,
        to_blocked_mask=blocks,
    )
    return lambda x: layer(x, **masks)[0]


def main(kind, tokens):
    torch.set_num_threads(2)
    attention, out = {"longformer": longformer, "bigbird": bigbird}[kind](tokens), torch.nn.Linear(768, 768)
    x, dy = torch.randn(1, tokens, 768, requires_grad=True), torch.randn(1, tokens, 768)
    seconds = []
    for _ in range(6):
        begin = time.perf_counter()
        out(attention(x)).backward(dy)
        seconds.append(time.perf_counter() - begin)
    seconds = seconds[1:]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{kind} {tokens}:", " ".join(f"{one:.3f}" for one in seconds), f"median {statistics.median(seconds):.3f} s, {most} MiB")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
