#!/usr/bin/env python3
"""The peer of the language-model lab: a decoder over windows of words in PyTorch. A token sees half a sample, and only the second half of a
sample is learnt, so every prediction has the same context; perplexity is measured in the same way.

  launch/labs words --dir labs
  for part in train valid; do skein-data convert --output.format=nanogpt --output.path=$part.bin labs/$part.h5; done
  tools/bench/torch_windows.py --train train.bin --valid valid.bin

The defaults are what launch/labs trains. The model is a pre-norm GPT as `skein pretrain` makes it: learned positions, tanh-GELU, biases, one
table for tokens and head, start values of deviation 0.02 (0.02 / sqrt(2 blocks) where a block's result is added), dropout also of attention's
weights. Samples begin every --length / 2 tokens, in an order drawn anew each epoch. Validation scores every token but the first, in windows
that begin as far apart: of the first all, of the others the second half.
Prints a line of JSON at each --every steps and at the end, there with the share of unknown words and the perplexity without them. Needs PyTorch and numpy.
"""
import argparse
import json
import math
import time

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads, hidden, dropout):
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def attention(self, x, visible):
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)) * (C // self.heads) ** -0.5
        y = self.dropout(F.softmax(scores.masked_fill(~visible, float("-inf")), dim=-1)) @ v
        return self.out(y.transpose(1, 2).reshape(B, T, C))

    def forward(self, x, visible):
        x = x + self.dropout(self.attention(self.norms[0](x), visible))
        return x + self.dropout(self.down(F.gelu(self.up(self.norms[1](x)), approximate="tanh")))


class Decoder(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(args.vocabulary, args.width), nn.Embedding(args.length, args.width)
        self.dropout = nn.Dropout(args.dropout)
        self.blocks = nn.ModuleList(Block(args.width, args.heads, args.hidden or 4 * args.width, args.dropout) for _ in range(args.blocks))
        self.norm = nn.LayerNorm(args.width)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * args.blocks) if name.endswith(("out.weight", "down.weight")) else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)
        # A token sees the last length / 2, itself among them.
        distance = torch.arange(args.length)[:, None] - torch.arange(args.length)
        self.register_buffer("visible", (distance >= 0) & (distance < args.length // 2), persistent=False)

    def forward(self, ids, first):
        """Logits at the places from `first` on, those that are scored."""
        T = ids.shape[1]
        x = self.dropout(self.tokens(ids) + self.positions.weight[:T])
        for block in self.blocks:
            x = block(x, self.visible[:T, :T])
        return F.linear(self.norm(x[:, first:]), self.tokens.weight)


def orders(count, seed):
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield from torch.randperm(count, generator=generator).tolist()


def samples(tokens, begins, length):
    """[B, length + 1]"""
    return torch.from_numpy(numpy.stack([tokens[b : b + length + 1] for b in begins]).astype(numpy.int64))


def autocast(args):
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16")


def rate(args, step):
    """Warm-up, then a cosine down to --min-lr: lr.decay=cosine."""
    if step <= args.warmup:
        return args.lr * step / args.warmup
    share = (step - args.warmup) / max(1, args.steps - args.warmup)
    return args.min_lr + (args.lr - args.min_lr) * (1 + math.cos(math.pi * share)) / 2


def learn(args, model, optimizer, tokens, begins, step):
    for group in optimizer.param_groups:
        group["lr"] = rate(args, step)
    half = args.length // 2
    whole = 0.0
    for first in range(0, len(begins), args.micro):
        rows = samples(tokens, begins[first : first + args.micro], args.length)
        with autocast(args):
            logits = model(rows[:, :-1], half)
        loss = F.cross_entropy(logits.flatten(0, 1).float(), rows[:, half + 1 :].flatten(), reduction="sum") / (len(begins) * (args.length - half))
        loss.backward()
        whole += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return whole


def windows(tokens, length):
    """ids and targets [N, length] of windows length / 2 apart; -1 for a target that another window scores, or that there is none of."""
    half = length // 2
    count = 1 + max(0, math.ceil((len(tokens) - 1 - length) / half))
    padded = numpy.full((count + 1) * half + 1, -1, numpy.int64)
    padded[: len(tokens)] = tokens
    rows = torch.from_numpy(numpy.stack([padded[n * half : n * half + length + 1] for n in range(count)]))
    targets = rows[:, 1:].clone()
    targets[1:, :half] = -1
    return rows[:, :-1].clamp(min=0), targets


@torch.inference_mode()
def losses_of(args, model, tokens):
    """Targets and their losses, of every token but the first."""
    model.eval()
    ids, targets = windows(tokens, args.length)
    found = [F.cross_entropy(model(i, 0).flatten(0, 1), t.flatten(), ignore_index=-1, reduction="none")
             for i, t in zip(ids.split(args.batch), targets.split(args.batch))]
    model.train()
    scored = targets.flatten() >= 0
    return targets.flatten()[scored], torch.cat(found)[scored]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True)
    parser.add_argument("--valid", required=True)
    parser.add_argument("--vocabulary", type=int, default=10000)
    parser.add_argument("--unknown", type=int, default=3, help="id of unknown words")
    parser.add_argument("--length", type=int, default=64, help="tokens of a sample, of which the second half is learnt")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=0, help="of the feed-forward layers; 0: four times the width")
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--micro", type=int, default=8)
    parser.add_argument("--lr", type=float, default=4e-3, help="highest")
    parser.add_argument("--min-lr", type=float, default=4e-4)
    parser.add_argument("--warmup", type=int, default=50)
    parser.add_argument("--decay", type=float, default=0.1, help="of weights")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.length % 2:
        parser.error(f"--length {args.length}: an even number was expected")
    return args


