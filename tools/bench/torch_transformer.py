#!/usr/bin/env python3
"""The peer of `skein bench` for encoder-decoders: a training step of configs/transformer_small.ini in PyTorch, as fast as a careful user gets it.

  tools/bench/torch_transformer.py --precision bf16 [--compile] [--attention sdpa] [--dropout 0.1] [--batch 32 --source 64 --target 64]

Same model (pre-norm, biases, ReLU, sinusoids in pairs, one table for source, target and head), label smoothing, clipping, fused AdamW; no
padding. Settings of the machine as for torch_gpt.py. Prints one line of JSON: the median seconds of a step, tokens of the target a second,
and the model FLOPs of a step by the formula of docs/pretraining.md. torch_translation.py trains the same model.
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

SMALL = dict(vocab=8192, width=256, heads=4, hidden=1024, encoders=4, decoders=4)


def product(inputs, outputs):
    """Weights of deviation 1/sqrt(inputs), as model.start=fan_in."""
    made = nn.Linear(inputs, outputs)
    nn.init.normal_(made.weight, std=inputs**-0.5)
    nn.init.zeros_(made.bias)
    return made


def sinusoids(places, width):
    """[places, width], each sine before its cosine: model.sinusoids=pairs."""
    angles = torch.arange(places)[:, None] * 10000 ** (-torch.arange(0, width, 2) / width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(places, width)


def by_products(q, k, v, mask, causal, dropout):
    """Attention as two products around a softmax. On CPUs it is faster than the fused function for samples this short."""
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    if causal:
        mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return F.dropout(F.softmax(scores, dim=-1), dropout) @ v


def by_sdpa(q, k, v, mask, causal, dropout):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, dropout_p=dropout)


ATTENTION = {"products": by_products, "sdpa": by_sdpa}


class Attention(nn.Module):
    def __init__(self, width, heads, attend, dropout, cross=False):
        super().__init__()
        self.heads, self.attend, self.dropout, self.cross = heads, attend, dropout, cross
        self.q = product(width, width) if cross else None
        self.joint = product(width, (2 if cross else 3) * width)
        self.out = product(width, width)

    def split(self, x, count):
        B, T, _ = x.shape
        return x.view(B, T, count, self.heads, -1).permute(2, 0, 3, 1, 4)

    def forward(self, x, memory=None, mask=None, causal=False):
        if self.cross:
            (q,), (k, v) = self.split(self.q(x), 1), self.split(self.joint(memory), 2)
        else:
            q, k, v = self.split(self.joint(x), 3)
        y = self.attend(q, k, v, mask, causal, self.dropout if self.training else 0.0)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    """A block of the encoder, or with cross attention of the decoder; norms before its parts, or with post behind the sums."""

    def __init__(self, width, heads, hidden, dropouts, attend, decodes, post):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if decodes else 2))
        self.attention = Attention(width, heads, attend, dropouts[1])
        self.cross = Attention(width, heads, attend, dropouts[1], cross=True) if decodes else None
        self.up, self.down = product(width, hidden), product(hidden, width)
        self.dropout, self.post = nn.Dropout(dropouts[0]), post

    def add(self, x, norm, branch):
        if self.post:
            return norm(x + self.dropout(branch(x)))
        return x + self.dropout(branch(norm(x)))

    def forward(self, x, mask=None, memory=None):
        x = self.add(x, self.norms[0], lambda y: self.attention(y, mask=None if self.cross else mask, causal=self.cross is not None))
        if self.cross:
            x = self.add(x, self.norms[1], lambda y: self.cross(y, memory, mask))
        return self.add(x, self.norms[-1], lambda y: self.down(F.relu(self.up(y))))


class Transformer(nn.Module):
    """dropouts: of embeddings and of what each part adds, and of attention's weights.
    mask: [B,1,1,S], true where a place of the source is no padding; None: all. Padding of the target stands at its end."""

    def __init__(self, vocab, width, heads, hidden, encoders, decoders, dropouts=(0.0, 0.0), post=False, attention="products", places=512):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        nn.init.normal_(self.tokens.weight, std=width**-0.5)
        self.register_buffer("waves", sinusoids(places, width), persistent=False)
        self.scale, self.dropout = math.sqrt(width), nn.Dropout(dropouts[0])
        block = lambda decodes: Block(width, heads, hidden, dropouts, ATTENTION[attention], decodes, post)
        self.encoder = nn.ModuleList(block(False) for _ in range(encoders))
        self.decoder = nn.ModuleList(block(True) for _ in range(decoders))
        self.encoder_norm, self.decoder_norm = (nn.Identity() if post else nn.LayerNorm(width) for _ in range(2))

    def embed(self, ids):
        return self.dropout(self.tokens(ids) * self.scale + self.waves[: ids.shape[1]])

    def encode(self, source, mask=None):
        x = self.embed(source)
        for block in self.encoder:
            x = block(x, mask)
        return self.encoder_norm(x)

    def decode(self, fed, memory, mask=None):
        """Hidden states [B,T,C] of what the decoder is fed."""
        x = self.embed(fed)
        for block in self.decoder:
            x = block(x, mask, memory)
        return self.decoder_norm(x)

    def logits(self, hidden):
        return F.linear(hidden, self.tokens.weight)

    def forward(self, source, fed, targets, mask=None, smoothing=0.0, ignored=-100):
        """The sum of the losses of the targets that are not `ignored`."""
        logits = self.logits(self.decode(fed, self.encode(source, mask), mask))
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=ignored, reduction="sum", label_smoothing=smoothing)


def model_flops(shape, batch, source, target):
    """Forward and backward of a step: 6 · weights · the rows they meet + 12 · width · pairs; causal attention counts half of its pairs."""
    C, hidden = shape["width"], shape["hidden"]
    encoder = (4 * C * C + 2 * C * hidden) * source
    decoder = (4 * C * C + 2 * C * C + 2 * C * hidden) * target + 2 * C * C * source
    pairs = shape["encoders"] * source * source + shape["decoders"] * (target * target / 2 + target * source)
    weights = shape["encoders"] * encoder + shape["decoders"] * decoder + shape["vocab"] * C * target
    return batch * (6 * weights + 12 * C * pairs)


def adam(parameters, lr, decay=0.0, epsilon=1e-9):
    options = dict(lr=lr, betas=(0.9, 0.98), eps=epsilon, weight_decay=decay)
    try:
        return torch.optim.AdamW(parameters, fused=True, **options)
    except (TypeError, RuntimeError):
        return torch.optim.AdamW(parameters, **options)


def steps(args):
    """Seconds of each step."""
    model = Transformer(**SMALL, dropouts=(args.dropout, args.dropout), attention=args.attention)
    run = torch.compile(model) if args.compile else model
    optimizer = adam(model.parameters(), 1e-4)
    source = torch.randint(0, SMALL["vocab"], (args.batch, args.source))
    target = torch.randint(0, SMALL["vocab"], (args.batch, args.target + 1))
    for _ in range(args.warmup + args.steps):
        start = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16"):
            loss = run(source, target[:, :-1], target[:, 1:], smoothing=0.1) / target[:, 1:].numel()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        yield time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--source", type=int, default=64, help="tokens of a source")
    parser.add_argument("--target", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.0, help="as model.dropout: of attention's weights too")
    parser.add_argument("--attention", choices=ATTENTION, default="products")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="bf16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(args.threads)
    median = statistics.median(list(steps(args))[args.warmup :])
    flops = model_flops(SMALL, args.batch, args.source, args.target)
    print(json.dumps({"torch": torch.__version__, "what": "train", "shape": "transformer_small", "batch": args.batch, "source": args.source,
                      "length": args.target, "precision": args.precision, "compile": args.compile, "attention": args.attention, "dropout": args.dropout,
                      "seconds": round(median, 5), "tokens_per_second": round(args.batch * args.target / median, 1), "flops": flops,
                      "gflops_per_second": round(flops / median / 1e9, 1),
                      "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
