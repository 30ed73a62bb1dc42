#!/usr/bin/env python3
"""Makes what the tokenizer tests compare with, by the reference library (pip install tokenizers).

usage: make_tokenizer_golden.py TOKENIZERS OUTPUT
TOKENIZERS holds gpt2/{vocab.json,merges.txt}, bert-base-uncased/vocab.txt, neox-20b/tokenizer.json and train.txt, any text. Writes
OUTPUT/random.jsonl.xz: random strings of mixed scripts, with their ids by each tokenizer; OUTPUT/small.jsonl.xz: small
tokenizers with many settings and what they make of some strings; OUTPUT/patterns.jsonl.xz: patterns of Split and the
words they divide strings into; OUTPUT/classes.jsonl.xz: the same of the splits without a pattern; OUTPUT/trained.json.xz: a
text, and what is learnt of it."""
import json
import lzma
import random
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
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


# What regular expression libraries understand in different ways, and patterns of published tokenizers.
PATTERNS = [r"[a-z&&[^aeiou]]+", r"[\p{L}&&\p{ASCII}]+", r"[[a-f][0-9]]+", r"[a-z[0-9]_]+", r"[^[:alpha:]]+", r"[[:digit:]_]+",
            r"[[:^space:]]+", r"\p{Han}+", r"\p{Hiragana}+", r"\p{Greek}+", r"\p{Cyrillic}+", r"\p{Arabic}+", r"\p{Devanagari}+",
            r"\p{Thai}+", r"\p{Hangul}|\p{Katakana}", r"\p{^L}+", r"\P{N}+", r"\p{Alphabetic}+", r"\p{Emoji}", r"\p{N}{1,3}+",
            r"\d{2}+", r"[a-z]++", r"\w?+", r"^\w+", r"\w+$", r"^", r"$", r"\A\w+", r"\w+\z", r"\w+\Z", r"\h+", r"\H+", r"\R", r"\X",
            r"\w+", r"\W+", r"\d+", r"\s+", r"\S+", r"\b", r"\B", r".", r".+", r"(?m:.+)", r"(?i)straße", r"(?i:ss)", r"(?i:k)+",
            r"(?<=\s)\S", r"(?<!\w)\w", r"\w(?=\s)", r"(?!a)\w+", r"(?>a+|\w+)x?", r"(\w)\1", r"(?<c>\w)\k<c>", r"x*", r"a??", r"(?:)",
            r"\x{4e00}|\u4f60|\x41", r"[\x{3040}-\x{30ff}]+", r"\t|\n|\e|\a", r"\Qa.b\E", r"a{,3}", r"a{2}|b{1,}", r"[]a]+", r"[a-]+",
            r"\p{L}\p{M}*", r"\p{Lu}\p{Ll}+", r"\p{Script=Latin}+", r"\G\w", r"\O", r"\N+", r"(?x) \w+ # words", r"\K\w",
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
            r"[一-龥぀-ゟ゠-ヿ]+", r"\p{Ll}|\p{Lt}|\p{Lm}", r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+", r"[^(\s|[.,!?…。，、।۔،])]+",
            r"(?=(\d{3})+(?!\d))"]
# Letters in frames and a character that was white space once.
ODD = ["a\U0001F170b \u180e c", "\u180e\u180e", "x\U0001F149\u24b6\u0301_", "\u203f\u200dz\u2160 \u00bd", "a\na\r\nb\u2028c", ""]


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


SENTENCES = ["the cat sat on the mat", "The CATS sat, didn't they?", "naïve cafés in Ångström", "ﬁne ½ things ①②③", "don't  stop\n\nnow",
             "12345 and 67", "hello <mask> world", "hello  <mask>  world", "a<sep>b <sep> c", "cathat hat hats hat", "x  NEW  y new",
             "HELLO hello", "tab\tand\r\nreturn", "e\u0301a\u0300", "  ", "", "[CLS] [SEP] literal", "日本 text", "<s>bad</s>",
             "one.two,three!four?", "I do not know, it's 've 're n't .", "İI", "word_with_underscore", "Łódź ǅ ſ"]


def byte_level(words, **settings):
    tokenizer = Tokenizer(models.BPE(**settings))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=340, min_frequency=1, show_progress=False, special_tokens=["<s>", "</s>", "<unk>"],
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(words, trainer)
    return tokenizer


def word_piece(words, lowercase):
    bert = BertWordPieceTokenizer(lowercase=lowercase)
    bert.train_from_iterator(words, vocab_size=150, min_frequency=1, show_progress=False)
    tokenizer = bert._tokenizer
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", tokenizer.token_to_id("[SEP]")),
                                                         ("[CLS]", tokenizer.token_to_id("[CLS]")))
    return tokenizer


