#!/usr/bin/env bash
# Stores of pairs of texts: what makes them, what is in them, and what is refused.
source "$(dirname "$0")/expect.sh"
data="$bin/skein-data"

for i in $(seq 1 200); do printf 'the small dog number %d\tder kleine Hund Nummer %d\n' "$i" "$i"; done >body.tsv
{ printf 'en\tde\n'; cat body.tsv; } >train.tsv
cut -f1 body.tsv >train.en
cut -f2 body.tsv >train.de
python3 - <<'PY'
import csv, json
rows = [line.rstrip("\n").split("\t") for line in open("body.tsv")]
with open("train.csv", "w", newline="") as out:
    csv.writer(out).writerows([["en", "de"], *rows])
with open("train.jsonl", "w") as out:
    for en, de in rows:
        out.write(json.dumps({"en": en, "de": [de, de.upper()]}) + "\n")
PY
gzip -k train.jsonl
"$data" train-tokenizer --tokenizer.kind=wordpiece --data.vocab_size=90 --output.path=pieces.json train.de 2>/dev/null

# The same pairs from all forms, by any number of threads, are the same file.
columns="--task.text=en --task.label=de"
pairs=("$data" pairs --tokenizer.path=bytes)
expect 0 "a.h5: 200 pairs" "${pairs[@]}" $columns --output.path=a.h5 train.tsv
for input in train.csv train.jsonl train.jsonl.gz; do
  expect 0 "200 pairs" "${pairs[@]}" $columns --run.threads=3 --output.path=b.h5 --output.replace $input
  cmp a.h5 b.h5 || die "the pairs of $input are others"
done
expect 0 "200 pairs" "${pairs[@]}" --data.targets=train.de --output.path=b.h5 --output.replace train.en
cmp a.h5 b.h5 || die "the pairs of two files of lines are others"
"${pairs[@]}" --task.text=1 --task.label=2 --task.format=tsv --output.path=b.h5 --output.replace --run.quiet=true - <body.tsv
cmp a.h5 b.h5 || die "the pairs of stdin are others"

expect 0 "records       200" "$data" inspect --store.verify a.h5
for line in "column        source: tokens, u16" "column        target: tokens, u16" "vocab size  257" "tokenizer   bytes" \
  "checksums     hold"; do
  grep -qF -- "$line" output || { cat output >&2; die "inspect does not say: $line"; }
done
expect 0 "200 pairs" "${pairs[@]}" --tokenizer.target=pieces.json $columns --task.prefix='to German: ' --output.path=two.h5 train.tsv
expect 0 "tokenizer   WordPiece" "$data" inspect two.h5
grep -qF 'prefix      "to German: "' output || die "inspect does not say the prefix"

# What cannot be a store of pairs.
expect 2 "no file with pairs" "${pairs[@]}" --output.path=c.h5
expect 2 "tokenizer.path" "$data" pairs --output.path=c.h5 train.tsv
expect 2 "output.path" "${pairs[@]}" $columns train.tsv
expect 2 "give --output.replace" "${pairs[@]}" $columns --output.path=a.h5 train.tsv
expect 2 "destroy" "${pairs[@]}" $columns --output.path=train.tsv --output.replace train.tsv
expect 2 "both \"en\"" "${pairs[@]}" --task.text=en --task.label=en --output.path=c.h5 train.tsv
expect 2 "no column \"fr\"" "${pairs[@]}" --task.text=en --task.label=fr --output.path=c.h5 train.tsv
expect 2 "1 files of sources and 2 of targets" "${pairs[@]}" --data.targets=train.de,train.en --output.path=c.h5 train.en
head -n 150 train.de >short.de
expect 2 "train.en has 200 lines, but short.de has 150" "${pairs[@]}" --data.targets=short.de --output.path=c.h5 train.en
printf 'one\t\ntwo\tzwei\n' >holes.tsv
expect 2 "holes.tsv:1: the target is empty; data.bad_records=N" "${pairs[@]}" --task.text=1 --task.label=2 --output.path=c.h5 holes.tsv
expect 0 "1 pairs" "${pairs[@]}" --task.text=1 --task.label=2 --data.bad_records=1 --output.path=holes.h5 holes.tsv
grep -qF "left out: holes.tsv:1" output || die "what is left out is not told"
expect 2 "a token store: its format is \"skein-records\"" "$data" decode a.h5
[ ! -e c.h5 ] || die "a refused store was written"

# Damage.
python3 - <<'PY'
whole = bytearray(open("a.h5", "rb").read())
open("cut.h5", "wb").write(whole[:-9])
at = whole.find("Hund".encode("utf-16-le"))  # ids of two bytes
assert at > 0
whole[at] ^= 1
open("wrong.h5", "wb").write(whole)
PY
expect 2 "cut.h5" "$data" inspect cut.h5
expect 1 "XXH3" "$data" inspect --store.verify wrong.h5
# Pairs to copy, which read as any others: 200 lines of 10 words, 7 a pair.
expect 0 "copy.tsv: 285 pairs of 6 words, of a text of 2000" "$data" copy-shift --copy.words=6 --output.path=copy.tsv body.tsv
[ "$(sed -n 2p copy.tsv)" = "$(printf 'the small dog number 1 der\tsmall dog number 1 der kleine')" ] || die "the first pair is $(sed -n 2p copy.tsv)"
expect 0 "copy.h5: 285 pairs" "${pairs[@]}" --output.path=copy.h5 copy.tsv
expect 2 "output.path is copy.tsv, which exists already" "$data" copy-shift --copy.words=6 --output.path=copy.tsv body.tsv
[ -z "$(find . -name '*.partial*')" ] || die "something was left behind"
echo "ok"
