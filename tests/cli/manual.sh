#!/usr/bin/env bash
# What the programs say of their options as pages of the manual, as completion and as a reference of all; read as a user reads them.
source "$(dirname "$0")/expect.sh"
tests=$SKEIN_TEST_SOURCE_DIR/tests
unset MANPATH
expect 2 "usage: tools/make-manual BIN SHARE" "$SKEIN_TEST_SOURCE_DIR/tools/make-manual" "$bin"
SKEIN_TRAIN_STEPS=7 "$SKEIN_TEST_SOURCE_DIR/tools/make-manual" "$bin" share
pages=share/man/man1

# A page for each program and command, without a warning, which man finds by its name and whatis by its summary.
"$bin/skein" --help=table | cut -f1 | sed 's/^/skein-/' >names
"$bin/skein-data" --help=table | cut -f1 | sed 's/^/skein-data-/' >>names
printf '%s\n' skein skein-convert skein-data skein-inspect >>names
ls "$pages" | sed 's/\.1\.gz$//' | sort | diff - <(sort names) || die "other pages than commands"
[ "$(wc -l <names)" -ge 35 ] || die "only these: $(cat names)"
for page in "$pages"/*; do
  warnings=$(zcat "$page" | groff -man -ww -Tutf8 -z 2>&1; LC_ALL=C.UTF-8 man --warnings -l "$page" 2>&1 >/dev/null; lexgrog "$page" >lexed || echo "no NAME")
  [ -z "$warnings" ] || die "$page: $warnings"
  grep -q " - ..*\"$" lexed || die "$page: $(cat lexed)"
done
read_page() { MANPATH=$PWD/share/man MANWIDTH=100 LC_ALL=C.UTF-8 man "$1" | col -bx; }
read_page skein-pretrain >page
for words in "skein-pretrain - pretrains a decoder" "[train]" "--train.steps=NUMBER" "EXIT STATUS" "skein-inspect(1)"; do
  grep -qF -- "$words" page || die "man skein-pretrain does not say $words"
done
"$bin/skein" pretrain --help=table | cut -f1 | grep '\.' >keys
[ "$(wc -l <keys)" -ge 150 ] || die "only $(wc -l <keys) options"
while read -r key; do grep -qE -- "^ *$key=" page || die "man skein-pretrain has no $key"; done <keys
read_page skein-inspect >page
grep -q "diff CKPT1 CKPT2" page || die "man skein-inspect has no commands"

# The reference: each option of each command, under its section; what means the same once. The environment of the build does not count.
reference=share/doc/skein/docs/options.md
for command in "skein pretrain" "skein eval" skein-convert "skein-data score"; do
  "$bin/"$command --help=table | cut -f1 | grep '\.' >keys
  while read -r key; do grep -E "^\| \`$key\` .*\b${command#skein }\b" $reference >/dev/null || die "no $key of $command"; done <keys
done
[ "$(grep -c '^| `--train.steps` | `100` ' $reference)" = 1 ] || die "train.steps: $(grep 'train.steps`' $reference)"
[ -z "$(awk -F' [|] ' '/^\| `/ && NF != 4' $reference)" ] || die "a row of other than four columns"

# Tabs in a real shell.
touch run.ini "two words.txt"
mkdir runs
typed() { # SHELL SETUP, then pairs of a line and what a tab makes of it
  local shell=$1 setup=$2 lines=() wanted=()
  shift 2
  while (($#)); do
    lines+=("$1")
    wanted+=("$2")
    shift 2
  done
  python3 "$tests/cli/typed.py" "$shell" "$setup" "${lines[@]}" >typed || die "$shell: $(cat typed)"
  printf '%s\n' "${wanted[@]}" | diff - typed || die "$shell completes otherwise (<: as it should)"
}
same=('skein pret' 'skein pretrain '
  'skein-data tr' 'skein-data train-tokenizer '
  'skein pretrain --train.prec' 'skein pretrain --train.precision='
  'skein pretrain --train.precision=b' 'skein pretrain --train.precision=bf16 '
  'skein pretrain --mode' 'skein pretrain --model.'
  'skein pretrain --print' 'skein pretrain --print-config '
  'skein pretrain --model.bias=f' 'skein pretrain --model.bias=false '
  'skein-convert --to=hug' 'skein-convert --to=huggingface '
  'skein-convert --convert.to hug' 'skein-convert --convert.to huggingface '
  'skein pretrain --train.steps=' 'skein pretrain --train.steps='
  'skein pretrain --config run.' 'skein pretrain --config run.ini '
  'skein pretrain --config=run.' 'skein pretrain --config=run.ini '
  'skein-inspect list ru' 'skein-inspect list run'
  'skein nonesuch --tr' 'skein nonesuch --tr')
typed bash "source share/bash-completion/completions/skein" "${same[@]}" \
  'skein pretrain --data.train=run.ini,two' 'skein pretrain --data.train=run.ini\,two\ words.txt '
if command -v zsh >/dev/null; then
  typed zsh "fpath=($PWD/share/zsh/site-functions \$fpath)" "${same[@]}" \
    'skein pretrain --data.train=run.ini,two' 'skein pretrain --data.train=run.ini,two\ words.txt '
else
  echo "no zsh: its completion was not tried"
fi
echo passed
