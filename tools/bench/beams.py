#!/usr/bin/env python3
"""Beam search one source at a time and several together, by skein and by transformers, in turn.

  tools/bench/beams.py --skein build/cpu/bin/skein --tokenizer tok.json --texts sources.txt --rounds 5

The model is a BART of random weights with the vocabulary of tok.json, a tokenizer.json with <pad> and </s>: of width 256 and 4 + 4 blocks, or, with
--model base, of BART base's shape; every answer has --tokens tokens. In f32 both must write the same answers. Needs PyTorch, transformers and
tokenizers from PyPI; glibc keeps freed memory as in compare.py; OpenMP waits as it does by itself, which is faster here.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compare import TUNED

SHAPES = {"small": (256, 4), "base": (768, 6)}  # width, blocks a side


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skein", type=Path, required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--texts", type=Path, required=True, help="a source a line")
    parser.add_argument("--model", choices=SHAPES, default="small")
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)  # a model's folder: this process is transformers'
    return parser.parse_args()


def tokenizer_of(args):
    import tokenizers
    return tokenizers.Tokenizer.from_file(args.tokenizer)


def make_model(args, folder):
    import torch
    import transformers
    tokenizer = tokenizer_of(args)
    pad, end = (tokenizer.token_to_id(name) for name in ("<pad>", "</s>"))
    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(1)
    width, blocks = SHAPES[args.model]
    transformers.BartForConditionalGeneration(transformers.BartConfig(
        vocab_size=tokenizer.get_vocab_size(), d_model=width, encoder_layers=blocks, decoder_layers=blocks, encoder_attention_heads=width // 64,
        decoder_attention_heads=width // 64, encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width, max_position_embeddings=128, init_std=0.1,
        pad_token_id=pad, bos_token_id=end, eos_token_id=end, decoder_start_token_id=end, forced_eos_token_id=None)).save_pretrained(folder)


def peer(args):
    """Prints a line of JSON for each batch: tokens a second, and answers in the order of the texts."""
    import torch
    import transformers
    torch.set_num_threads(args.threads)
    tokenizer, end = tokenizer_of(args), tokenizer_of(args).token_to_id("</s>")
    rows = [x.ids for x in tokenizer.encode_batch(args.texts.read_text(encoding="utf-8").splitlines())]
    rows = [row if row[-1] == end else row + [end] for row in rows]
    model = transformers.BartForConditionalGeneration.from_pretrained(
        args.peer, dtype=torch.bfloat16 if args.precision == "bf16" else torch.float32).eval()

    def answers(rows):
        longest = max(map(len, rows))
        ids = torch.tensor([row + [model.config.pad_token_id] * (longest - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        made = model.generate(ids, attention_mask=mask, num_beams=args.beams, do_sample=False, max_new_tokens=args.tokens,
                              min_new_tokens=args.tokens, early_stopping=False)
        return made[:, 1:].tolist()

    with torch.inference_mode():
        for batch in args.batches:
            answers(rows[:batch])
            start, made = time.perf_counter(), []
            for first in range(0, len(rows), batch):
                made += answers(rows[first : first + batch])
            rate = args.tokens * len(rows) / (time.perf_counter() - start)
            print(json.dumps({"batch": batch, "rate": rate, "answers": made}))


def run_peer(args, folder):
    command = [sys.executable, __file__, *sys.argv[1:], "--peer", str(folder)]
    environment = {**os.environ, "GLIBC_TUNABLES": TUNED["GLIBC_TUNABLES"]}
    lines = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.splitlines()
    return {one["batch"]: (one["rate"], one["answers"]) for one in map(json.loads, lines)}


def run_skein(args, batch, folder):
    """Tokens a second, and answers."""
    output = folder / "answers.jsonl"
    said = subprocess.run(
        [args.skein, "generate", f"--checkpoint.path={folder / 'run'}", f"--generate.input={folder / 'asked.jsonl'}", "--generate.format=jsonl",
         f"--generate.batch={batch}", f"--generate.max_tokens={args.tokens}", f"--beam.min_tokens={args.tokens}", f"--beam.size={args.beams}",
         f"--generate.precision={args.precision}", f"--generate.output={output}"],
        check=True, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": str(args.threads)}).stderr
    return int(said.split(" s, ")[-1].split(" tokens/s")[0]), [json.loads(line)["tokens"] for line in output.read_text().splitlines()]


def main():
    args = options()
    if args.peer:
        return peer(args)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_model(args, folder / "bart")
        subprocess.run([args.skein.parent / "skein-convert", f"--tokenizer={args.tokenizer}", folder / "bart", folder / "run"], check=True,
                       capture_output=True)
        texts = args.texts.read_text(encoding="utf-8").splitlines()
        (folder / "asked.jsonl").write_text("".join(json.dumps({"prompt": text}) + "\n" for text in texts))
        rates = {(who, batch): [] for who in ("skein", "transformers") for batch in args.batches}
        for _ in range(args.rounds):
            theirs = run_peer(args, folder / "bart")
            for batch in args.batches:
                own, answers = run_skein(args, batch, folder)
                rates["skein", batch].append(own)
                rates["transformers", batch].append(theirs[batch][0])
                differ = sum(a != b for a, b in zip(answers, theirs[batch][1], strict=True))
                if differ and args.precision == "f32":
                    sys.exit(f"{differ} of {len(answers)} answers differ at batch {batch}")
    print(f"{'':14}" + "".join(f"{f'batch {batch}':>12}" for batch in args.batches) + "   tokens/s of the best beam")
    for who in ("skein", "transformers"):
        print(f"{who:14}" + "".join(f"{statistics.median(rates[who, batch]):12.0f}" for batch in args.batches))


if __name__ == "__main__":
    main()
