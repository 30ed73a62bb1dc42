#!/usr/bin/env python3
"""Makes tests/text/golden/scores.json.xz: scores of generated texts by the reference programs, to hold Skein's against.

    python3 tools/make_text_score_golden.py tests/text/golden/scores.json.xz
    python3 tools/make_text_score_golden.py --random 20000 SEED OUTPUT

Needs sacrebleu 2.6 and rouge-score 0.1.2 from PyPI. SQuAD's measures are written out below, from the definition in its
paper and its evaluation scripts. Every metric with many settings over samples of all scripts, with control characters,
empty and long texts and several references. The second form writes JSON lines for a comparison at large, each a
sample of random text with settings drawn for it and its scores."""
import collections
import json
import lzma
import random
import re
import string
import sys
import unicodedata
from pathlib import Path

from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import _compute_p_value, estimate_ci

WORDS = ("the of and a an don't WE'LL it's naïve café Straße İstanbul ΑΛΦΑ ΣΟΦΟΣ ὈΔΥΣΣΕΎΣ Σ ΑΣ' Привет мир नमस्ते สวัสดี שלום مرحبا ٣٫١٤ 你好 "
         "世界 こんにちは 한국어 résumé 3.14 1,000,000 2024-01-01 10-20 x=y+1; foo_bar() http://a.b/c?d=e #tag @me ½ ² Ⅷ ٣ ﬁ ǅ ß ſ K Å "
         "e\u0301 a\u0300\u0323 the\u0301 &quot;hi&quot; &amp;lt; &lt;b&gt; <skipped> 👍🏽 👩‍💻 😀 🇩🇪 。 ，「 」 … — – « » “ ” ‘ ’ ( ) [ ] . , ! ? "
         "running generalizations relational hopping dying skies conditional happily agreed 'tis - -- 5- -5 .5 5. ,, .. U.S. Mr. $5 €5 100% "
         "cat sat mat on dog house big red was is in to that for with he she they").split()
SPACES = [" "] * 12 + ["  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\u200b", "", "\x1c", "\x1f", "\x85", "-\n", "\ufeff", "\x00", "\v"]
BLOCKS = [(0x20, 0x7E), (0x20, 0x7E), (0x00, 0x1F), (0x7F, 0x24F), (0x250, 0x2FF), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F),
          (0x531, 0x58A), (0x591, 0x5F4), (0x600, 0x6FF), (0x900, 0x97F), (0xE01, 0xE5B), (0x10A0, 0x10FF), (0x13A0, 0x13FD), (0x1C90, 0x1CBF),
          (0x1D00, 0x1DBF), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x209C), (0x20A0, 0x20BF), (0x2100, 0x218B), (0x2190, 0x23FF),
          (0x2460, 0x24FF), (0x2500, 0x27BF), (0x2A00, 0x2BFF), (0x2C00, 0x2D2D), (0x2E80, 0x2FDF), (0x3000, 0x30FF), (0x3100, 0x33FF),
          (0x3400, 0x34FF), (0x4E00, 0x4FFF), (0x9F90, 0x9FEF), (0xA490, 0xA4FF), (0xA640, 0xA7BF), (0xAC00, 0xAFFF), (0xE000, 0xE00F),
          (0xF900, 0xFAD9), (0xFB00, 0xFDFF), (0xFE10, 0xFFEF), (0xFFF9, 0xFFFD), (0x10400, 0x1044F), (0x104B0, 0x104FF), (0x118A0, 0x118FF),
          (0x1D400, 0x1D7FF), (0x1E900, 0x1E959), (0x1F100, 0x1F1FF), (0x1F300, 0x1F64F), (0x20000, 0x200FF), (0xE0001, 0xE007F)]

