#!/usr/bin/env bash
# From text to a token store and back, and the exit codes of mistakes.
source "$(dirname "$0")/expect.sh"
data="$bin/skein-data"

for i in $(seq 1 400); do
  echo "Paragraph $i: the quick brown fox can't jump over ${i} lazy dogs; it's späť."
  echo
done >text.txt
{ python3 - || exit 1; } <<'END' >wide.bin
import struct, sys
sys.stdout.buffer.write(struct.pack("<3i", 20240801, 7, 2) + bytes(1012) + struct.pack("<2I", 3, 69999))
END
for i in $(seq 1 300); do echo "{\"text\": \"document number $i, and its words\"}"; done >text.jsonl

expect 0 "data.vocab_size" "$data" train-tokenizer --help
expect 2 "no command" "$data"
expect 2 "did you mean 'encode'" "$data" encod
expect 2 "no input" "$data" encode --tokenizer.path=bytes --output.path=a.h5
expect 2 "tokenizer.path" "$data" encode --output.path=a.h5 text.txt
expect 2 "none.txt" "$data" encode --tokenizer.path=bytes --output.path=a.h5 none.txt
expect 2 "data.field" "$data" encode --data.feld=x --tokenizer.path=bytes --output.path=a.h5 text.txt

expect 0 "300 ids" "$data" train-tokenizer --data.vocab_size=300 --output.path=tok.json text.txt text.jsonl
for tokenizer in bytes tok.json; do
  expect 0 "1 documents" "$data" encode --tokenizer.path=$tokenizer --output.path=whole.h5 --output.replace text.txt
  expect 0 "documents     1" "$data" inspect --store.verify=true whole.h5
  "$data" decode whole.h5 | cmp - text.txt || die "decoded text differs"
done

expect 0 "280 ids" "$data" train-tokenizer --tokenizer.special='<s>,</s>' --data.vocab_size=280 --output.path=special.json text.txt
expect 0 "100 ids" "$data" train-tokenizer --tokenizer.kind=wordpiece --data.vocab_size=100 --output.path=pieces.json text.txt
expect 0 "ids from" "$data" train-tokenizer --tokenizer.kind=unigram --data.vocab_size=400 --output.path=unigram.json text.txt
expect 0 "% of the words are unknown" "$data" train-tokenizer --tokenizer.kind=word --data.vocab_size=50 --output.path=words.json text.txt
for tokenizer in bytes tok.json special.json pieces.json unigram.json words.json; do
  expect 0 "tokenizer.json" "$data" export-tokenizer $tokenizer --output.path=exported
  "$data" encode --tokenizer.path=$tokenizer --output.path=direct.h5 --output.replace --run.quiet=true text.txt
  "$data" encode --tokenizer.path=exported --output.path=again.h5 --output.replace --run.quiet=true text.txt
  cmp <("$data" decode direct.h5) <("$data" decode again.h5) || die "exporting $tokenizer changed its tokens"
  [[ $tokenizer != unigram.json ]] || cp exported/tokenizer.model sp.model
  rm -r exported
done
"$data" encode --tokenizer.path=sp.model --output.path=direct.h5 --output.replace --run.quiet=true text.txt
"$data" decode direct.h5 | cmp - text.txt || die "text decoded by a SentencePiece model differs"
expect 0 "SentencePiece" "$data" inspect direct.h5
python3 - <<'END' >byte-pieces.json || exit 1
import json
pieces = ["<unk>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + list("abc\u2581")
print(json.dumps({
    "version": "1.0", "added_tokens": [{"id": i, "content": pieces[i], "single_word": False, "lstrip": False,
                                        "rstrip": False, "normalized": False, "special": True} for i in (0, 1)],
    "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
    "pre_tokenizer": None, "post_processor": None,
    "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                                                 {"type": "ByteFallback"}, {"type": "Fuse"}]},
    "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True, "merges": [],
              "vocab": {piece: i for i, piece in enumerate(pieces)}}}))
END
printf '日本 a\n' >odd.txt
"$data" encode --tokenizer.path=byte-pieces.json --output.path=odd.h5 --run.quiet=true odd.txt
"$data" decode odd.h5 | cmp - odd.txt || die "a text that begins with byte pieces differs"
head -c 100 sp.model >cut.model
expect 2 "cut.model" "$data" encode --tokenizer.path=cut.model --output.path=a.h5 text.txt
expect 2 "unigram" "$data" train-tokenizer --tokenizer.kind=other text.txt
expect 2 "output.path" "$data" export-tokenizer tok.json
expect 2 "the folder output.path=tok.json/x cannot be made: Not a directory" "$data" export-tokenizer tok.json --output.path=tok.json/x
echo '{"model":{"type":"Unigram"}}' >none.json
expect 2 "Unigram" "$data" encode --tokenizer.path=none.json --output.path=a.h5 text.txt

