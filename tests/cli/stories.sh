#!/usr/bin/env bash
# Stories from files to a store, a model of them, and what it says and looks at.
source "$(dirname "$0")/expect.sh"
data="$bin/skein-data"
skein="$bin/skein"
stories=("$data" stories)

# Three people go from room to room, and one is asked for.
mkdir en
python3 - <<'PY'
import random

random.seed(5)
names, rooms = ["Ann", "Ben", "Cleo"], ["hall", "attic", "garden"]
for part, count in [("train", 300), ("test", 60)]:
    with open(f"en/qa1_rooms_{part}.txt", "w") as file:
        for story in range(count):
            last = {}
            for line in range(1, 5):
                who = random.choice(names)
                last[who] = (random.choice(rooms), line)
                file.write(f"{line} {who} went to the {last[who][0]}.\n")
            asked = random.choice(sorted(last))
            file.write(f"5 Where is {asked}?\t{last[asked][0]}\t{last[asked][1]}\n")
PY
echo "Nothing to read." >en/README.txt
expect 0 "train.h5: 300 questions about 300 stories of 1 tasks, 11 words" "${stories[@]}" --stories.part=_train --output.path=train.h5 en
expect 0 "test.h5: 60 questions" "${stories[@]}" --stories.part=_test --stories.vocabulary=train.h5 --output.path=test.h5 en
tar cJf en.tar.xz en
expect 0 "again.h5: 300 questions" "${stories[@]}" --stories.part=_train --output.path=again.h5 en.tar.xz
cmp train.h5 again.h5 || die "an archive makes another store than its folder"
expect 0 "checksums     hold" "$data" inspect --store.verify train.h5
for line in "sentences     1200, 4 to 4, mean 4.00" "support       300, 1 to 1, mean 1.00; the farthest 4 sentences back" \
  "column        word: categories, u8" "         300  qa1_rooms"; do
  grep -qF -- "$line" output || { cat output >&2; die "inspect does not say: $line"; }
done
expect 0 "text.tsv: 300 questions about 300 stories" "${stories[@]}" --stories.part=_train --stories.form=text --output.path=text.tsv en
[ "$(sed -n 2p text.tsv | cut -f 1)" = "$(sed -n 1,5p en/qa1_rooms_train.txt | cut -d' ' -f2- | cut -f1 | tr 'A-Z' 'a-z' | sed 's/[.?]/ &/' | paste -sd' ')" ] ||
  { sed -n 2p text.tsv >&2; die "text.tsv has another story"; }

run=("$skein" pretrain --model.architecture=memory --model.n_layers=2 --model.d_model=12 --model.init_std=0.2 --data.train=train.h5
  --data.validation=test.h5 --train.global_batch=16 --train.micro_batch=16 --lr.lr=0.01 --optimizer.clip=40 --optimizer.weight_decay=0)
expect 0 "validation: loss" "${run[@]}" --train.steps=100 --model.hop_weights=linear --run.dir=linear
expect 0 "begins with the weights of" "${run[@]}" --train.steps=800 --checkpoint.load=linear --checkpoint.weights_only --run.dir=softmax
expect 0 "accuracy 1.0000, mean error of 1 tasks 0.00% (60 questions); error   0.00%, on support by hop" "$skein" eval --checkpoint.path=softmax \
  --data.test=test.h5 --eval.output=eval.json
grep -q '"any_hop_on_support"' eval.json || { cat eval.json >&2; die "eval.output does not tell of the support"; }
expect 0 "60 questions labelled" "$skein" predict --checkpoint.path=softmax --data.input=test.h5 --output.path=said.jsonl
python3 - <<'PY'
import json
for line in open("said.jsonl"):
    one = json.loads(line)
    assert one["label"] == one["truth"] and len(one["story"]) == 4, one
    assert len(one["weights"]) == 2 and all(abs(sum(hop) - 1) < 1e-4 for hop in one["weights"]), one
PY
expect 0 "qa1_rooms: where is" "$skein" attend --checkpoint.path=softmax --attend.input=test.h5 --attend.texts=2
grep -qE '^  [0-9 .]+ \* (ann|ben|cleo) went to the' output || { cat output >&2; die "no weights by hop"; }

# What is refused.
expect 2 "no input was given" "${stories[@]}" --output.path=c.h5
expect 2 "README.txt:1: the line begins with \"Nothing\"" "${stories[@]}" --output.path=c.h5 en
expect 2 "none of 3 files has \"_dev\" (stories.part) in its name" "${stories[@]}" --stories.part=_dev --output.path=c.h5 en
printf '1 A.\n2 B?\tc\t5\n' >bad.txt
expect 2 "bad.txt:2: the answer is said to follow from \"5\"" "${stories[@]}" --output.path=c.h5 bad.txt
[ ! -e c.h5 ] || die "a refused store was written"
printf '1 A moon.\n2 What?\tmoon\t1\n' >moon.txt
"${stories[@]}" --run.quiet --output.path=moon.h5 moon.txt
expect 2 "moon.h5 has another vocabulary (4 words, not 12)" "${run[@]}" --data.validation=moon.h5 --run.dir=c
expect 2 "moon.h5 has another vocabulary" "$skein" eval --checkpoint.path=softmax --data.test=moon.h5
expect 2 "is for stories, but model.architecture=gpt reads texts" "$skein" pretrain --stories.empty=0.2 --data.train=train.h5 --run.dir=c
expect 2 "task.kind=seq2seq is for texts, but model.architecture=memory reads stories" "${run[@]}" --task.kind=seq2seq --run.dir=c
expect 2 "instead of arguments" "$skein" attend --checkpoint.path=softmax "a text"
expect 2 "task.text is for texts, but the model reads stories" "$skein" predict --checkpoint.path=softmax --data.input=test.h5 --task.text=a
expect 2 "reads stories, and this is for texts; skein eval, predict and attend take stories" "$skein" generate --checkpoint.path=softmax a
expect 2 "reads stories, and this is for texts" "$skein" embed --checkpoint.path=softmax --data.input=test.h5
