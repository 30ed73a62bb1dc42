#!/usr/bin/env python3
"""Runs skein and its peers in turn and prints a table of medians and ratios.

  tools/bench/compare.py --skein build/cpu/bin/skein --torch old=python3 --torch new=/venv/bin/python \\
      --cases gpt2,small,byte,decode --precision bf16 --rounds 5

Each round runs every program once on the same shape with the same two threads, so that drift of the machine meets all of them.
PyTorch runs as docs/benchmarks.md says: glibc keeps freed memory, OpenMP waits passively (actively for a NAME:active).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TUNED = {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184", "OMP_WAIT_POLICY": "passive"}
GPT = ["--model.positions=learned", "--model.tie_embeddings=true"]
TRANSFORMER = ["--config", str(HERE.parent.parent / "configs/transformer_small.ini"), "--model.vocab_size=8192"]
SHAPES = {
    "gpt2": GPT + ["--model.d_model=768", "--model.n_layers=12", "--model.n_heads=12", "--model.vocab_size=50304"],
    "small": GPT + ["--model.d_model=384", "--model.n_layers=6", "--model.n_heads=6", "--model.vocab_size=50304"],
    "byte": GPT + ["--model.d_model=384", "--model.n_layers=6", "--model.n_heads=6", "--model.vocab_size=256"],
    "transformer": TRANSFORMER + ["--model.dropout=0"],
    "transformer_dropout": TRANSFORMER + ["--model.dropout=0.1"],
}
# What PyTorch runs for them: torch_gpt.py knows the shapes by name, torch_transformer.py has one.
TORCH = {
    "transformer": ["torch_transformer.py"],
    "transformer_dropout": ["torch_transformer.py", "--dropout", "0.1"],
}
# name: what, shape, batch, length
CASES = {
    "gpt2": ("train", "gpt2", 4, 1024),
    "gpt2_t64": ("train", "gpt2", 4, 64),
    "small": ("train", "small", 4, 256),
    "small_b16": ("train", "small", 16, 256),
    "byte": ("train", "byte", 16, 256),
    "transformer": ("train", "transformer", 32, 64),
    "transformer_dropout": ("train", "transformer_dropout", 32, 64),
    "decode_b1": ("decode", "gpt2", 1, 1024),
    "decode_b32": ("decode", "gpt2", 32, 1024),
}


def run_skein(program, args, case):
    what, shape, batch, length = CASES[case]
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [program, "bench", *SHAPES[shape], f"--model.context={length}", f"--train.precision={args.precision}", f"--bench.output={out.name}",
                   f"--train.global_batch={batch}", f"--train.micro_batch={batch}", "--parallel.reduction_groups=1"]
        command += ["--bench.what=step", f"--bench.samples={args.steps}"] if what == "train" else [
            "--bench.what=decode", f"--bench.batches={batch}", "--bench.new_tokens=24", "--bench.samples=1"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "OMP_NUM_THREADS": "2"})
        figures = json.load(open(out.name))["figures"]
    name = "whole" if what == "train" else f"batch {batch}"
    return next(f["tokens_per_second"] for f in figures if f["name"] == name)


def run_torch(python, args, case, how):
    what, shape, batch, length = CASES[case]
    if shape in TORCH:
        script, *command = TORCH[shape] + ["--source", str(length), "--target", str(length)]
        command += ["--attention", "sdpa"] if "sdpa" in how else []
    else:
        script, command = "torch_gpt.py", [what, "--shape", shape, "--length", str(length)]
    command = [python, str(HERE / script), *command, "--batch", str(batch), "--precision", args.precision,
               "--steps", str(args.steps if what == "train" else 23)]
    done = subprocess.run(command + (["--compile"] if "compile" in how else []), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env={**os.environ, **TUNED, "OMP_WAIT_POLICY": "active" if "active" in how else "passive"})
    return json.loads(done.stdout)["tokens_per_second"] if done.returncode == 0 and done.stdout else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skein", default="build/cpu/bin/skein")
    parser.add_argument("--before", metavar="SKEIN", help="a peer: an earlier build")
    parser.add_argument("--torch", action="append", default=[], metavar="NAME=PYTHON", help="a peer; NAME:compile=PYTHON compiles, NAME:active lets OpenMP wait actively; of a transformer NAME:sdpa too")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--precision", choices=["f32", "bf16"], default="bf16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3, help="measured steps of a run")
    args = parser.parse_args()
    for case in args.cases.split(","):
        rates = {"skein": []}
        for _ in range(args.rounds):
            rates["skein"].append(run_skein(args.skein, args, case))
            if args.before:
                rates.setdefault("before", []).append(run_skein(args.before, args, case))
            for peer in args.torch:
                name, python = peer.split("=", 1)
                rate = run_torch(python, args, case, name.split(":")[1:])
                if rate:
                    rates.setdefault(name, []).append(rate)
        own = statistics.median(rates["skein"])
        cells = [f"{own:.0f} ({min(rates['skein']):.0f}-{max(rates['skein']):.0f})"]
        for name in ["before"] * bool(args.before) + [p.split("=", 1)[0] for p in args.torch]:
            found = rates.get(name)
            cells.append(f"{name} {statistics.median(found):.0f} ({min(found):.0f}-{max(found):.0f}): {own / statistics.median(found):.2f}x"
                         if found else f"{name}: failed")
        print(f"{case} {args.precision} | skein " + " | ".join(cells))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