def read(path, args):
    tokens = numpy.fromfile(path, numpy.uint16)
    if len(tokens) <= args.length or tokens.max() >= args.vocabulary:
        raise SystemExit(f"{path} holds {len(tokens)} tokens up to {tokens.max(initial=0)}; more than {args.length} below {args.vocabulary} were expected")
    return tokens


def main():
    args = options()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    train, valid = read(args.train, args), read(args.valid, args)
    model = Decoder(args)
    decayed = [[p for p in model.parameters() if (p.dim() > 1) == matrix] for matrix in (True, False)]
    optimizer = torch.optim.AdamW([{"params": decayed[0], "weight_decay": args.decay}, {"params": decayed[1], "weight_decay": 0.0}],
                                  lr=args.lr, betas=(0.9, 0.95), eps=1e-8)
    half = args.length // 2
    order, losses, seconds = orders((len(train) - 1 - args.length) // half + 1, args.seed), [], 0.0
    print(json.dumps({"parameters": sum(p.numel() for p in model.parameters()), "tokens": len(train), "validation_tokens": len(valid)}))
    for step in range(1, args.steps + 1):
        start = time.perf_counter()
        losses.append(learn(args, model, optimizer, train, [half * next(order) for _ in range(args.batch)], step))
        seconds += time.perf_counter() - start
        if step % args.every == 0 and step < args.steps:
            _, found = losses_of(args, model, valid)
            print(json.dumps({"step": step, "loss": round(sum(losses) / len(losses), 4), "perplexity": round(found.mean().exp().item(), 2),
                              "seconds": round(seconds, 1)}), flush=True)
            losses = []
    targets, found = losses_of(args, model, valid)
    known = targets != args.unknown
    print(json.dumps({"step": args.steps, "seconds": round(seconds, 1), "loss": round(found.mean().item(), 4),
                      "perplexity": round(found.mean().exp().item(), 2), "unknown": round(1 - known.float().mean().item(), 4),
                      "perplexity_of_known": round(found[known].mean().exp().item(), 2), "scored": len(found)}))


if __name__ == "__main__":
    main()
