#!/usr/bin/env python3
"""The peer of a seq2seq run: trains the model of torch_transformer.py on pairs of texts as docs/encoder-decoder.md does, translates the
validation part greedily and scores it.

  tools/bench/torch_translation.py --tokenizer tok.json --train train.tsv --valid valid.tsv --output said.txt --steps 5000

TSV without a header, source and target; tok.json by skein-data train-tokenizer --tokenizer.special='<pad>,</s>,<unk>' (any tokenizer.json with
these will do). A step is --batch pairs in an order drawn anew each epoch, sorted by length and run --micro at a time; the loss is
that of all their target tokens. Prints a line of JSON at each --every steps (training and validation loss, seconds, pairs seen) and at the end
BLEU with its signature. Needs PyTorch, tokenizers and sacrebleu from PyPI; settings of the machine as for torch_gpt.py.
"""
import argparse
import json
import math
import time
from pathlib import Path

import sacrebleu
import torch
import tokenizers

from torch_transformer import ATTENTION, Transformer, adam

PAD, END = "<pad>", "</s>"


class Pairs:
    def __init__(self, path, tokenizer, limit):
        self.pad, self.end = (tokenizer.token_to_id(name) for name in (PAD, END))
        rows = [line.split("\t")[:2] for line in path.read_text(encoding="utf-8").splitlines()]
        self.texts = [target for _, target in rows]
        sides = [[x.ids for x in tokenizer.encode_batch(list(side), add_special_tokens=False)] for side in zip(*rows)]
        self.rows = [tuple(ids[: limit - 1] + [self.end] for ids in pair) for pair in zip(*sides)]

    def __len__(self):
        return len(self.rows)

    def padded(self, rows):
        """ids [B, longest]"""
        longest = max(map(len, rows))
        return torch.tensor([row + [self.pad] * (longest - len(row)) for row in rows])

    def batch(self, chosen):
        """(source, what the decoder is fed, targets, mask); the decoder begins with padding."""
        source, target = (self.padded([self.rows[i][side] for i in chosen]) for side in (0, 1))
        fed = torch.cat([torch.full_like(target[:, :1], self.pad), target[:, :-1]], dim=1)
        return source, fed, target, (source != self.pad)[:, None, None]

    def by_length(self, chosen):
        return sorted(chosen, key=lambda i: tuple(map(len, self.rows[i])))


