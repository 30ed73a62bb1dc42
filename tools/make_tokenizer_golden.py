#!/usr/bin/env python3
"""Makes what the tokenizer tests compare with, by the reference library (pip install tokenizers).

usage: make_tokenizer_golden.py TOKENIZERS OUTPUT
TOKENIZERS holds gpt2/{vocab.json,merges.txt}, bert-base-uncased/vocab.txt and neox-20b/tokenizer.json. Writes
OUTPUT/random.jsonl.xz: random strings of mixed scripts, with their ids by each tokenizer."""
import json
import lzma
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.implementations import BertWordPieceTokenizer, ByteLevelBPETokenizer

STRINGS = 2000
WORDS = ("the of and don't WE'LL it's naïve café Straße İstanbul ΑΛΦΑ Привет мир नमस्ते สวัสดี שלום مرحبا 你好 世界 こんにちは 한국어 "
         "résumé 3.14 2024-01-01 x=y+1; foo_bar() http://a.b/c?d=e #tag @me ½ ² Ⅷ ٣ ﬁ Ǆ ß ſ K Å e\u0301 a\u0300\u0323 "
         "<|endoftext|> [CLS] [MASK] 👍🏽 👩‍💻 😀 🇩🇪").split()
SPACES = [" ", " ", " ", "  ", "   ", "      ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2028", "\u200b", ""]
# Blocks that were settled long ago: libraries differ on characters that are newer than their tables.
BLOCKS = [(0x20, 0x7E), (0x20, 0x7E), (0x00, 0x1F), (0x7F, 0x24F), (0x300, 0x33F), (0x391, 0x3A1), (0x3A3, 0x3CE),
          (0x410, 0x44F), (0x5D0, 0x5EA), (0x621, 0x63A), (0x64B, 0x652), (0x905, 0x939), (0x93E, 0x94D), (0xE01, 0xE2E),
          (0x1E00, 0x1EF9), (0x2010, 0x2027), (0x2030, 0x205E), (0x20A0, 0x20B5), (0x2100, 0x2138), (0x2190, 0x21FF),
          (0x2460, 0x24FF), (0x3001, 0x3020), (0x3041, 0x3094), (0x30A1, 0x30FA), (0x4E00, 0x4FFF), (0xAC00, 0xAFFF),
          (0xF900, 0xF9FF), (0xFF01, 0xFF5E), (0x1F600, 0x1F64F), (0x20000, 0x200FF), (0xFFFD, 0xFFFD), (0xE000, 0xE00F)]


def random_string(rng):
    parts = []
    for _ in range(rng.randint(1, 8)):
        draw = rng.random()
        if draw < 0.5:
            parts.append(rng.choice(WORDS))
        else:
            low, high = rng.choice(BLOCKS)
            parts.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 4))))
        parts.append(rng.choice(SPACES))
    return "".join(parts)


def main(tokenizers, output):
    gpt2 = ByteLevelBPETokenizer(str(tokenizers / "gpt2/vocab.json"), str(tokenizers / "gpt2/merges.txt"))
    bert = BertWordPieceTokenizer(str(tokenizers / "bert-base-uncased/vocab.txt"))
    models = {"gpt2": gpt2._tokenizer, "bert": bert._tokenizer,
              "neox": Tokenizer.from_file(str(tokenizers / "neox-20b/tokenizer.json"))}
    for model in models.values():
        model.encode_special_tokens = True
    rng = random.Random(20240607)
    lines = []
    for _ in range(STRINGS):
        text = random_string(rng)
        line = {"text": text}
        for name, model in models.items():
            line[name] = model.encode(text, add_special_tokens=False).ids
        lines.append(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
    packed = lzma.compress(("\n".join(lines) + "\n").encode(), preset=9)
    (output / "random.jsonl.xz").write_bytes(packed)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
