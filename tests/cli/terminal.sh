#!/usr/bin/env bash
# What a run writes to a terminal, to a pipe and into its folder: colours, a bar with the time that is left, dates.
source "$(dirname "$0")/expect.sh"
skein="$bin/skein"

make_stores
# Steps of so many samples that the bar is drawn between them.
train="$skein pretrain $small --train.global_batch=64 --train.steps=60 --run.log_every=20 --run.tensorboard=false"
escape=$(printf '\033')

# On a terminal, which is what script(1) gives to a command.
TERM=xterm NO_COLOR= script -qec "$train --run.dir=run" /dev/null >terminal </dev/null || die "the run fails: $(cat terminal)"
grep -aqE '\[=* *\] step [0-9]+/60, [0-9]+%, ETA [0-9]' terminal || die "no bar with an ETA: $(cat -v terminal)"
grep -aqF "$escape[K" terminal || die "the bar is not taken back"
grep -aqE 'step 20/60  loss' terminal || die "no log beside the bar"
# What is left on the screen: each line of the log stands alone.
tr '\r' '\n' <terminal | sed "s/.*$escape\[K//" >screen
grep -aqE '^[0-9:]{8} [^[]*step 40/60  loss ' screen || die "a line of the log is not alone: $(cat -v screen)"
tail -n 3 screen >end
grep -aq "all of it is in run" end || die "the run does not end with its end: $(cat -v end)"
if grep -aq '\[=' end; then die "the bar outlives the run: $(cat -v end)"; fi

# Warnings have a colour, unless NO_COLOR asks for none.
TERM=xterm NO_COLOR= script -qec "$train --run.dir=" /dev/null >coloured </dev/null
grep -aqE "$escape\[[0-9;]*m.*warning: run.dir is empty" coloured || die "a warning without a colour: $(cat -v coloured)"
TERM=xterm NO_COLOR=1 script -qec "$train --run.dir=" /dev/null >plain </dev/null
grep -aq "warning: run.dir is empty" plain || die "no warning"
if grep -aqE "$escape\[[0-9;]*m" plain; then die "NO_COLOR is not heeded: $(cat -v plain)"; fi

# In a pipe and in a file neither colours nor bars.
expect 0 "warning: run.dir is empty" $train --run.dir=
if grep -aqE "$escape|ETA [0-9a-z]+\$.*ETA|\[=" output; then die "escapes or a bar in a file: $(cat -v output)"; fi

# The folder has the log of all starts, with dates and without escapes.
expect 0 "is done already" $train --run.dir=run
grep -qE '^20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8} step 60/60  loss' run/run.log || die "no dates: $(cat run/run.log)"
grep -qE '^20[0-9]{2}-.* is done already' run/run.log || die "the second start is not in run.log"
if grep -aq "$escape" run/run.log; then die "escapes in run.log"; fi
expect 2 "train.micro_batch" $train --run.dir=run --train.steps=80 --train.micro_batch=3
