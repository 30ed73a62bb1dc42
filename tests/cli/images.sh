#!/usr/bin/env bash
# Stores of pictures: what makes them, what is in them, how they look, and what is refused.
source "$(dirname "$0")/expect.sh"
data="$bin/skein-data"

python3 - <<'PY'
import gzip, os, struct
SIDE, CLASSES, EACH = 12, ("cross", "ring"), 15

def picture(kind, number):
    """A grey cross or ring, a little brighter each time."""
    middle, light = SIDE // 2, 100 + number
    def pixel(y, x):
        far = max(abs(y - middle), abs(x - middle))
        return light if (y == middle or x == middle) == (kind == 0) and (kind == 0 or far == 4) else 0
    return bytes(pixel(y, x) for y in range(SIDE) for x in range(SIDE))

images, labels, rows = b"", b"", ["file,kind"]
for kind, name in enumerate(CLASSES):
    os.makedirs(f"set/{name}")
    for number in range(EACH):
        path = f"set/{name}/{number:02}.pgm"
        with open(path, "wb") as out:
            out.write(b"P5\n%d %d\n255\n" % (SIDE, SIDE) + picture(kind, number))
        images += picture(kind, number)
        labels += bytes([kind])
        rows.append(f"{path},{name}")
open("table.csv", "w").write("\n".join(rows) + "\n")
with gzip.open("images.gz", "wb") as out:
    out.write(struct.pack(">4B3I", 0, 0, 8, 3, len(labels), SIDE, SIDE) + images)
open("labels", "wb").write(struct.pack(">4BI", 0, 0, 8, 1, len(labels)) + labels)
PY

