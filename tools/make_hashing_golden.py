#!/usr/bin/env python3
"""Makes tests/nn/hashed_sight.golden.json: attention by hashing and its gradients, as transformers' LSHSelfAttention has them.

    python3 -m venv venv && venv/bin/pip install torch transformers
    venv/bin/python tools/make_hashing_golden.py

Made in f64, since a token that sees itself alone has a score of -1e5 there, next to which f32 keeps no sums of rounds. Tensors
are [B,T,H,D], rotations [H,R,D,P].
"""
import json
import pathlib

import torch
import transformers
from transformers.models.reformer.modeling_reformer import LSHSelfAttention

SAMPLES, HEADS, WIDTH, BLOCK = 2, 2, 6, 4
# (tokens, rounds, sides, causal); the last has no more than a block.
CASES = [(16, 2, [4], False), (16, 2, [4], True), (24, 3, [4, 2], True), (16, 1, [8], False), (4, 2, [4], True)]


def numbers(tensor):
    return [round(x, 9) for x in tensor.detach().flatten().tolist()]


class Given(torch.nn.Module):
    """In place of a projection: what it would give."""

    def __init__(self, made):
        super().__init__()
        self.made = made

    def forward(self, _):
        return self.made


def layer_of(rounds, sides, causal):
    config = transformers.ReformerConfig(
        attention_head_size=WIDTH, num_attention_heads=HEADS, hidden_size=HEADS * WIDTH, num_hashes=rounds,
        num_buckets=sides if len(sides) > 1 else sides[0], lsh_attn_chunk_length=BLOCK, lsh_num_chunks_before=1,
        lsh_num_chunks_after=0, is_decoder=causal, hash_seed=5, lsh_attention_probs_dropout_prob=0.0,
        attn_layers=["lsh"])
    return LSHSelfAttention(config, layer_idx=0).double().eval()


def made(number, tokens, rounds, sides, causal):
    layer = layer_of(rounds, sides, causal)
    torch.manual_seed(100 + number)
    shape = (SAMPLES, tokens, HEADS * WIDTH)
    q, v, dy = (torch.randn(shape, dtype=torch.float64) for _ in range(3))
    q.requires_grad_(), v.requires_grad_()
    layer.query_key, layer.value = Given(q), Given(v)
    y = layer(torch.zeros(shape, dtype=torch.float64)).hidden_states
    y.backward(dy)
    torch.manual_seed(layer.hash_seed)
    rotations = torch.randn(HEADS, WIDTH, rounds, sum(sides) // 2, dtype=torch.float64).permute(0, 2, 1, 3)
    named = {"q": q, "v": v, "dy": dy, "y": y, "dq": q.grad, "dv": v.grad, "rotations": rotations}
    return {"tokens": tokens, "rounds": rounds, "sides": sides, "causal": causal,
            **{name: numbers(tensor) for name, tensor in named.items()}}


def main():
    cases = [made(number, *case) for number, case in enumerate(CASES)]
    golden = {"transformers": transformers.__version__, "samples": SAMPLES, "heads": HEADS, "width": WIDTH, "block": BLOCK,
              "cases": cases}
    path = pathlib.Path(__file__).parent.parent / "tests/nn/hashed_sight.golden.json"
    path.write_text(json.dumps(golden, separators=(",", ":")).replace('{"tokens', '\n{"tokens') + "\n")


if __name__ == "__main__":
    main()