def small_tokenizers():
    split = pre_tokenizers.Split
    plain_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for lowercase in (True, False):
        yield word_piece(SENTENCES, lowercase)
    for dividing in (pre_tokenizers.Whitespace(), pre_tokenizers.WhitespaceSplit(),
                     pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation(),
                                              pre_tokenizers.Digits(individual_digits=True)])):
        tokenizer = word_piece(SENTENCES, True)
        tokenizer.pre_tokenizer = dividing
        yield tokenizer
    for normalizer in (normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD(),
                       normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])):
        tokenizer = byte_level(SENTENCES)
        tokenizer.normalizer = normalizer
        tokenizer.add_tokens([AddedToken("new", normalized=True), AddedToken("  ", normalized=True)])
        yield tokenizer
    llama = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    for dividing in (pre_tokenizers.ByteLevel(add_prefix_space=True), plain_bytes,
                     pre_tokenizers.Sequence([split(Regex(llama), "isolated"), plain_bytes]),
                     pre_tokenizers.Sequence([split(Regex(llama.replace("{1,3}", "{2}|\\p{N}")), "isolated"), plain_bytes]),
                     pre_tokenizers.Sequence([split(Regex(r"[\p{L}\p{N}]+"), "removed", invert=True), plain_bytes]),
                     pre_tokenizers.Sequence([split("a", "removed"), pre_tokenizers.ByteLevel(add_prefix_space=True)]),
                     pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=False), plain_bytes])):
        tokenizer = byte_level(SENTENCES)
        tokenizer.pre_tokenizer = dividing
        yield tokenizer
    for settings in ({"ignore_merges": True}, {"unk_token": "<unk>"}):
        yield byte_level(SENTENCES, **settings)
    tokenizer = byte_level(SENTENCES)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("<sep>", rstrip=True), "[SEP]"])
    tokenizer.add_tokens([AddedToken("hat", single_word=True), AddedToken("cat", rstrip=True, lstrip=True), "stop"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    yield tokenizer
    tokenizer = byte_level(SENTENCES)
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(), processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A:0 </s>:1 </s>:0 $B:1 </s>:1", special_tokens=[("<s>", 0), ("</s>", 1)])])
    yield tokenizer


def made_of(tokenizer, text):
    tokenizer.encode_special_tokens = True
    plain = tokenizer.encode(text, add_special_tokens=False).ids
    tokenizer.encode_special_tokens = False
    special = tokenizer.encode(text, add_special_tokens=False).ids
    pair = tokenizer.encode(text, "b")
    return {"text": text, "plain": plain, "special": special, "single": tokenizer.encode(text).ids, "pair": pair.ids,
            "types": pair.type_ids, "decoded": tokenizer.decode(special), "decoded_all":
            tokenizer.decode(special, skip_special_tokens=False)}


def small_golden():
    for tokenizer in small_tokenizers():
        yield json.dumps({"tokenizer": json.loads(tokenizer.to_str()), "strings": [made_of(tokenizer, s) for s in SENTENCES]},
                         ensure_ascii=False, separators=(",", ":"))


def words_of(splitter, text):
    return [word for word, _ in splitter.pre_tokenize_str(text)]


def packed_lines(lines):
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)


def pattern_golden(rng):
    for pattern in PATTERNS:
        try:
            regex = Regex(pattern)
        except Exception:
            yield {"pattern": pattern, "refused": True}
            continue
        isolated, removed = (pre_tokenizers.Split(regex, behavior) for behavior in ("isolated", "removed"))
        texts = ODD + SENTENCES[:12] + [random_string(rng) for _ in range(25)]
        yield {"pattern": pattern, "strings": [{"text": text, "words": words_of(isolated, text), "between": words_of(removed, text)}
                                               for text in texts]}


def class_golden(rng):
    made = pre_tokenizers
    for splitter, json_form in ((made.Whitespace(), {"type": "Whitespace"}), (made.WhitespaceSplit(), {"type": "WhitespaceSplit"}),
                                (made.Punctuation("isolated"), {"type": "Punctuation", "behavior": "Isolated"}),
                                (made.Digits(True), {"type": "Digits", "individual_digits": True}),
                                (made.Digits(False), {"type": "Digits", "individual_digits": False}),
                                (made.BertPreTokenizer(), {"type": "BertPreTokenizer"})):
        texts = ODD + SENTENCES + [random_string(rng) for _ in range(200)]
        yield {"pre_tokenizer": json_form, "strings": [{"text": text, "words": words_of(splitter, text)} for text in texts]}


def trained_golden(text):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    # "the" is also a word of the text.
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "the"]
    trainer = trainers.BpeTrainer(vocab_size=1500, min_frequency=2, special_tokens=special, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([text], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    pieces = BertWordPieceTokenizer(lowercase=True)
    pieces.train_from_iterator([text], vocab_size=500, min_frequency=2, limit_alphabet=30, show_progress=False)
    return json.dumps({"text": text, "special": special, "vocab": model["vocab"], "merges": model["merges"],
                       "wordpiece": sorted(pieces.get_vocab())}, ensure_ascii=False, separators=(",", ":"))


def pack(path, text):
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def main(tokenizers, output):
    pack(output / "small.jsonl.xz", "\n".join(small_golden()) + "\n")
    pack(output / "patterns.jsonl.xz", packed_lines(pattern_golden(random.Random(51))))
    pack(output / "classes.jsonl.xz", packed_lines(class_golden(random.Random(78))))
    text = (tokenizers / "train.txt").read_text()
    pack(output / "trained.json.xz", trained_golden(text))
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
    pack(output / "random.jsonl.xz", "\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