# The same pictures from all layouts, by any number of threads, are the same file.
images=("$data" images)
expect 0 "folders.h5: 30 pictures of 2 classes (15 to 15 each), 1 x 12 x 12" "${images[@]}" --output.path=folders.h5 set
mkdir -p beside && cp -r set/* beside && echo notes >beside/notes.txt
expect 0 "1 file is left out: beside/notes.txt (of no class)" "${images[@]}" --output.path=beside.h5 beside
cp set/cross/00.pgm beside/lost.pgm
expect 2 "beside/lost.pgm lies beside the folders of the classes, so it has none" "${images[@]}" --output.path=lost.h5 beside
"${images[@]}" --images.path=file --images.label=kind --run.threads=3 --output.path=table.h5 --run.quiet table.csv
cmp folders.h5 table.h5 || die "the pictures of the table are others"
"${images[@]}" --images.path=1 --images.label=2 --images.header=yes --output.path=numbered.h5 --run.quiet table.csv
cmp folders.h5 numbered.h5 || die "the columns of the table have other numbers"
"${images[@]}" --images.labels=labels --images.classes=cross,ring --output.path=idx.h5 --run.quiet images.gz
cmp folders.h5 idx.h5 || die "the pictures of the IDX files are others"

expect 0 "records       30" "$data" inspect --store.verify --store.sheet=sheet.png folders.h5
for line in "column        image: image, u8 [1,12,12]" "column        label: categories, u8" "          15  ring" "checksums     hold"; do
  grep -qF -- "$line" output || { cat output >&2; die "inspect does not say: $line"; }
done
head -c 8 sheet.png | cmp - <(printf '\x89PNG\r\n\x1a\n') || die "the sheet is no PNG"
expect 0 "30 pictures without labels" "${images[@]}" --images.labelled=false --output.path=bare.h5 set
expect 0 "bare.png: the first pictures of bare.h5" "$data" inspect --store.sheet=bare.png bare.h5

expect 0 "what training makes of each" "$data" inspect --store.sheet=changed.png --augment.rotate=20 --augment.mixup=1 --augment.erase=0.5 folders.h5
expect 2 "augment.flip=2 must lie in [0, 1]" "$data" inspect --store.sheet=c.png --augment.flip=2 folders.h5

# Other sizes.
expect 0 "3 x 20 x 30" "${images[@]}" --images.size=20x30 --images.channels=3 --output.path=large.h5 set
expect 2 "images.size=20y" "${images[@]}" --images.size=20y --output.path=c.h5 set

# What cannot be a store of pictures.
expect 2 "no pictures were given" "${images[@]}" --output.path=c.h5
expect 2 "output.path" "${images[@]}" set
expect 2 "give --output.replace" "${images[@]}" --output.path=idx.h5 set
expect 2 "set/cross has no folders" "${images[@]}" --output.path=c.h5 set/cross
expect 2 "set/ring is a class that images.classes does not name; did you mean \"rings\"" "${images[@]}" --images.classes=cross,rings --output.path=c.h5 set
expect 2 "no column \"path\"" "${images[@]}" --output.path=c.h5 table.csv
expect 2 "1 IDX files of images and 0 of labels" "${images[@]}" --output.path=c.h5 images.gz
expect 2 "labels begins with 00 00 08 01" "${images[@]}" --images.labels=labels --output.path=c.h5 labels
cp set/ring/04.pgm whole.pgm
head -c 100 set/ring/03.pgm >set/ring/04.pgm
expect 2 "set/ring/04.pgm is a PNM file that is cut short" "${images[@]}" --output.path=c.h5 set
expect 0 "29 pictures" "${images[@]}" --data.bad_records=1 --output.path=d.h5 set
mv whole.pgm set/ring/04.pgm
printf 'some words\n' >words.txt
"$data" encode --tokenizer.path=bytes --output.path=words.h5 --run.quiet words.txt
expect 2 "store.sheet=s.png is for stores of pictures" "$data" inspect --store.sheet=s.png words.h5
[ ! -e c.h5 ] || die "a refused store was written"
# A model of pictures: learnt, judged, and told from one of texts.
vit="--model.architecture=vit --model.patch_height=4 --model.d_model=32 --model.n_layers=2 --model.n_heads=2 --model.init_std=0.1"
expect 0 "done: 60 steps" "$bin/skein" pretrain $vit --data.train=folders.h5 --data.validation=folders.h5 --train.steps=60 \
  --train.global_batch=10 --lr.lr=3e-3 --augment.pad=1 --run.dir=run
grep -q "validation: loss .* accuracy 1.0000" output || { cat output >&2; die "it has not learnt two classes"; }
expect 0 "accuracy 1.0000, of five 1.0000" "$bin/skein" eval --checkpoint.path=run --data.test=table.h5 --eval.output=found.json
grep -qF "        cross     15      0" output || { cat output >&2; die "no table of classes"; }
grep -qF '"samples": 30' found.json || die "found.json does not say how many pictures there are"
expect 2 "large.h5 has pictures of 3 x 20 x 30" "$bin/skein" eval --checkpoint.path=run --data.test=large.h5
expect 2 "reads pictures; evaluate it on a store of them, data.test" "$bin/skein" eval --checkpoint.path=run --data.validation=folders.h5
for option in eval.windows=3 eval.texts=texts.jsonl score.metrics=bleu task.prefix=x chat.template=chatml data.mask_document_ends=true; do
  expect 2 "${option%%=*} is for texts, but the model reads pictures; leave it out" "$bin/skein" eval --checkpoint.path=run --data.test=table.h5 --$option
done
expect 2 "words.txt is no folder, table" "$bin/skein" predict --checkpoint.path=run --data.input=words.txt
expect 2 "task.text is for texts, but the model reads pictures" "$bin/skein" predict --checkpoint.path=run --task.text=x --data.input=set
expect 2 "folders.h5 is a store" "$bin/skein" predict --checkpoint.path=run --images.fit=pad --data.input=folders.h5

# What it says of pictures: of stores, folders and files the same.
expect 0 "30 pictures labelled by run" "$bin/skein" predict --checkpoint.path=run --data.input=folders.h5 --output.path=said.jsonl
[ "$(grep -c '"truth":"cross","label":"cross"' said.jsonl)" = 15 ] || die "said.jsonl has other labels"
expect 0 "30 pictures labelled by run" "$bin/skein" predict --checkpoint.path=run --data.input=set --predict.batch=7 --output.path=files.jsonl
grep -qF '{"picture":"set/cross/00.pgm","label":"cross"' files.jsonl || { cat files.jsonl >&2; die "no word of set/cross/00.pgm"; }
scores() { sed 's/.*"scores"://' "$1"; }
cmp <(scores said.jsonl) <(scores files.jsonl) || die "files are judged otherwise than their store"
expect 0 "30 pictures labelled by run" "$bin/skein" predict --checkpoint.path=run --data.input=table.csv --images.path=1 --images.header=yes --output.path=rows.jsonl
cmp <(scores said.jsonl | sort) <(scores rows.jsonl | sort) || die "pictures of a table are judged otherwise than their store"
expect 2 "path and header are for files of pictures" "$bin/skein" predict --checkpoint.path=run --data.input=folders.h5 --images.path=file
expect 0 "1 pictures labelled by run" "$bin/skein" predict --checkpoint.path=run --data.input=set/ring/03.pgm
expect 2 "large.h5 has pictures of 3 x 20 x 30" "$bin/skein" predict --checkpoint.path=run --data.input=large.h5
expect 0 "30 vectors of 32 numbers" "$bin/skein" embed --checkpoint.path=run --data.input=folders.h5 --embed.output=all.npy
[ "$(stat -c %s all.npy)" = $((128 + 30 * 32 * 4)) ] || die "all.npy has another size"
expect 0 '{"picture":"set/ring/03.pgm","embedding":' "$bin/skein" embed --checkpoint.path=run --data.input=set/ring/03.pgm --embed.pool=first
expect 2 "embed.pool must be mean or first" "$bin/skein" embed --checkpoint.path=run --data.input=set --embed.pool=last

# What another program's folder says of sizes is done, unless options say otherwise; what is done here is said there.
"$bin/skein-convert" run folder >/dev/null 2>&1
python3 - <<'PY'
import json, pathlib
path = pathlib.Path("folder/preprocessor_config.json")
said = json.loads(path.read_text())
assert said["size"] == {"shortest_edge": 12} and said["crop_size"] == {"height": 12, "width": 12}, said
path.write_text(json.dumps(said | {"size": {"height": 12, "width": 12}, "do_center_crop": False, "resample": 3}))
pathlib.Path("wide.pgm").write_bytes(b"P5\n24 12\n255\n" + bytes(9 * x for y in range(12) for x in range(24)))
PY
expect 0 "by images.fit=stretch and images.resampling=bicubic" "$bin/skein-convert" folder import
wide() { "$bin/skein" predict --checkpoint.path="$1" --data.input=wide.pgm --output.path="$2" "${@:3}" >/dev/null 2>&1; }
wide run cut.jsonl && wide import cut-too.jsonl --images.fit=cut --images.resampling=bilinear
wide import stretched.jsonl && wide run stretched-too.jsonl --images.fit=stretch --images.resampling=bicubic
cmp cut.jsonl cut-too.jsonl && cmp stretched.jsonl stretched-too.jsonl || die "options and notes fit pictures otherwise"
! cmp -s cut.jsonl stretched.jsonl || die "preprocessor_config.json has no effect"
expect 0 "import/step-00000000.g000001 reads files of pictures by images.fit=stretch and images.resampling=bicubic" "$bin/skein" finetune \
  --checkpoint.load=import --data.train=folders.h5 --train.steps=1 --train.global_batch=10 --run.dir=further
wide further further.jsonl && wide further further-too.jsonl --images.fit=stretch --images.resampling=bicubic
cmp further.jsonl further-too.jsonl || die "the fine-tuned model has forgotten how pictures are fitted"

# Tuned: the head stays for the same classes, and begins anew for others.
expect 0 "done:" "$bin/skein" finetune --checkpoint.load=run --data.train=folders.h5 --data.validation=folders.h5 \
  --task.epochs=2 --train.global_batch=10 --augment.pad=1 --run.dir=tuned
! grep -q "begin anew" output || die "the same classes begin anew"
grep -q "validation: loss .* accuracy 1.0000" output || { cat output >&2; die "it has unlearnt its classes"; }
expect 0 "accuracy 1.0000" "$bin/skein" eval --checkpoint.path=tuned --data.test=folders.h5
"${images[@]}" --images.classes=ring,cross --output.path=turned.h5 --run.quiet set
expect 2 "turned.h5 has the classes ring, cross, but run/checkpoints" "$bin/skein" eval --checkpoint.path=run --data.test=turned.h5
expect 0 "tensors that begin anew: classifier.bias, classifier.weight" "$bin/skein" finetune --checkpoint.load=run --data.train=turned.h5 \
  --task.epochs=1 --train.global_batch=10 --run.dir=turned
# Pictures are read in the units of what was learnt before, whatever the new ones have.
python3 - <<'PY'
import os, pathlib
for path in sorted(pathlib.Path("set").glob("*/*.pgm")):
    data = path.read_bytes()
    new = pathlib.Path("bright") / path.relative_to("set")
    os.makedirs(new.parent, exist_ok=True)
    new.write_bytes(data[:-144] + bytes(min(255, 60 + value) for value in data[-144:]))