BLEU_SETTINGS = [{"tokenizer": t} for t in ("13a", "intl", "zh", "char", "none")] + [
    {"smoothing": "floor"}, {"smoothing": "floor", "smooth_value": "0.01"}, {"smoothing": "add-k"},
    {"smoothing": "add-k", "smooth_value": "0.5", "tokenizer": "intl"}, {"smoothing": "none"}, {"lowercase": "true"},
    {"lowercase": "true", "tokenizer": "char"}, {"effective_order": "true"}, {"effective_order": "true", "smoothing": "none"}]
CHRF_SETTINGS = [{}, {"word_order": "2"}, {"word_order": "1", "lowercase": "true"}, {"whitespace": "true"}, {"eps_smoothing": "true"},
                 {"eps_smoothing": "true", "word_order": "2"}, {"beta": "1"}, {"beta": "3", "char_order": "4", "word_order": "3"},
                 {"char_order": "1"}]
SETTINGS = ([("bleu", s) for s in BLEU_SETTINGS] + [("chrf", s) for s in CHRF_SETTINGS] + [("ter", {})] +
            [("rouge", {}), ("rouge", {"stemmer": "true"})] +
            [(m, s) for m in ("exact_match", "f1") for s in ({}, {"squad": "2.0"})])


def is_true(options, key):
    return options.get(key) == "true"


def bleu(options, sentences=False):
    value = options.get("smooth_value")
    return BLEU(lowercase=is_true(options, "lowercase"), tokenize=options.get("tokenizer", "13a"),
                smooth_method=options.get("smoothing", "exp"), smooth_value=float(value) if value else None,
                effective_order=sentences or is_true(options, "effective_order"))


def chrf(options):
    return CHRF(char_order=int(options.get("char_order", 6)), word_order=int(options.get("word_order", 0)),
                beta=int(options.get("beta", 2)), lowercase=is_true(options, "lowercase"),
                whitespace=is_true(options, "whitespace"), eps_smoothing=is_true(options, "eps_smoothing"))


def transposed(references):
    """Streams of references, None where a sample has fewer."""
    most = max(map(len, references))
    return [[sample[i] if i < len(sample) else None for sample in references] for i in range(most)]


def by_sacrebleu(name, options, samples):
    made = {"bleu": bleu, "chrf": chrf, "ter": lambda options: TER()}[name]
    single = bleu(options, sentences=True) if name == "bleu" else made(options)
    whole = made(options)
    corpus = whole.corpus_score([h for h, _ in samples], transposed([r for _, r in samples])).score
    sentences = [{name: single.sentence_score(h, r).score} for h, r in samples]
    return sentences, {name: corpus}, str(whole.get_signature())


def means(rows):
    return {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}


def by_rouge_score(options, samples):
    kinds = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    scorer = rouge_scorer.RougeScorer(kinds, use_stemmer=is_true(options, "stemmer"))
    rows = []
    for hypothesis, references in samples:
        scores = scorer.score_multi(references, hypothesis)
        row = {}
        for kind in kinds:
            row[kind] = 100 * float(scores[kind].fmeasure)
            row[kind + "_precision"] = 100 * float(scores[kind].precision)
            row[kind + "_recall"] = 100 * float(scores[kind].recall)
        rows.append(row)
    return rows, means(rows), ""