expect 0 "bad lines" "$data" encode --tokenizer.path=tok.json --output.path=train.h5 \
  --output.validation=valid.h5 --data.validation_fraction=0.2 text.txt
{ "$data" decode train.h5; "$data" decode valid.h5; } | cmp - text.txt || die "the parts do not make the whole"

expect 0 "bad lines" "$data" encode --tokenizer.path=tok.json --data.sentences=lines --output.path=lines.h5 text.txt
expect 0 "sentences     400" "$data" inspect --store.verify=true lines.h5

"$data" encode --tokenizer.path=tok.json --output.path=pipe.h5 --data.format=jsonl - <text.jsonl
expect 0 "documents     300" "$data" inspect pipe.h5
"$data" decode --output.separator=$'\n' --range.count=2 pipe.h5 >head.txt
expect 2 "range.begin" "$data" decode --range.begin=100000000 pipe.h5
expect 2 "--data.format" "$data" encode --tokenizer.path=bytes --output.path=a.h5 - <text.jsonl
expect 2 "destroy" "$data" encode --tokenizer.path=bytes --output.path=text.txt text.txt
for format in megatron nanogpt llmc; do
  expect 0 "$format" "$data" convert --output.format=$format --output.path=foreign.bin train.h5
  expect 0 "format        $format" "$data" inspect --store.verify=true foreign.bin
  { "$data" decode foreign.bin; "$data" decode valid.h5; } | cmp - text.txt || die "the $format files hold another text"
  expect 0 "native" "$data" convert --output.path=back.h5 --output.replace foreign.bin
  cmp back.h5 train.h5 || die "the store differs after $format"
  rm -f foreign.meta.json
  expect 2 "--data.tokenizer" "$data" decode foreign.bin
  expect 2 "model.vocab_size" "$data" convert --output.path=a.h5 foreign.bin
  expect 0 "vocab size    unknown" "$data" inspect foreign.bin
  { "$data" decode --data.tokenizer=tok.json foreign.bin; "$data" decode valid.h5; } | cmp - text.txt || die "$format with a tokenizer"
  rm -f foreign.bin foreign.idx
done
expect 2 "destroy" "$data" convert --output.path=back.h5 back.h5
mkdir corpus
expect 0 "megatron" "$data" convert --output.format=megatron --output.path=corpus train.h5
expect 0 "format        megatron" "$data" inspect corpus
expect 2 "directory" "$data" convert --output.path=corpus train.h5
expect 2 "output.path" "$data" convert --output.format=megatron --output.path=corpus/ train.h5
expect 0 "native" "$data" convert --model.vocab_size=70000 --output.path=uncounted.h5 wide.bin
expect 0 "text bytes    unknown" "$data" inspect uncounted.h5
"$data" encode --tokenizer.path=pieces.json --output.path=pieces.h5 --run.quiet=true text.txt
expect 0 "tokenizer     WordPiece" "$data" inspect pieces.h5
{ python3 - || exit 1; } <<'END' >decoded.json
import json
tokenizer = json.load(open("special.json"))
tokenizer["decoder"] = {"type": "WordPiece"}
print(json.dumps(tokenizer))
END
expect 2 "decoder does not fit its model" "$data" encode --tokenizer.path=decoded.json --output.path=decoded.h5 text.txt
expect 2 "output.path" "$data" convert --output.format=llmc train.h5
expect 2 "65535" "$data" convert --output.format=nanogpt --output.path=foreign.bin --model.vocab_size=70000 wide.bin

# What is there already is replaced only where that was asked for, and what is no file never.
cp train.h5 before.h5
cp tok.json before.json
again=("$data" encode --tokenizer.path=bytes text.txt)
for output in train.h5 valid.h5; do expect 2 "give --output.replace" "${again[@]}" --output.path=$output; done
expect 2 "output.validation is valid.h5, which exists already" "$data" encode --tokenizer.path=bytes --output.path=a.h5 \
  --output.validation=valid.h5 --data.validation_fraction=0.2 text.txt
