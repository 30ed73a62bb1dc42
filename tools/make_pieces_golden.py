#!/usr/bin/env python3
"""Makes what the tests of Unigram, SentencePiece and whole words compare with, by the reference libraries
(pip install tokenizers sentencepiece transformers protobuf).

usage: make_pieces_golden.py TEXT OUTPUT
TEXT is any text of some 100 kB. Writes OUTPUT/sentencepiece.jsonl.xz: small models of `sentencepiece` with many settings, and what that
library makes of some strings; OUTPUT/pieces.jsonl.xz: tokenizer.json files of Unigram, of BPE over characters and of whole words, and
what `tokenizers` makes of them; OUTPUT/transformers.jsonl.xz: the same models as T5's and Llama's tokenizers in `transformers` see them;
OUTPUT/charsmap.jsonl.xz: what both libraries' normalizers make of characters by SentencePiece's own table."""
import base64
import json
import lzma
import os
import random
import sys
import tempfile
from pathlib import Path

import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2 as proto
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from make_tokenizer_golden import BLOCKS, WORDS, random_string

HARD = ["", " ", "   ", "a", " a", "a ", "  a  b  ", "the cat sat on the mat.", "The  CATS\tsat,\n didn't\r\nthey?", "naïve cafés e\u0301a\u0300\u0323",
        "ｆｕｌｌｗｉｄｔｈ ｶﾞ ＡＢＣ１２３", "ﬁne ½ things ①②③ ™ Å K", "=====", "--------------------", "...?!?!", "1234567890 3.14", "日本語のテキスト 你好 世界",
        "👍🏽 👩‍💻 😀 🇩🇪", "\u200b\ufeffa\u00adb\u2028c\u3000d\u00a0e", "\x00\x01\x02 a\x7fb\x1b[0m", "\ufffd \ue000 \U0010ffff", "▁a▁▁b ▁ c▁", "<s> </s> <unk> <pad>",
        "<0x0A> <0xE2>", "x" * 300, "ab" * 200, "supercalifragilistic" * 10, "mixed日本andEnglish", "1️⃣ #️⃣ क्ष त्र", "ａ\u0301 ｂ\u0300", "<user> a<user>b", "a <sep> b", "\n", "\n\na\n", "\t tab"]
NAMES = {"<s>", "</s>", "<pad>", "<unk>"}


def strings(rng, count):
    return HARD + [random_string(rng) for _ in range(count)]


def trained(text, directory, **settings):
    prefix = os.path.join(directory, "m")
    data = os.path.join(directory, "text")
    Path(data).write_text(text)
    spm.SentencePieceTrainer.train(input=data, model_prefix=prefix, num_threads=1, minloglevel=2, hard_vocab_limit=False, **settings)
    return Path(prefix + ".model").read_bytes()


def changed(model, change):
    message = proto.ModelProto.FromString(model)
    change(message)
    return message.SerializeToString()


def unused(message):
    long = [piece for piece in message.pieces if piece.type == 1 and len(piece.piece) > 1]
    for piece in long[10:160:3]:
        piece.type = 5


def small_models(text):
    with tempfile.TemporaryDirectory() as directory:
        def make(**settings):
            return trained(text, directory, **settings)
        yield "unigram nmt_nfkc", make(vocab_size=400, model_type="unigram")
        yield "unigram t5", make(vocab_size=400, model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
        yield "unigram identity bytes", make(vocab_size=600, model_type="unigram", normalization_rule_name="identity", byte_fallback=True)
        llama = {"model_type": "bpe", "normalization_rule_name": "identity", "byte_fallback": True, "remove_extra_whitespaces": False,
                 "allow_whitespace_only_pieces": True, "split_digits": True}
        bpe = make(vocab_size=600, **llama)
        yield "bpe llama", bpe
        yield "bpe unused", changed(bpe, unused)
        yield "bpe nfkc_cf user", make(vocab_size=350, model_type="bpe", normalization_rule_name="identity",
                                       user_defined_symbols=["<user>", "<sep>", "at the"], control_symbols=["<ctl>"])
        user = make(vocab_size=380, model_type="unigram", normalization_rule_name="identity", user_defined_symbols=["<user>", "<sep>", "ing"],
                    add_dummy_prefix=False, unk_surface="<?>")
        yield "unigram user no prefix", user
        yield "unigram unused", changed(user, unused)
        yield "unigram no prefix keeps spaces", make(vocab_size=350, model_type="unigram", normalization_rule_name="identity",
                                                     add_dummy_prefix=False, remove_extra_whitespaces=False)
        yield "unigram prefix keeps spaces", make(vocab_size=350, model_type="unigram", normalization_rule_name="identity",
                                                  remove_extra_whitespaces=False)
        yield "bpe crossing words", make(vocab_size=350, model_type="bpe", normalization_rule_name="identity", split_by_whitespace=False)
        yield "unigram crossing words", make(vocab_size=350, model_type="unigram", normalization_rule_name="identity", split_by_whitespace=False)


def spm_golden(all_models, rng):
    for name, model in all_models:
        processor = spm.SentencePieceProcessor(model_proto=model)
        made = []
        for text in strings(rng, 60):
            ids = processor.encode(text)
            made.append({"text": text, "ids": ids, "decoded": processor.decode(ids)})
        drawn = []
        for _ in range(20):
            ids = [rng.randrange(processor.get_piece_size()) for _ in range(rng.randint(1, 8))]
            drawn.append({"ids": ids, "decoded": processor.decode(ids)})
        yield {"name": name, "model": base64.b64encode(model).decode(), "strings": made, "drawn": drawn}


def vocabulary_of(model):
    return [(piece.piece, piece.score) for piece in proto.ModelProto.FromString(model).pieces]


def charsmap_of(model):
    return proto.ModelProto.FromString(model).normalizer_spec.precompiled_charsmap


def unigram(model, **settings):
    vocabulary = vocabulary_of(model)
    unknown = next(i for i, (piece, _) in enumerate(vocabulary) if piece == "<unk>")
    tokenizer = Tokenizer(models.Unigram(vocabulary, unknown, **settings))
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name, _ in vocabulary if name in NAMES])
    return tokenizer