def orders(count, seed):
    """Numbers of pairs without end, each epoch in an order of its own."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield from torch.randperm(count, generator=generator).tolist()


def rate(args, step):
    """Warm-up, then down to 0 at the last step (lr.decay=linear, lr.min_lr=0), or by 1/sqrt(step) (inverse_sqrt; with Noam's peak noam)."""
    if step <= args.warmup:
        return args.lr * step / args.warmup
    if args.schedule == "linear":
        return args.lr * (args.steps - step) / (args.steps - args.warmup)
    return args.lr * math.sqrt(args.warmup / step)


def autocast(args):
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bf16")


def learn(args, model, optimizer, pairs, chosen, step):
    for group in optimizer.param_groups:
        group["lr"] = rate(args, step)
    chosen = pairs.by_length(chosen)
    tokens = sum(len(pairs.rows[i][1]) for i in chosen)
    whole = 0.0
    for first in range(0, len(chosen), args.micro):
        source, fed, target, mask = pairs.batch(chosen[first : first + args.micro])
        with autocast(args):
            loss = model(source, fed, target, mask, args.smoothing, pairs.pad) / tokens
        loss.backward()
        whole += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return whole


@torch.inference_mode()
def validation_loss(args, model, pairs):
    """Without label smoothing, a target token."""
    model.eval()
    total, tokens = 0.0, 0
    order = pairs.by_length(range(len(pairs)))
    for first in range(0, len(order), args.batch):
        source, fed, target, mask = pairs.batch(order[first : first + args.batch])
        with autocast(args):
            total += model(source, fed, target, mask, 0.0, pairs.pad).item()
        tokens += (target != pairs.pad).sum().item()
    model.train()
    return total / tokens


@torch.inference_mode()
def greedy(args, model, pairs):
    """The likeliest token again and again, at most --answer; ids without the end, by pair."""
    model.eval()
    said = [[] for _ in range(len(pairs))]
    order = pairs.by_length(range(len(pairs)))
    for first in range(0, len(order), args.batch):
        chosen = order[first : first + args.batch]
        source, _, _, mask = pairs.batch(chosen)
        memory = model.encode(source, mask)
        fed = torch.full((len(chosen), 1), pairs.pad)
        running = torch.ones(len(chosen), dtype=torch.bool)
        while running.any() and fed.shape[1] <= args.answer:
            logits = model.logits(model.decode(fed, memory, mask)[:, -1])
            logits[:, pairs.pad] = -torch.inf
            tokens = torch.where(running, logits.argmax(-1), pairs.end)
            running &= tokens != pairs.end
            fed = torch.cat([fed, tokens[:, None]], dim=1)
        for i, row in zip(chosen, fed[:, 1:].tolist()):
            said[i] = row[: row.index(pairs.end)] if pairs.end in row else row
    model.train()
    return said


def score(args, model, tokenizer, valid):
    hypotheses = [" ".join(text.split()) for text in tokenizer.decode_batch(greedy(args, model, valid))]
    if args.output:
        args.output.write_text("".join(text + "\n" for text in hypotheses), encoding="utf-8")
    metric = sacrebleu.BLEU()
    return metric.corpus_score(hypotheses, [valid.texts]).score, str(metric.get_signature())


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--valid", type=Path, required=True)
    parser.add_argument("--output", type=Path, help="file of the translations")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--blocks", type=int, default=4, help="of the encoder, and of the decoder")
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--attention-dropout", type=float, default=-1, help="of attention's weights; below 0: as --dropout")
    parser.add_argument("--attention", choices=ATTENTION, default="products")
    parser.add_argument("--post", action="store_true", help="norms behind the sums")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=128, help="pairs of a step")
    parser.add_argument("--micro", type=int, default=64)
    parser.add_argument("--limit", type=int, default=128, help="tokens of a side")
    parser.add_argument("--answer", type=int, default=64, help="tokens of a translation at most: generate.max_tokens")
    parser.add_argument("--lr", type=float, default=1.5e-3, help="highest")
    parser.add_argument("--warmup", type=int, default=500)
    parser.add_argument("--schedule", choices=["linear", "inverse_sqrt"], default="linear")
    parser.add_argument("--decay", type=float, default=0.0, help="of weights")
    parser.add_argument("--smoothing", type=float, default=0.1)
    parser.add_argument("--precision", choices=["f32", "bf16"], default="bf16")
    parser.add_argument("--every", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    args = options()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    tokenizer = tokenizers.Tokenizer.from_file(args.tokenizer)
    train, valid = (Pairs(path, tokenizer, args.limit) for path in (args.train, args.valid))
    dropouts = (args.dropout, args.dropout if args.attention_dropout < 0 else args.attention_dropout)
    model = Transformer(tokenizer.get_vocab_size(), args.width, args.heads, args.hidden, args.blocks, args.blocks, dropouts, args.post, args.attention)
    optimizer = adam(model.parameters(), args.lr, args.decay)
    print(json.dumps({"parameters": sum(p.numel() for p in model.parameters()), "pairs": len(train), "vocabulary": tokenizer.get_vocab_size()}))
    order, losses, seconds = orders(len(train), args.seed), [], 0.0
    for step in range(1, args.steps + 1):
        start = time.perf_counter()
        losses.append(learn(args, model, optimizer, train, [next(order) for _ in range(args.batch)], step))
        seconds += time.perf_counter() - start
        if step % args.every == 0:
            print(json.dumps({"step": step, "loss": round(sum(losses) / len(losses), 4), "validation_loss": round(validation_loss(args, model, valid), 4),
                              "seconds": round(seconds, 1), "epochs": round(step * args.batch / len(train), 2)}), flush=True)
            losses = []
    bleu, signature = score(args, model, tokenizer, valid)
    print(json.dumps({"step": args.steps, "seconds": round(seconds, 1), "validation_loss": round(validation_loss(args, model, valid), 4),
                      "bleu": round(bleu, 2), "signature": signature}))


if __name__ == "__main__":
    main()