expect 2 "give --output.replace" "$data" train-tokenizer --data.vocab_size=300 --output.path=tok.json text.txt
expect 2 "give --output.replace" "$data" convert --output.path=train.h5 whole.h5
expect 0 "tokenizer.json" "$data" export-tokenizer tok.json --output.path=exported
expect 2 "exported/tokenizer_config.json, which exists already" bash -c "rm exported/tokenizer.json; '$data' export-tokenizer tok.json --output.path=exported"
[ ! -e exported/tokenizer.json ] || die "a part of a refused export was written"
cmp train.h5 before.h5 && cmp tok.json before.json || die "a refused command changed what was there"
ln -s whole.h5 link.h5
expect 2 "give --output.replace" "${again[@]}" --output.path=link.h5
expect 0 "1 documents" "${again[@]}" --output.path=made.h5
expect 0 "1 documents" "$data" encode --tokenizer.path=bytes --output.path=link.h5 --output.replace text.txt
[ -L link.h5 ] && cmp whole.h5 made.h5 || die "the store that a link names was not replaced"
mkfifo pipe
ln -s /dev/null hole
for output in pipe hole /dev/null; do
  expect 2 "which no file may take the place of" "${again[@]}" --output.path=$output
  expect 2 "which no file may take the place of" "$data" convert --output.path=$output --output.replace train.h5
  expect 2 "which no file may take the place of" "$data" markov --output.path=$output --output.replace
done
expect 2 "is a directory" "${again[@]}" --output.path=exported
"$data" train-tokenizer --data.vocab_size=300 --output.path=/dev/stdout text.txt text.jsonl 2>/dev/null | cmp - tok.json || die "a tokenizer in stdout"
cat pipe >piped.json &
expect 0 "300 ids" "$data" train-tokenizer --data.vocab_size=300 --output.path=pipe text.txt text.jsonl
wait
cmp piped.json tok.json || die "a tokenizer in a pipe"
expect 0 "300 ids" "$data" train-tokenizer --data.vocab_size=300 --output.path=hole text.txt
[ -p pipe ] && [ -c hole ] && [ -c /dev/null ] || die "a pipe or a device was replaced"

# Archives of other programs, by files and by pipes, and what is no text.
python3 - <<'END' || die "no archives"
import bz2, io, tarfile, zipfile
members = [("lettres/d\u00e9j\u00e0.jsonl", b'{"text": "one"}\n{"text": "two"}\n'), ("./a.txt", "sp\u00e4t".encode()), (".hidden", b"no")]
for name in ("x.tar", "x.tar.gz", "x.tar.bz2", "x.tar.xz"):
    with tarfile.open(name, "w:" + name[6:]) as out:
        for path, content in members:
            info = tarfile.TarInfo(path)
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))
with zipfile.ZipFile("x.zip", "w", zipfile.ZIP_DEFLATED) as out:
    for path, content in members:
        out.writestr(path, content)
whole = open("x.zip", "rb").read()
open("half.zip", "wb").write(whole[:60])
open("lone.txt", "wb").write(bz2.compress(b"one two sp\xc3\xa4t"))
END
for archive in x.tar x.tar.gz x.tar.bz2 x.tar.xz x.zip; do
  expect 0 "1 file is left out: $archive/.hidden (hidden)" "$data" encode --tokenizer.path=bytes --output.path=x.h5 --output.replace $archive
  [ "$("$data" decode --output.separator='|' x.h5)" = "one|two|spät|" ] || die "the text of $archive"
  "$data" encode --tokenizer.path=bytes --output.path=y.h5 --output.replace - <$archive 2>/dev/null
  cmp x.h5 y.h5 || die "$archive in stdin"
  cat $archive | "$data" encode --tokenizer.path=bytes --output.path=y.h5 --output.replace - 2>/dev/null
  cmp x.h5 y.h5 || die "$archive in a pipe"
done
expect 2 "half.zip: the zip data of member lettres/déjà.jsonl" "$data" encode --tokenizer.path=bytes --output.path=a.h5 half.zip
expect 0 "1 documents" "$data" encode --tokenizer.path=bytes --output.path=lone.h5 lone.txt
expect 2 "train.h5 is no text: it looks like an HDF5 file" "$data" encode --tokenizer.path=bytes --output.path=a.h5 train.h5
expect 2 "is no text: it looks like a program" "$data" train-tokenizer --output.path=a.h5 "$data"
expect 2 "stdin is no text: it looks like binary data" "$data" encode --tokenizer.path=bytes --output.path=a.h5 - < <(head -c 100000 /dev/zero)

[ ! -e a.h5 ] || die "a failed run left a store"
[ -z "$(find . -name '*.partial*')" ] || die "something was left behind"
echo "ok"
