#!/usr/bin/env python3
"""Trains the ViT or the Swin of configs/*_digits.ini on pictures of one grey channel, with PyTorch and transformers' models.

    python3 tools/bench/torch_pictures.py DATA MODEL [--steps N] [--seed N] [--labels N] [--threads N]

DATA holds *train-images*, *train-labels*, *test-images* and *test-labels*, IDX files, plain, .gz or .xz; MODEL is vit or swin. The recipe is
that of the config: AdamW, the same batch, rates, decay and clipping, pictures cut, turned by up to 10 degrees and moved by up to 0.08 of
their sides. --labels N learns from the first N pictures alone. Needs torch and transformers from PyPI.
Prints the accuracy on the test part every 250 steps, and at the end the steps a second of training alone.
"""

import argparse
import gzip
import lzma
import math
import pathlib
import struct
import time

import torch
import transformers as tf

OPEN = {".gz": gzip.open, ".xz": lzma.open}
# Steps, rate, the least area that is cut out of a picture, and the smoothing of labels: the rest is the same.
RECIPES = {"vit": (3500, 1e-3, 1.0, 0.0), "swin": (6000, 2e-3, 0.8, 0.1)}
BATCH, WARMUP, DECAY, CLIP, EPSILON = 64, 200, 0.05, 1.0, 1e-8


def read_idx(folder, part):
    path = next(path for path in sorted(folder.iterdir()) if part in path.name)
    with OPEN.get(path.suffix, open)(path, "rb") as file:
        data = file.read()
    dims = data[3]
    shape = struct.unpack(f">{dims}I", data[4 : 4 + 4 * dims])
    return torch.frombuffer(bytearray(data[4 + 4 * dims :]), dtype=torch.uint8).reshape(shape)


def model_of(name):
    common = dict(
        image_size=28, num_channels=1, num_labels=10, initializer_range=0.1, hidden_act="gelu"
    )
    if name == "vit":
        return tf.ViTForImageClassification(
            tf.ViTConfig(
                patch_size=4,
                hidden_size=96,
                num_hidden_layers=3,
                num_attention_heads=4,
                intermediate_size=384,
                layer_norm_eps=1e-5,
                **common,
            )
        )
    return tf.SwinForImageClassification(
        tf.SwinConfig(
            patch_size=4,
            embed_dim=48,
            depths=[2, 2],
            num_heads=[3, 6],
            window_size=4,
            drop_path_rate=0.1,
            **common,
        )
    )


def moved(pictures, least_area):
    """Cut out, turned and moved, in one resampling."""
    count = len(pictures)
    side = (least_area + (1 - least_area) * torch.rand(count)).sqrt()
    angle = (torch.rand(count) * 2 - 1) * math.radians(10)
    shift = (torch.rand(count, 2) * 2 - 1) * (0.16 + (1 - side)).unsqueeze(1)  # of half a side
    sine, cosine = angle.sin() * side, angle.cos() * side
    turn = torch.stack(
        [
            torch.stack([cosine, -sine, shift[:, 0]], 1),
            torch.stack([sine, cosine, shift[:, 1]], 1),
        ],
        1,
    )
    grid = torch.nn.functional.affine_grid(turn, list(pictures.shape), align_corners=False)
    return torch.nn.functional.grid_sample(pictures, grid, align_corners=False)


def rate_at(step, steps, rate):
    if step < WARMUP:
        return rate * (step + 1) / WARMUP
    return rate * 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (steps - WARMUP)))


def accuracy(model, pictures, labels):
    model.eval()
    with torch.no_grad():
        right = sum(
            int((model(p).logits.argmax(1) == l).sum())
            for p, l in zip(pictures.split(250), labels.split(250))
        )
    model.train()
    return right / len(labels)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("model", choices=RECIPES)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--labels", type=int)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    steps, rate, least_area, smoothing = RECIPES[arguments.model]
    steps = arguments.steps or steps
    images, labels = (
        read_idx(arguments.data, f"train-{part}")[: arguments.labels]
        for part in ("images", "labels")
    )
    tests, truth = (read_idx(arguments.data, f"test-{part}") for part in ("images", "labels"))
    pixels = images.float() / 255
    mean, deviation = pixels.mean(), pixels.std()
    labels, truth = labels.long(), truth.long()
    tests = ((tests.float() / 255 - mean) / deviation).unsqueeze(1)
    model = model_of(arguments.model)
    print(
        f"{sum(p.numel() for p in model.parameters())} parameters, {len(images)} pictures",
        flush=True,
    )
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}],
        betas=(0.9, 0.999),
        eps=EPSILON,
    )
    order, seconds = torch.empty(0, dtype=torch.long), 0.0
    for step in range(steps):
        began = time.perf_counter()
        if len(order) < BATCH:
            order = torch.cat([order, torch.randperm(len(images))])
        batch, order = order[:BATCH], order[BATCH:]
        given = (moved(pixels[batch].unsqueeze(1), least_area) - mean) / deviation
        loss = torch.nn.functional.cross_entropy(
            model(given).logits, labels[batch], label_smoothing=smoothing
        )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, steps, rate)
        optimizer.step()
        seconds += time.perf_counter() - began
        if (step + 1) % 250 == 0 or step + 1 == steps:
            print(
                f"step {step + 1}/{steps}  loss {loss.item():.4f}  accuracy {accuracy(model, tests, truth):.4f}",
                flush=True,
            )
    print(f"{steps / seconds:.2f} steps/s, {seconds:.1f} s of training")


if __name__ == "__main__":
    main()
