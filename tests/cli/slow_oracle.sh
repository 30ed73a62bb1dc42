#!/usr/bin/env bash
# The proof by the settings that it has by itself: two kinds of reward close what they should of the gap, and no policy is above the best.
source "$(dirname "$0")/expect.sh"
configs="$SKEIN_TEST_SOURCE_DIR/configs/oracle"

# One language, pretrained once; the thresholds are those of the files.
(cat "$configs/length.txt" && sed -n '/^reward/,$p' "$configs/palindrome.txt") >language.txt
status=0
"$bin/skein" ppo --oracle=language.txt --run.dir=proof --dump=responses.tsv >table.txt 2>log.txt || status=$?
cat table.txt
[ "$status" = 0 ] || { tail -20 log.txt; die "exit code $status"; }
[ "$(grep -c " passed$" table.txt)" = 2 ] || die "two rewards should have passed"

# The dump alone says as much: distributions whose J lies between the threshold and the best.
python3 - <<'PY' || die "the dump does not say what the table says"
import math, re

# The chain's beginnings, each length as often, drawn given that they do not end.
first = {"A": 0.5, "B": 0.3, "C": 0.2}
after = {"A": {"A": 0.12, "B": 0.50, "C": 0.23}, "B": {"A": 0.20, "B": 0.08, "C": 0.52}, "C": {"A": 0.50, "B": 0.22, "C": 0.10}}
prompts, level = {}, first
for _ in range(3):
    prompts.update({text: share / 3 for text, share in level.items()})
    level = {text + " " + b: share * p / sum(after[text[-1]].values()) for text, share in level.items() for b, p in after[text[-1]].items()}

sections = re.split(r"^# reward (.*), beta (.*)$", open("responses.tsv").read(), flags=re.M)[1:]
told = {line.rsplit(maxsplit=13)[0]: [float(word) for word in line.rsplit(maxsplit=13)[1:13]] for line in open("table.txt") if line.endswith("passed\n")}
assert len(told) == 2 and len(sections) == 6, told
for name, beta, text in zip(sections[::3], map(float, sections[1::3]), sections[2::3]):
    rows = [line.split("\t") for line in text.strip().split("\n")[1:]]
    best = reference = reward = divergence = 0
    for prompt, weight in prompts.items():
        own = [list(map(float, row[2:])) for row in rows if row[0] == prompt]
        assert len(own) == 364 and all(abs(sum(math.exp(row[k]) for row in own) - 1) < 1e-5 for k in range(3)), prompt
        best += weight * beta * math.log(sum(math.exp(row[0] + row[3] / beta) for row in own))
        reference += weight * sum(math.exp(row[0]) * row[3] for row in own)
        reward += weight * sum(math.exp(row[1]) * row[3] for row in own)
        divergence += weight * sum(math.exp(row[1]) * (row[1] - row[0]) for row in own)
    value = reward - beta * divergence
    closed = (value - reference) / (best - reference)
    print(f"{name}: J* {best:.5f}, J {value:.5f}, closed {closed:.4f}")
    for mine, its, tolerance in zip((best, reference, value, closed, reward, divergence), (told[name][i] for i in (1, 2, 3, 4, 6, 8)), (2e-5,) * 3 + (2e-4,) + (2e-5,) * 2):
        assert abs(mine - its) < tolerance, (name, mine, its)
    assert (0.97 if name == "length" else 0.90) <= closed <= 1, (name, closed)
PY
echo passed
