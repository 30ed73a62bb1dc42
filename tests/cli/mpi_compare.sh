#!/usr/bin/env bash
# verify-resume and compare-layouts: equal bits are said to be equal, others are named with the first step and tensor.
source "$(dirname "$0")/expect.sh"
make_stores

resume="$bin/skein verify-resume $small --train.steps=6"
expect 0 "6 steps, and 3 + 3 with a resume between: the same bits, losses and gradient norms included" \
  $resume --run.dir=alone
expect 0 "the same bits" mpirun -np 2 $resume --verify.at=2 --parallel.pipeline=2 --other.pipeline=1 --run.dir=data
expect 0 "the same bits" mpirun -np 2 $resume --other.ranks=1 --run.dir=fewer
grep -q "pipeline 1 x data 1 x tensor 1" output || die "the second half did not run on one rank"
expect 1 "not the same bits" mpirun -np 2 $resume --other.tensor=2 --run.dir=tensor
grep -q "first differing tensor: " output || die "no tensor is named"
expect 2 "run.dir=alone is there already" $resume --run.dir=alone
expect 2 "verify.at=6 must be 1 to 5" $resume --verify.at=6 --run.dir=wrong
expect 2 "train.steps=1: a run of fewer than 2 steps" $resume --train.steps=1 --run.dir=wrong

# Where the run goes on from a checkpoint, the end lies behind that.
expect 0 "done: 4 steps" $bin/skein pretrain $small --train.steps=4 --run.dir=base
loaded="$bin/skein verify-resume $small --train.steps=8 --checkpoint.load=base"
expect 0 "4 steps, and 2 + 2 with a resume between: the same bits" $loaded --run.dir=later
expect 0 "4 steps, and 3 + 1 with a resume between: the same bits" $loaded --verify.at=7 --run.dir=later7
expect 2 "verify.at=4 must be a step within the run, which began with 4 done and ended at 8" $loaded --verify.at=4 --run.dir=before

layouts="$bin/skein compare-layouts $small --train.steps=3"
expect 0 "the same bits after each of 3 steps" mpirun -np 2 $layouts --run.dir=same
expect 1 "the layouts differ from step 1 on" mpirun -np 2 $layouts --parallel.tensor=2 --run.dir=other
grep -q "elements differ, the first at .* at most .* ulp" output || die "it is not said by how much"
expect 0 "the same bits after each of 4 steps" $bin/skein compare-layouts $small --train.steps=8 --checkpoint.load=base --run.dir=loaded
expect 2 "train.steps=4, and the run began with 4 done" $bin/skein compare-layouts $small --train.steps=4 --checkpoint.load=base --run.dir=none
# Steps that both runs leave out are told, not compared.
expect 0 "the same bits after each of 2 steps; 1 more were left out by both" $layouts --train.precision=f16 --model.init_std=3 --run.dir=skipping
expect 2 "other.ranks=2 must be 0 to 1" $layouts --other.ranks=2 --run.dir=wrong2
