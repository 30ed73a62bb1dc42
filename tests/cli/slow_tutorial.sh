#!/usr/bin/env bash
# Every command of docs/tutorial.md as it stands there, with fewer steps.
source "$(dirname "$0")/expect.sh"
page=$SKEIN_TEST_SOURCE_DIR/docs/tutorial.md
export PATH=$bin:$PATH SKEIN=$SKEIN_TEST_SOURCE_DIR
command -v bible >/dev/null || die "there is no bible-kjv"

sed -nE 's/^    //p' "$page" | sed -E -e 's/--(sft|reward)\.epochs=[0-9]+/--train.steps=2/' -e 's/--train\.steps=[0-9]+/--train.steps=2/' \
  -e 's/--ppo\.iterations=[0-9]+/--ppo.iterations=1/' -e 's/seq 10/seq 1/' >commands
[ "$(grep -cE 'train\.steps=2|iterations=1' commands)" = 4 ] || { cat commands >&2; die "not the commands that are known here"; }
printf 'Tell me of the sea.\n/exit\n' | timeout 600 bash -euo pipefail commands >output 2>&1 || { cat output >&2; die "the tutorial"; }
for part in "time      at least " "step 2/2" "done: 1 iterations" "answers are kind"; do
  grep -qF -- "$part" output || { cat output >&2; die "no \"$part\""; }
done
[ "$(wc -l <tuned.jsonl)" = 48 ] || die "not an answer to each prompt"
[ -s report/report.html ] || die "no report"
[ -s exported/chat_template.jinja ] || die "no chat template goes with the model"
[ "$(head -c 4 tuned.gguf)" = GGUF ] || die "no GGUF"
echo passed