PY
"${images[@]}" --output.path=bright.h5 --run.quiet bright
expect 0 "done:" "$bin/skein" finetune --checkpoint.load=run --data.train=bright.h5 --task.epochs=1 --train.global_batch=10 --run.dir=brighter
units() { "$bin/skein-inspect" config "$1" | grep -o 'pictures.*'; }
[ "$(units brighter)" = "$(units run)" ] || die "the fine-tuned model reads pictures in other units: $(units brighter)"
expect 2 "large.h5 has pictures of 3 x 20 x 30" "$bin/skein" finetune --checkpoint.load=run --data.train=large.h5 --run.dir=none
expect 2 "task.length is for texts, but the model reads pictures" "$bin/skein" finetune --checkpoint.load=run --task.length=8 --data.train=folders.h5 --run.dir=none

# Pictures of another size are asked for.
"${images[@]}" --images.size=20 --output.path=wide.h5 --run.quiet set
expect 2 "give model.image_height=20 and model.image_width=20" "$bin/skein" finetune --checkpoint.load=run --data.train=wide.h5 --run.dir=none
larger="--model.image_height=20 --model.image_width=20 --data.train=wide.h5 --data.validation=wide.h5"
expect 0 "learned positions are resized bicubically, from a grid of 3 x 3 patches to one of 5 x 5" "$bin/skein" finetune \
  --checkpoint.load=run $larger --task.epochs=2 --train.global_batch=10 --run.dir=widened
