#!/usr/bin/env bash
# Scores of generated texts by skein-data.
source "$(dirname "$0")/expect.sh"
data="$bin/skein-data"

printf 'The cat sat on the mat.\nIt rains today, I think.\n\n' >said.txt
printf 'A cat sat on the mat.\nIt is raining today, I think.\n\n' >wanted.txt
printf 'cats\nrain\nx\n' >worse.txt

expect 0 "score.metrics" "$data" score --help
expect 0 "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:skein-" "$data" score said.txt wanted.txt
expect 0 "bleu               67.80" "$data" score said.txt wanted.txt
expect 0 "nrefs:2|case:lc" "$data" score --score.lowercase said.txt wanted.txt worse.txt
expect 0 "chrF2++" "$data" score --score.metrics=chrf --score.word_order=2 said.txt wanted.txt
expect 0 "rougeLsum" "$data" score --score.metrics=rouge,exact_match,f1,ter --score.stemmer - wanted.txt <said.txt
expect 0 "bs:1000|seed:7" "$data" score --score.baseline=worse.txt --score.seed=7 said.txt wanted.txt
grep -q "difference +67.80  p 0.0010  wins 9" output || die "$(cat output)"
mv output first
expect 0 "wins" "$data" score --score.baseline=worse.txt --score.seed=7 said.txt wanted.txt
cmp first output || die "the same seed gave another result"

"$data" score --output.format=json --output.path=report.json --output.samples=samples.jsonl said.txt wanted.txt
python3 - <<'PY' || die "the report is not as it should be"
import json
report = json.load(open("report.json"))
assert report["samples"] == 3 and report["hypotheses"] == "said.txt" and report["references"] == ["wanted.txt"], report
assert 0 < report["metrics"]["bleu"]["scores"]["bleu"]["score"] < 100, report
lines = [json.loads(line) for line in open("samples.jsonl")]
assert [line["sample"] for line in lines] == [0, 1, 2] and set(lines[0]["scores"]) == {"bleu", "chrf"}, lines
PY

head -n 2 said.txt >short.txt
: >empty.txt
expect 2 "short.txt holds 2 texts and wanted.txt holds 3" "$data" score short.txt wanted.txt
expect 2 "empty.txt holds no texts" "$data" score empty.txt wanted.txt
expect 2 "no file was named" "$data" score
expect 2 "no references were named" "$data" score said.txt
expect 2 "none.txt" "$data" score said.txt none.txt
expect 2 'no metric "blue"' "$data" score --score.metrics=blue said.txt wanted.txt
expect 2 "score.tokenizer" "$data" score --score.tokenizer=mecab said.txt wanted.txt
expect 2 "would destroy" "$data" score --output.path=said.txt said.txt wanted.txt
expect 2 "stdin" "$data" score - - <said.txt
