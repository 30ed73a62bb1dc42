#!/usr/bin/env python3
"""Holds exported models against transformers. For every checkpoint given:

  skein-convert CHECKPOINT FOLDER                     exports it,
  transformers loads FOLDER, strictly, and computes the logits of fixed ids,
  skein-convert FOLDER BACK --verify                  imports it again and compares Skein's own logits with those.

Prints a line for each; exit code 1 when one of them differs.

usage: compare_transformers.py SKEIN_CONVERT CHECKPOINT...        (needs `pip install transformers torch`)"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers as tf
from safetensors.torch import save_file


def load(folder):
    config = json.loads((folder / "config.json").read_text())
    kind = getattr(tf, config["architectures"][0])
    model, report = kind.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    odd = {key: value for key, value in report.items() if value}
    if odd:
        raise SystemExit(f"{folder}: transformers says {odd}")
    return model.eval()


# Of one sample: without a padding id, transformers' classifiers of decoders take one at a time.
def logits_of(model, given):
    with torch.no_grad():
        output = model(**given)
    logits = output.prediction_logits if hasattr(output, "prediction_logits") else output.logits
    return logits.float().contiguous()


def write_expected(model, folder):
    config = model.config
    torch.manual_seed(1)
    length = min(24, getattr(config, "max_position_embeddings", 26) - 2)
    ids = torch.randint(3, config.vocab_size, (2, length))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    tensors = {"ids": ids}
    if config.is_encoder_decoder:
        given["attention_mask"][1, length - 3:] = 0
        targets = getattr(config, "decoder_vocab_size", config.vocab_size)
        given["decoder_input_ids"] = torch.randint(3, targets, (2, length - 4))
        tensors.update(mask=given["attention_mask"], decoder_ids=given["decoder_input_ids"])
    if config.model_type == "bert":
        types = (torch.arange(length) >= length // 2).long().repeat(2, 1) % config.type_vocab_size
        given["token_type_ids"] = tensors["types"] = types
    tensors["logits"] = torch.cat([logits_of(model, {key: value[i : i + 1] for key, value in given.items()}) for i in range(len(ids))])
    save_file(tensors, folder / "skein_expected.safetensors", metadata={"format": "pt"})


def compare(convert, checkpoint, scratch):
    folder, back = scratch / "exported", scratch / "back"
    done = subprocess.run([convert, checkpoint, folder], capture_output=True, text=True)
    if done.returncode:
        print(f"{checkpoint}: is not exported: {done.stderr.strip()}", flush=True)
        return done.returncode
    model = load(folder)
    write_expected(model, folder)
    done = subprocess.run([convert, folder, back, "--verify"], capture_output=True, text=True)
    says = [line for line in done.stderr.splitlines() if "differ" in line] or done.stderr.splitlines()[-1:]
    print(f"{checkpoint}: {type(model).__name__}: {' '.join(says).split('] ')[-1]}", flush=True)
    return done.returncode


def main(argv):
    failed = 0
    for checkpoint in argv[2:]:
        with tempfile.TemporaryDirectory() as scratch:
            failed += compare(argv[1], checkpoint, Path(scratch)) != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