expect 0 "accuracy" "$bin/skein" eval --checkpoint.path=widened --data.test=wide.h5
expect 0 "is done already" "$bin/skein" finetune --checkpoint.load=run $larger --task.epochs=2 --train.global_batch=10 --run.dir=widened
expect 2 "model.patch_height=2 was given, but the model of" "$bin/skein" finetune --checkpoint.load=run $larger --model.patch_height=2 --run.dir=none
expect 0 "loss" "$bin/skein" finetune --checkpoint.load=run --data.train=folders.h5 --loss.label_smoothing=0.1 --task.epochs=1 --train.global_batch=10 --run.dir=smoothed
grep -q '"plain_loss"' smoothed/metrics.jsonl || die "the plain loss is not told"

# One whose tokens grow.
swin="--model.architecture=swin --model.patch_height=2 --model.d_model=16 --model.n_heads=2 --model.depths=1,1 --model.window_side=3 --model.positions=distance --model.embedding_norm --model.init_std=0.1"
expect 0 "done: 60 steps" "$bin/skein" pretrain $swin --data.train=folders.h5 --data.validation=folders.h5 --train.steps=60 \
  --train.global_batch=10 --lr.lr=3e-3 --model.stochastic_depth=0.1 --run.dir=swin
grep -q "validation: loss .* accuracy 1.0000" output || { cat output >&2; die "the Swin has not learnt two classes"; }
expect 0 "30 vectors of 32 numbers" "$bin/skein" embed --checkpoint.path=swin --data.input=folders.h5 --embed.output=swin.npy