def squad_words(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def squad_exact(said, answer, _):
    return float(said == answer)


def squad_f1(said, answer, version):
    if version == "2.0" and not (said and answer):
        return float(said == answer)
    same = sum((collections.Counter(said) & collections.Counter(answer)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(said), same / len(answer)
    return 2 * precision * recall / (precision + recall)


def by_squad(name, options, samples):
    score = squad_exact if name == "exact_match" else squad_f1
    version = options.get("squad", "1.1")
    rows = []
    for hypothesis, references in samples:
        answers = [squad_words(r) for r in references]
        if version == "2.0":
            answers = [a for a in answers if a] or [[]]
        rows.append({name: 100 * max(score(squad_words(hypothesis), a, version) for a in answers)})
    return rows, means(rows), ""


def scored(name, options, samples):
    if name == "rouge":
        return by_rouge_score(options, samples)
    if name in ("exact_match", "f1"):
        return by_squad(name, options, samples)
    return by_sacrebleu(name, options, samples)


def random_characters(rng, most):
    made = []
    while len(made) < most:
        low, high = rng.choice(BLOCKS)
        run = [chr(rng.randint(low, high)) for _ in range(rng.randint(1, 4))]
        made += [c for c in run if unicodedata.category(c) != "Cn"]
        if rng.random() < 0.2:
            made.append(rng.choice(SPACES))
    return "".join(made)


def random_text(rng, most=30):
    words = []
    for _ in range(rng.randint(0, most)):
        words.append(rng.choice(WORDS) if rng.random() < 0.85 else random_characters(rng, rng.randint(1, 6)))
        words.append(rng.choice(SPACES))
    return "".join(words)


def changed(rng, text):
    """The same with words and characters left out, doubled, moved, replaced."""
    words = text.split(" ")
    for _ in range(rng.randint(0, 6)):
        at, to = rng.randrange(len(words) + 1), rng.randrange(len(words) + 1)
        draw = rng.random()
        if draw < 0.25:
            words[at:at + 1] = []
        elif draw < 0.5:
            words[at:at] = [rng.choice(WORDS)]
        elif draw < 0.8:
            words[to:to], words[at:at + 3] = words[at:at + 3], []
        else:
            words[at:at + 1] = [w.swapcase() for w in words[at:at + 1]]
    return " ".join(words)


def random_sample(rng, most=30):
    references = [random_text(rng, most)]
    for _ in range(rng.choice([0, 0, 0, 1, 2, 3])):
        references.append(changed(rng, references[0]) if rng.random() < 0.8 else random_text(rng, most))
    draw = rng.random()
    hypothesis = changed(rng, rng.choice(references)) if draw < 0.9 else random_text(rng, most)
    return hypothesis, references


def hard_samples(rng):
    long_text = " ".join(rng.choice(WORDS) for _ in range(1500))
    lines = "\n".join(random_text(rng, 8) for _ in range(30))
    fixed = [("", [""]), ("", ["a"]), ("a", [""]), (" ", ["\u3000"]), ("a", ["a"]), ("The", ["a"]), ("the cat", ["cat"]), ("x", ["y"]),
             ("a b c d", ["a b c d"]), ("a b c", ["a b c"]), ("the the the", ["the cat the", "the"]), (long_text, [changed(rng, long_text)]),
             (lines, [changed(rng, lines)]), ("\n\n", ["\n"]), ("a\n\nb\n c d e", ["c d\nb a\n\n e"]), ("ΟΔΟΣ ΣΑΣ Σ. ΑΣ’Α", ["οδος σας σ. ας’α"]),
             ("我爱你。中国", ["我愛你，中国"]), ("a" * 3000, ["a" * 2999 + "b"]), ("&amp;quot; &quot; <skipped>", ["& \" x"]),
             ("2.5,3 .5 5. 1-2 x-y 3-", ["2.5, 3.5 5 . 1 - 2"]), ("\u00bd.\u00bd,\u0663.\u0664", ["½ . ½"]), ("d c b a " * 40, ["a b c d " * 40])]
    return fixed + [random_sample(rng) for _ in range(50)]


DRAW_KEY = 0x001E5BE11FBE4A8F  # derive_key(12345, "score.bootstrap")
MULTIPLIERS, WEYL, MASK = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 0xFFFFFFFF


def philox(key, counter):
    """Philox4x32-10 (Salmon et al. 2011): four words of 32 bits."""
    k, c = [key & MASK, key >> 32], list(counter)
    for _ in range(10):
        p = [MULTIPLIERS[0] * c[0], MULTIPLIERS[1] * c[2]]
        c = [(p[1] >> 32) ^ c[1] ^ k[0], p[1] & MASK, (p[0] >> 32) ^ c[3] ^ k[1], p[0] & MASK]
        k = [(k[0] + WEYL[0]) & MASK, (k[1] + WEYL[1]) & MASK]
    return c


def drawn(count, key, number):
    """The samples of a resample, as include/skein/text/scores/bootstrap.h draws them."""
    made = []
    for i in range(0, count, 2):
        w = philox(key, (i // 2, 0, number, 0))
        made += [(high << 32 | low) * count >> 64 for high, low in (w[:2], w[2:])]
    return made[:count]


def bootstrap(rng, key):
    """sacrebleu's paired bootstrap over our draws."""
    import numpy
    samples = [random_sample(rng, 12) for _ in range(31)]
    others = [changed(rng, r[0]) for _, r in samples]
    metric, scores = bleu({}), []
    for hypotheses in ([h for h, _ in samples], others):
        stats = numpy.array(metric._extract_corpus_statistics(hypotheses, transposed([r for _, r in samples])))
        real = metric._compute_score_from_stats(stats.sum(0).tolist()).score
        scores.append((real, numpy.array([metric._compute_score_from_stats(stats[drawn(31, key, n)].sum(0).tolist()).score
                                          for n in range(200)])))
    (first, firsts), (second, seconds) = scores
    apart = numpy.abs(seconds - firsts)
    mean, half = estimate_ci(seconds)
    return {"hypotheses": [h for h, _ in samples], "others": others, "references": [r for _, r in samples], "score": first,
            "other": second, "mean": float(mean), "half": float(half), "p": float(_compute_p_value(apart - apart.mean(), abs(second - first))),
            "wins": float((seconds > firsts).mean())}


def stems(rng):
    ends = ("ational tional enci izer bli alli entli eli ousli ization ation ator alism iveness fulness aliti iviti biliti fulli logi icate ative "
            "alize iciti ical ful ness al ance er ic able ement ment ent ion ou ism ate ive ize e ll s ies sses eed ed ing y ied at bl iz").split()
    stemmer = PorterStemmer()
    words = set("sky skies dying lying tying news innings outing cannings howe proceed exceed succeed yyyy syzygy hopping enjoy".split())
    while len(words) < 1500:
        stem = "".join(rng.choice("aeiouybcdfglnrstwxz0") for _ in range(rng.randint(1, 6)))
        words.add(stem + "".join(rng.choice(ends) for _ in range(rng.randint(0, 2))))
    return {word: stemmer.stem(word) for word in sorted(words)}


def write_golden(path):
    rng = random.Random(7)
    samples = hard_samples(rng)
    golden = {"samples": samples, "runs": []}
    for name, options in SETTINGS:
        rows, corpus, signature = scored(name, options, samples)
        golden["runs"].append({"metric": name, "options": options, "samples": rows, "corpus": corpus,
                               "signature": signature.rsplit("|", 1)[0]})
    golden["bootstrap"] = bootstrap(rng, DRAW_KEY)
    golden["stems"] = stems(rng)
    data = json.dumps(golden, ensure_ascii=False, separators=(",", ":")).encode()
    Path(path).write_bytes(lzma.compress(data, preset=9))
    print(f"{path}: {Path(path).stat().st_size} bytes, {len(samples)} samples, {len(SETTINGS)} settings")


def write_random(count, seed, path):
    rng = random.Random(seed)
    with open(path, "w") as out:
        for _ in range(count):
            hypothesis, references = random_sample(rng)
            chosen, expected = {}, {}
            for name, options in SETTINGS:
                chosen.setdefault(name, []).append(options)
            for name, all_options in chosen.items():
                options = rng.choice(all_options)
                expected[name] = (options, scored(name, options, [(hypothesis, references)])[0][0])
            print(json.dumps({"h": hypothesis, "r": references, "want": expected}), file=out)


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "--random":
        write_random(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    elif len(sys.argv) == 2:
        write_golden(sys.argv[1])
    else:
        sys.exit(__doc__)
