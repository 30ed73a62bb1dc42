#!/usr/bin/env python3
"""Prints the exact numbers of a language file of `skein ppo --oracle`, by going through all texts as strings: an independent check of what
the program prints, and the source of the numbers in tests/rlhf.

usage: oracle_numbers.py FILE [DUMP [REFERENCE]]

With a dump of the tuned policies it also says, from the dump's probabilities alone, which share of the gap each has closed; the reference of
the dump is the pretrained model unless REFERENCE is "chain". Reads what include/skein/rlhf/oracle/language.h describes, except tables and the
parameters graded and target."""
import math
import sys
from fractions import Fraction


def read_language(path):
    language = {"from": {}, "rewards": [], "prompt": [], "unended": ["keep"], "initial": {}}
    for line in open(path, encoding="utf-8"):
        words = line.split()
        words = words[:next((i for i, w in enumerate(words) if w.startswith("#")), len(words))]
        if not words:
            continue
        key, rest = words[0], words[1:]
        if key == "from":
            language["from"][rest[0]] = {s: Fraction(p) for s, p in zip(rest[1::2], rest[2::2])}
        elif key == "initial":
            language["initial"] = {s: Fraction(p) for s, p in zip(rest[::2], rest[1::2])}
        elif key == "prompt":
            language["prompt"].append((tuple(rest[1:]), Fraction(rest[0])))
        elif key == "reward":
            language["rewards"].append({"words": rest, "betas": []})
        elif key == "beta":
            language["rewards"][-1]["betas"] += [float(Fraction(b)) for b in rest]
        elif key != "closed":
            language[key] = rest
    return language


def prompts_of(language):
    if language["prompt"]:
        return language["prompt"]
    end, (least, most) = language["end"][0], map(int, language["prompts"][1:])
    found = []

    def extend(text, p, length):
        if len(text) == length:
            return found.append((text, p))
        row = language["from"][text[-1]] if text else language["initial"]
        stays = 1 - row.get(end, 0)
        for symbol in language["alphabet"]:
            if row.get(symbol, 0):
                extend(text + (symbol,), p * row[symbol] / stays, length)

    for length in range(least, most + 1):
        extend((), Fraction(1, most - least + 1), length)
    return found


def responses_of(language, prompt):
    """(tokens, probability) of all responses."""
    end, most = language["end"][0], int(language["response"][0])
    found = []

    def extend(text, p):
        if len(text) == most or text[-1:] == (end,):
            return found.append((text, p))
        last = text[-1] if text else prompt[-1] if prompt else None
        row = language["from"][last] if last is not None else language["initial"]
        for symbol in language["alphabet"] + [end]:
            extend(text + (symbol,), p * row.get(symbol, 0))

    extend((), Fraction(1))
    return found


def score(language, words, tokens):
    end, most = language["end"][0], int(language["response"][0])
    ended = tokens[-1:] == (end,)
    text = tokens[:-1] if ended else tokens
    how = language["unended"]
    if not ended and how[0] == "replace":
        return float(how[1])
    given = dict(w.split("=") for w in words if "=" in w)
    wanted = tuple(w for w in words[1:] if "=" not in w)
    plain = {
        "palindrome": lambda: text == text[::-1] and len(text) >= float(given.get("shortest", 2)),
        "length": lambda: len(text) / most,
        "count": lambda: text.count(wanted[0]) / most,
        "contains": lambda: any(text[i:i + len(wanted)] == wanted for i in range(len(text))),
        "begins": lambda: text[:len(wanted)] == wanted,
        "ends": lambda: text[-len(wanted):] == wanted,
        "ended": lambda: ended,
    }[words[0]]()
    value = float(given.get("scale", 1)) * plain + float(given.get("offset", 0))
    return value - float(how[1]) if not ended and how[0] == "subtract" else value


def report_reward(language, words, beta):
    best = reference = reward = divergence = 0.0
    for prompt, share in prompts_of(language):
        pairs = [(score(language, words, y), float(p)) for y, p in responses_of(language, prompt) if p]
        z = math.fsum(p * math.exp(r / beta) for r, p in pairs)
        best += float(share) * beta * math.log(z)
        reference += float(share) * math.fsum(p * r for r, p in pairs)
        for r, p in pairs:
            q = p * math.exp(r / beta) / z
            reward += float(share) * q * r
            divergence += float(share) * q * math.log(q / p)
    print(f"{' '.join(words)}, beta {beta}: J* {best!r}, J of the reference {reference!r}, mean reward of the optimum {reward!r}, "
          f"its KL {divergence!r}")


def read_dump(path):
    """For each reward and beta in order, {(prompt, response): (log of the reference, log of the policy)}."""
    found = []
    for line in open(path, encoding="utf-8"):
        if line.startswith("prompt\t"):
            found.append({})
        elif not line.startswith("# reward"):
            prompt, response, reference, policy = line.rstrip("\n").split("\t")[:4]
            found[-1][tuple(prompt.split()), tuple(response.split())] = float(reference), float(policy)
    return found


def report_dump(language, words, beta, dump, of_chain):
    best = reference = value = mass = 0.0
    for prompt, share in prompts_of(language):
        rows = []
        for response, p in responses_of(language, prompt):
            log_p, log_q = dump[prompt, response]
            rows.append((math.log(p) if of_chain else log_p, log_q, score(language, words, response)))
        best += float(share) * beta * math.log(math.fsum(math.exp(p + r / beta) for p, _, r in rows))
        reference += float(share) * math.fsum(math.exp(p) * r for p, _, r in rows)
        value += float(share) * math.fsum(math.exp(q) * (r - beta * (q - p)) for p, q, r in rows)
        mass = max(mass, abs(math.fsum(math.exp(q) for _, q, _ in rows) - 1))
    print(f"  dump: J* {best!r}, J of the reference {reference!r}, J {value!r}, closed {(value - reference) / (best - reference)!r}, "
          f"probabilities sum to 1 within {mass:.2g}")


def report_texts(language):
    """The least loss of pretraining, from the probability of each beginning of a text."""
    begins, texts = {}, []
    for prompt, share in prompts_of(language):
        for response, p in responses_of(language, prompt):
            if p:
                texts.append((prompt + ("|",) + response, float(share * p)))
    for text, p in texts:
        for n in range(1, len(text) + 1):
            begins[text[:n]] = begins.get(text[:n], 0.0) + p
    nats = math.fsum(p * -math.log(begins[text] / begins[text[:1]]) for text, p in texts)
    tokens = math.fsum(p * (len(text) - 1) for text, p in texts)
    print(f"{len(texts)} texts: least loss {nats / tokens!r} nats a token, {tokens!r} predicted tokens a text")


def main(argv):
    language = read_language(argv[1])
    report_texts(language)
    dumps = iter(read_dump(argv[2])) if len(argv) > 2 else None
    for reward in language["rewards"]:
        for beta in reward["betas"]:
            report_reward(language, reward["words"], beta)
            if dumps is not None:
                report_dump(language, reward["words"], beta, next(dumps), argv[3:] == ["chain"])


if __name__ == "__main__":
    main(sys.argv)