# One that says hidden patches, and is taught classes then: a probe of what its encoder has learnt, and all of it.
mae="--model.architecture=mae --model.patch_height=2 --model.d_model=16 --model.n_heads=2 --model.n_layers=3 --model.positions=sinusoidal --model.init_std=0.1"
expect 0 "done: 40 steps" "$bin/skein" pretrain $mae --data.train=bare.h5 --data.validation=bare.h5 --train.steps=40 --train.global_batch=10 \
  --lr.lr=3e-3 --augment.pad=1 --run.dir=mae
grep -q "validation: loss .* of 27 hidden patches in each of 30 pictures" output || { cat output >&2; die "the hidden patches are not judged"; }
head -c 8 mae/rebuilt.png | cmp - <(printf '\x89PNG\r\n\x1a\n') || die "what is rebuilt is no PNG"
expect 0 "27 hidden patches in each of 30 pictures" "$bin/skein" eval --checkpoint.path=mae --data.test=folders.h5 --eval.output=hidden.json
grep -qF '"samples": 30' hidden.json || die "hidden.json does not say how many pictures there are"
expect 2 "step-00000040.g000001 says hidden patches of pictures and no classes" "$bin/skein" predict --checkpoint.path=mae --data.input=set
expect 0 "30 vectors of 16 numbers" "$bin/skein" embed --checkpoint.path=mae --data.input=folders.h5 --embed.output=mae.npy
expect 0 "tensors that begin anew: classifier.bias, classifier.weight" "$bin/skein" finetune --checkpoint.load=mae --data.train=folders.h5 \
  --data.validation=folders.h5 --train.frozen_layers=2 --model.image_pool=mean --task.epochs=20 --train.global_batch=10 --lr.lr=1e-2 --run.dir=probe
grep -q "validation: loss .* accuracy" output || { cat output >&2; die "the probe is not judged"; }
"$bin/skein" embed --checkpoint.path=probe --data.input=folders.h5 --embed.output=probe.npy 2>log
cmp mae.npy probe.npy || die "a probe changes the encoder"
[ "$(units probe)" = "$(units mae)" ] || die "the probe reads pictures in other units: $(units probe)"
expect 0 "done:" "$bin/skein" finetune --checkpoint.load=mae --data.train=folders.h5 --task.epochs=2 --train.global_batch=10 --run.dir=taught
expect 2 "bare.h5 has no labels" "$bin/skein" finetune --checkpoint.load=mae --data.train=bare.h5 --run.dir=none
expect 2 "model.mask_ratio=1 must be above 0 and below 1" "$bin/skein" pretrain $mae --model.mask_ratio=1 --data.train=bare.h5 --run.dir=none
expect 2 "model.mask_ratio=0.5 is for model.architecture=mae, not vit; leave it out" "$bin/skein" pretrain $vit --model.mask_ratio=0.5 --data.train=folders.h5 --run.dir=none
expect 2 "do not divide into patches of 5 x 5" "$bin/skein" pretrain $vit --model.patch_height=5 --data.train=folders.h5 --run.dir=none
expect 2 "augment.flip is for pictures" "$bin/skein" pretrain --augment.flip=1 --data.train=words.h5 --run.dir=none
expect 2 "model.class_token=false is for model.architecture=vit, not gpt; leave it out" "$bin/skein" pretrain --model.class_token=false --model.context=8 --data.train=words.h5 --run.dir=none
[ ! -e none ] || die "a refused run has left a folder"
echo ok
