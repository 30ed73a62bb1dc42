#!/usr/bin/env python3
"""Times `skein-data encode` beside the libraries `tokenizers` and `tiktoken` on the same JSONL text.

  tools/bench/compare_tokenizers.py --skein-data build/cpu/bin/skein-data --text classics.train.jsonl \\
      --gpt2 FOLDER --bert FOLDER --rounds 5

The folders hold vocab.json and merges.txt, and vocab.txt. Every run is a whole process that loads the tokenizer, reads the
text, encodes it document by document, and ends; Skein writes its token store besides, the others throw the ids away. In the
first table all are kept to one core (threads share it), in the second they use all. Rounds take turns, so that drift of the
machine meets all; printed are medians. Needs `pip install tokenizers tiktoken` in the Python that runs this.
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

GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


def documents(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def run_tokenizers(folder, text, threads):
    from tokenizers.implementations import BertWordPieceTokenizer, ByteLevelBPETokenizer
    if (folder / "merges.txt").exists():
        tokenizer = ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    else:
        tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"))
    batch = tokenizer._tokenizer.encode_batch_fast
    texts = documents(text)
    if threads == 1:
        return sum(len(batch([one], add_special_tokens=False)[0].ids) for one in texts)
    return sum(len(made.ids) for made in batch(texts, add_special_tokens=False))


def run_tiktoken(folder, text, threads):
    import tiktoken
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks
    ranks = data_gym_to_mergeable_bpe_ranks(str(folder / "merges.txt"), str(folder / "vocab.json"))
    encoding = tiktoken.Encoding("gpt2", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})
    texts = documents(text)
    if threads == 1:
        return sum(len(encoding.encode_ordinary(one)) for one in texts)
    return sum(len(ids) for ids in encoding.encode_ordinary_batch(texts, num_threads=threads))


def command_of(program, options, folder, threads, scratch):
    if program == "skein":
        return [options.skein_data, "encode", f"--tokenizer.path={folder}", f"--output.path={scratch}/store.h5",
                f"--run.threads={threads}", "--run.quiet=true", str(options.text)]
    return [sys.executable, __file__, "--child", program, "--folder", str(folder), "--text", str(options.text), "--threads",
            str(threads)]


def seconds_of(program, options, folder, threads):
    first = min(os.sched_getaffinity(0))
    keep = (lambda: os.sched_setaffinity(0, {first})) if threads == 1 else None
    environment = dict(os.environ, TOKENIZERS_PARALLELISM="false" if threads == 1 else "true")
    with tempfile.TemporaryDirectory() as scratch:
        command = command_of(program, options, folder, threads, scratch)
        begin = time.perf_counter()
        subprocess.run(command, check=True, preexec_fn=keep, env=environment, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin


def compare(options, threads):
    size = sum(len(one.encode()) for one in documents(options.text)) / 1e6
    cases = [("gpt2", options.gpt2, ["skein", "tokenizers", "tiktoken"]), ("bert", options.bert, ["skein", "tokenizers"])]
    print(f"\n{'one core' if threads == 1 else f'{threads} cores'}, {size:.1f} MB\n\n| tokenizer | program | seconds | MB/s | skein is faster |")
    print("| --- | --- | --- | --- | --- |")
    for name, folder, programs in cases:
        times = {program: [] for program in programs}
        for _ in range(options.rounds):
            for program in programs:
                times[program].append(seconds_of(program, options, folder, threads))
        medians = {program: statistics.median(taken) for program, taken in times.items()}
        for program, median in medians.items():
            print(f"| {name} | {program} | {median:.2f} | {size / median:.1f} | {median / medians['skein']:.1f} x |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skein-data")
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--gpt2", type=Path)
    parser.add_argument("--bert", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", choices=["tokenizers", "tiktoken"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        {"tokenizers": run_tokenizers, "tiktoken": run_tiktoken}[options.child](options.folder, options.text, options.threads)
        return
    if not (options.skein_data and options.gpt2 and options.bert):
        parser.error("--skein-data, --gpt2 and --bert are needed")
    for threads in (1, len(os.sched_getaffinity(0))):
        compare(options, threads)


if __name__ == "__main__":
    sys.path = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).resolve().parent]
    main()
