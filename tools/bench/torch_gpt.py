#!/usr/bin/env python3
"""The peer of `skein bench`: a GPT-2 training step, decoding or attention in PyTorch, as fast as a careful user gets it.

  tools/bench/torch_gpt.py train  --shape gpt2 --batch 4 --length 1024 --precision bf16 [--compile]
  tools/bench/torch_gpt.py decode --shape gpt2 --batch 32 --precision bf16
  tools/bench/torch_gpt.py train --shape gpt2_1.5b --batch 8 --compile --device cuda
  tools/bench/torch_gpt.py attention --batch 4 --length 4096 --heads 32 --width 64 --device cuda

Needs PyTorch 1.13 or later; set GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184 and
OMP_WAIT_POLICY=passive, as docs/benchmarks.md does: without them PyTorch is 1.1 to 1.7 times slower.
Prints one line of JSON: the median seconds of a step (or of a decoded token), tokens/s and the peak memory.
"""
import argparse
import json
import math
import resource
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SHAPES = {
    "gpt2": dict(layers=12, width=768, heads=12, vocab=50304, context=1024),
    "gpt2_124m": dict(layers=12, width=768, heads=12, vocab=50304, context=1024),
    "gpt2_1.5b": dict(layers=48, width=1600, heads=25, vocab=50304, context=1024),
    "small": dict(layers=6, width=384, heads=6, vocab=50304, context=256),
    "byte": dict(layers=6, width=384, heads=6, vocab=256, context=256),
}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x, cache):
        B, T, C = x.shape
        q, k, v = (y.view(B, T, self.heads, C // self.heads).transpose(1, 2) for y in self.qkv(x).split(C, dim=2))
        if cache is not None:
            k, v = cache.extend(k, v)
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=T > 1)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(q.shape[-1]))
            if T > 1:
                mask = torch.ones(T, k.shape[2], dtype=torch.bool).tril(k.shape[2] - T)
                scores = scores.masked_fill(~mask, float("-inf"))
            y = F.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(B, T, C))

    def forward(self, x, cache=None):
        x = x + self.attention(self.norm_1(x), cache)
        return x + self.down(F.gelu(self.up(self.norm_2(x)), **GELU))


class Cache:
    """Keys and values of one layer, written in place."""

    def __init__(self, batch, heads, length, width, dtype, device):
        self.k, self.v = (torch.zeros(batch, heads, length, width, dtype=dtype, device=device) for _ in range(2))
        self.length = 0

    def extend(self, k, v):
        end = self.length + k.shape[2]
        self.k[:, :, self.length : end] = k
        self.v[:, :, self.length : end] = v
        self.length = end
        return self.k[:, :, :end], self.v[:, :, :end]


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, vocab, context):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        self.head.weight = self.tokens.weight
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids, targets=None, caches=None):
        first = caches[0].length if caches else 0
        x = self.tokens(ids) + self.positions(torch.arange(first, first + ids.shape[1], device=ids.device))
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i] if caches else None)
        if targets is None:
            return self.head(self.norm(x[:, -1]))
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.reshape(-1))


GELU = {"approximate": "tanh"}


def autocast(args):
    return torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.precision == "bf16")


def train(args, shape):
    model = Gpt(**shape).to(args.device)
    run = torch.compile(model) if args.compile else model
    try:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    except (TypeError, RuntimeError):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)
    ids = torch.randint(0, shape["vocab"], (args.batch, args.length + 1), device=args.device)
    for _ in range(args.warmup + args.steps):
        start = time.perf_counter()
        with autocast(args):
            loss = run(ids[:, :-1], ids[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        yield time.perf_counter() - start


def decode(args, shape):
    model = Gpt(**shape).eval().to(args.device)
    dtype = torch.bfloat16 if args.precision == "bf16" else torch.float32
    model = model.to(dtype)
    heads, width = shape["heads"], shape["width"] // shape["heads"]
    with torch.inference_mode():
        caches = [Cache(args.batch, heads, args.prompt + args.warmup + args.steps + 1, width, dtype, args.device) for _ in model.blocks]
        last = model(torch.randint(0, shape["vocab"], (args.batch, args.prompt), device=args.device), caches=caches).argmax(-1)
        for _ in range(args.warmup + args.steps):
            start = time.perf_counter()
            last = model(last[:, None], caches=caches).argmax(-1)
            last.sum().item()
            yield time.perf_counter() - start


def attention(args):
    """Seconds of forward and backward of causal attention by the fastest backend, and its name."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v, slope = (torch.randn(args.batch, args.heads, args.length, args.width, device=args.device, dtype=torch.bfloat16) for _ in range(4))
    for x in (q, k, v):
        x.requires_grad_()

    def once():
        torch.autograd.grad(F.scaled_dot_product_attention(q, k, v, is_causal=True), (q, k, v), slope)

    best = None
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION):
        try:
            with sdpa_kernel(backend):
                for _ in range(3):
                    once()
                samples = []
                for _ in range(5):
                    torch.cuda.synchronize()
                    start = time.perf_counter()
                    for _ in range(10):
                        once()
                    torch.cuda.synchronize()
                    samples.append((time.perf_counter() - start) / 10)
        except RuntimeError:
            continue
        found = (statistics.median(samples), backend.name)
        best = min(best, found) if best else found
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "decode", "attention"])
    parser.add_argument("--shape", choices=SHAPES, default="gpt2")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=1024, help="tokens of a training sample")
    parser.add_argument("--prompt", type=int, default=64)
    parser.add_argument("--precision", choices=["f32", "bf16"], default="bf16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--heads", type=int, default=12, help="of attention")
    parser.add_argument("--width", type=int, default=64, help="of a head of attention")
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(args.threads)
    if args.what == "attention":
        seconds, backend = attention(args)
        print(json.dumps({"torch": torch.__version__, "what": "attention", "seconds": seconds, "backend": backend}))
        return
    shape = dict(SHAPES[args.shape])
    shape["context"] = max(shape["context"], args.length, args.prompt + args.warmup + args.steps + 1)
    seconds = list(train(args, shape) if args.what == "train" else decode(args, shape))[args.warmup :]
    median = statistics.median(seconds)
    tokens = args.batch * (args.length if args.what == "train" else 1)
    print(json.dumps({"torch": torch.__version__, "what": args.what, "shape": args.shape, "batch": args.batch,
                      "length": args.length, "precision": args.precision, "compile": args.compile,
                      "seconds": round(median, 5), "tokens_per_second": round(tokens / median, 1),
                      "device_peak_bytes": torch.cuda.max_memory_allocated() if args.device == "cuda" else 0,
                      "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


main()