def merges_of(model):
    ids = {piece: i for i, (piece, _) in enumerate(vocabulary_of(model))}
    ranked = []
    for piece, score in vocabulary_of(model):
        for at in range(1, len(piece)):
            if piece[:at] in ids and piece[at:] in ids:
                ranked.append((-score, ids[piece], ids[piece[:at]], ids[piece[at:]], (piece[:at], piece[at:])))
    return ids, [merge for *_, merge in sorted(ranked)]


def llama_decoder():
    return decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])


def word_level(text, **settings):
    words = sorted(set(text.split()), key=lambda word: (-text.count(word), word))[:200]
    vocabulary = {word: i for i, word in enumerate(["[UNK]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(["[UNK]", "[SEP]"])
    tokenizer.pre_tokenizer = settings.get("pre_tokenizer", pre_tokenizers.WhitespaceSplit())
    return tokenizer


def small_tokenizers(made, text):
    nfkc, byte, llama = made["unigram nmt_nfkc"], made["unigram identity bytes"], made["bpe llama"]
    strip, spaces = normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "▁")
    for scheme in ("always", "first", "never"):
        for split in (True, False):
            tokenizer = unigram(nfkc)
            tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap_of(nfkc)), strip, spaces])
            tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
            tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
            yield f"metaspace {scheme} {split}", tokenizer
    for scheme in ("always", "first"):
        tokenizer = unigram(nfkc)
        tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(),
                                                     normalizers.Lowercase()])
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme=scheme)])
        tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
        tokenizer.add_tokens(["cat", AddedToken("mat", normalized=False, lstrip=True)])
        yield f"t5 {scheme}", tokenizer
    tokenizer = unigram(byte, byte_fallback=True)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = llama_decoder()
    yield "unigram bytes", tokenizer
    ids, merges = merges_of(llama)
    for legacy in (True, False):
        for fallback in (True, False):
            tokenizer = Tokenizer(models.BPE(ids, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=fallback))
            tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in ("<unk>", "<s>", "</s>")])
            if legacy:
                tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
            else:
                tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
            tokenizer.decoder = llama_decoder()
            tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
            yield f"llama {legacy} {fallback}", tokenizer
    yield "words", word_level(text)
    yield "words of a pattern", word_level(text, pre_tokenizer=pre_tokenizers.Split(Regex(r"\w+"), "removed", invert=True))
    tokenizer = word_level(text, pre_tokenizer=pre_tokenizers.Whitespace())
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    yield "words tidied", tokenizer


def made_of(tokenizer, text):
    tokenizer.encode_special_tokens = False
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return {"text": text, "ids": ids, "single": tokenizer.encode(text).ids, "decoded": tokenizer.decode(ids),
            "decoded_all": tokenizer.decode(ids, skip_special_tokens=False)}


def tokenizer_golden(made, text, rng):
    for name, tokenizer in small_tokenizers(made, text):
        yield {"name": name, "tokenizer": json.loads(tokenizer.to_str()), "strings": [made_of(tokenizer, s) for s in strings(rng, 40)]}


def transformers_golden(made, rng):
    from transformers import LlamaTokenizer, T5Tokenizer
    for name, kind, file in (("unigram t5", T5Tokenizer, "spiece.model"), ("bpe llama", LlamaTokenizer, "tokenizer.model")):
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, file).write_bytes(made[name])
            Path(directory, "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind.__name__, "extra_ids": 5} if kind is T5Tokenizer else
                                                                           {"tokenizer_class": kind.__name__}))
            tokenizer = kind.from_pretrained(directory)
            backend = tokenizer.backend_tokenizer
            yield {"name": name, "class": kind.__name__, "tokenizer": json.loads(backend.to_str()),
                   "strings": [made_of(backend, s) for s in strings(rng, 40)]}


def charsmap_golden(model, rng):
    reference = normalizers.Precompiled(charsmap_of(model))
    settings = proto.ModelProto.FromString(model)
    settings.normalizer_spec.add_dummy_prefix = settings.normalizer_spec.remove_extra_whitespaces = False
    settings.normalizer_spec.escape_whitespaces = False
    processor = spm.SentencePieceProcessor(model_proto=settings.SerializeToString())
    texts = HARD + [random_string(rng) for _ in range(300)]
    texts += ["".join(chr(rng.randint(low, high)) for _ in range(6)) for low, high in BLOCKS for _ in range(6)]
    for text in texts:
        yield {"text": text, "tokenizers": reference.normalize_str(text), "sentencepiece": processor.normalize(text)}


def pack(path, lines):
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def main(text, output):
    made = dict(small_models(text))
    pack(output / "sentencepiece.jsonl.xz", spm_golden(made.items(), random.Random(1)))
    pack(output / "pieces.jsonl.xz", tokenizer_golden(made, text, random.Random(2)))
    pack(output / "transformers.jsonl.xz", transformers_golden(made, random.Random(3)))
    pack(output / "charsmap.jsonl.xz", charsmap_golden(made["unigram nmt_nfkc"], random.Random(4)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).read_text()[:120000], Path(sys.argv[2]))
