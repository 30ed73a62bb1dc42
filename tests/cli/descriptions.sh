#!/usr/bin/env bash
# launch/descriptions over lists of a release that never was.
source "$(dirname "$0")/expect.sh"
root=${SKEIN_TEST_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
descriptions="$root/launch/descriptions"

# 300 sources of two packages each, forks of some, traps, and German for all of it; the release's updates must not be read.
mkdir lists
python3 - <<'PY'
import hashlib, lzma
packages, english, german = [], [], []

def add(name, synopsis, paragraphs, source=None, german_paragraphs=None, german_synopsis=None, md5=None):
    text = "\n .\n".join("\n".join(" " + line for line in p.split("\n")) for p in paragraphs)
    sum_of = hashlib.md5((synopsis + text).encode()).hexdigest()
    packages.append(f"Package: {name}\n" + (f"Source: {source}\n" if source else "") + f"Version: 1\nDescription: {synopsis}\n")
    english.append(f"Package: {name}\nDescription-md5: {sum_of}\nDescription-en: {synopsis}\n{text}\n")
    said = [p.replace("the", "das") for p in paragraphs] if german_paragraphs is None else german_paragraphs
    text = "\n .\n".join("\n".join(" " + line for line in p.split("\n")) for p in said)
    german.append(f"Package: {name}\nDescription-md5: {md5 or sum_of}\nDescription-de: {german_synopsis or 'zu ' + synopsis}\n{text}\n")

letters = lambda n: "".join("abcdefghij"[int(c)] for c in str(n))
for i in range(300):
    about = f"Program {letters(i)} is tool 1 that counts \"{letters(7 * i)}\" and \\{letters(3 * i)}.\nIt has  two lines\tand a tab."
    add(f"{letters(i)}-data", f"{letters(i)} for all (data)", [about, "This package holds the data that all the others of its source want to read."], f"{letters(i)}-1 (2.0)")
    add(f"{letters(i)}-tool", f"{letters(i)} for all", [about, " * the first point of a list of points\n * the second point of it, which is longer"], f"{letters(i)}-2.1")
    if i % 3 == 0:  # says first what the original says
        free = "Everybody in the world may copy it."
        add(f"fork-of-{letters(i)}", f"fork {letters(i)}", [about.replace("1", "2"), f"This package is the fork number {letters(i)} of the program that was there before it.", free],
            german_paragraphs=[about, "Eine Kopie.", f"Kopieren darf {letters(i)} jeder."])
add("brief", "too short a text", ["w " * 19])
add("again", "bb for all", ["word " * 30])
add("long", "too long a text", [("word%d " % 1) * 201])
add("limit", "just long enough", ["v " * 20])
add("counts", "another count", ["p " * 20, "q " * 20], german_paragraphs=["nur einer"])
add("stale", "an older text", ["s " * 20], md5="0" * 32, german_synopsis="von einem alten Text")
add("name", "GNU", ["n " * 20], german_paragraphs=["n " * 20], german_synopsis="GNU")

prefix = "lists/deb.example.org_debian_dists_dream"
open(f"{prefix}_main_binary-amd64_Packages", "w").write("\n".join(packages))
open(f"{prefix}_main_i18n_Translation-en", "w").write("\n".join(english))
lzma.open(f"{prefix}_main_i18n_Translation-de.xz", "wt").write("\n".join(german))
open(f"{prefix}-updates_main_i18n_Translation-en", "w").write("Package: later\nDescription-md5: 1\nDescription-en: later\n" + " later" * 30 + "\n")
PY
make=("$descriptions" --release dream --lists lists)

expect 0 "divided by source" "${make[@]}" --languages de --dir out
python3 - <<'PY' || die "the files are not as they should be"
import json
rows = {p: [line.rstrip("\n").split("\t") for line in open(f"out/synopsis.{p}.tsv")] for p in ("train", "valid", "test")}
assert all(r[0] == ["text", "synopsis"] for r in rows.values()), rows
part = {synopsis: p for p, r in rows.items() for _, synopsis in r[1:]}
text = {synopsis: t for r in rows.values() for t, synopsis in r[1:]}
assert sum(len(r) - 1 for r in rows.values()) == len(part), "a synopsis twice"
assert all(len(r) > 4 for r in rows.values()), {p: len(r) - 1 for p, r in rows.items()}
letters = lambda n: "".join("abcdefghij"[int(c)] for c in str(n))
for i in range(300):
    a = letters(i)
    assert part.get(f"{a} for all") == part.get(f"{a} for all (data)"), f"{a} is on two sides"
assert text["bb for all"].startswith('Program bb is tool 1 that counts "'), text["bb for all"]
assert text["b for all"] == ('Program b is tool 1 that counts "h" and \\d. It has two lines and a tab. * the first point of a list of points '
                             '* the second point of it, which is longer'), text["b for all"]
for absent in ("too short a text", "too long a text", "later"):
    assert absent not in part, absent
assert "just long enough" in part and text["bb for all"].split()[0] == "Program"
texts = {p: [json.loads(line)["text"] for line in open(f"out/texts.{p}.jsonl")] for p in ("train", "valid")}
of_train = set(texts["train"])
assert len(of_train) == len(texts["train"]) and {t for t, s in rows["train"][1:]} <= of_train
assert not of_train & {t for p in ("valid", "test") for t, _ in rows[p][1:]}
firsts = lambda found: {t.split(" It has ")[0].replace("2", "1") for t in found if " It has " in t}
assert [s for _, s in rows["train"][1:]] != sorted(s for _, s in rows["train"][1:])
assert not firsts(of_train) & firsts(t for p in ("valid", "test") for t, _ in rows[p][1:]), "training has a first paragraph of the test"
assert len(part) < 704, "no fork was left out"
pairs = {p: [tuple(line.rstrip("\n").split("\t")) for line in open(f"out/de.{p}.tsv")] for p in rows}
assert all(r[0] == ("en", "de") for r in pairs.values())
everything = [x for r in pairs.values() for x in r[1:]]
assert len(everything) == len(set(everything))
said = dict(everything)
assert said["b for all"] == "zu b for all" and said["another count"] == "zu another count", "synopses are pairs"
data = "This package holds the data that all the others of its source want to read."
assert said[data] == data.replace("the", "das") and data in dict(pairs["train"]), "paragraphs are pairs, once"
assert "nur einer" not in said.values() and "von einem alten Text" not in said.values() and "GNU" not in said
assert len({de for en, de in everything if en == "Everybody in the world may copy it."}) > 50, "other translations are other pairs"
for p in ("valid", "test"):
    for side in (0, 1):
        assert not {x[side] for x in pairs[p][1:]} & {x[side] for x in pairs["train"][1:]}, p
wanted, sentences = (open(f"out/test.{name}.txt").read().splitlines() for name in ("synopsis", "sentence"))
assert wanted == [s for _, s in rows["test"][1:]] and len(sentences) == len(wanted)
assert all(s.endswith(".") and s.count(".") == 1 for s in sentences if s.startswith("Program")), sentences
assert all(len(line.split()) == 8 for line in open("out/test.words.txt"))
PY
[ -z "$(find out -name 'part*')" ] || die "something was left behind"
[ "$(wc -l <out/lists.sha256)" = 3 ] || die "the lists are not told"
expect 0 "rougeL" "$bin/skein-data" score --score.metrics=rouge out/test.sentence.txt out/test.synopsis.txt

# The same lists, the same files; and by packages nothing is left out.
expect 0 "everything is in" "${make[@]}" --languages de --dir again
for file in out/*; do cmp "$file" "again/${file#out/}" || die "$file is another"; done
expect 0 "divided by package" "${make[@]}" --languages none --split package --dir packages
[ "$(cat packages/synopsis.*.tsv | wc -l)" = $((3 + 704)) ] || die "$(wc -l packages/synopsis.*)"
[ ! -e packages/de.train.tsv ] || die "German was not wanted"

expect 0 "usage" "$descriptions" --help
expect 2 "unknown option '--langs'" "$descriptions" --langs de
expect 2 "--split needs a value" "$descriptions" --split
expect 2 "--split tribe: source or package" "$descriptions" --split tribe
expect 2 "--languages de;fr" "$descriptions" --languages "de;fr"
expect 2 "--lists nowhere is no folder" "$descriptions" --lists nowhere --release dream --dir x
expect 2 "lists has no Translation-fr of dream main" "${make[@]}" --languages de,fr --dir x
expect 2 "has no Packages, no Translation-en of sleep main" "$descriptions" --release sleep --lists lists --languages none --dir x
[ ! -e x/synopsis.train.tsv ] || die "a refused call wrote something"
echo "ok"
