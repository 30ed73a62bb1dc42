#!/usr/bin/env bash
# A folder of results that was made from a text is not gone on with once the text at that path has changed.
source "$(dirname "$0")/expect.sh"
launch=$SKEIN_TEST_SOURCE_DIR/launch

# Programs that do as little as lets the scripts begin.
mkdir programs
printf '#!/bin/sh\ntouch train.h5\necho x >valid.h5\n' >programs/skein-data
printf '#!/bin/sh\nexit 1\n' | tee programs/skein >programs/mpirun
chmod +x programs/*
export BIN=$PWD/programs PATH=$PWD/programs:$PATH

command_of() { # SCRIPT; into the array command
  case $1 in
    quickstart) command=("$launch/quickstart" --text text.txt --dir "of quickstart") ;;
    labs) command=("$launch/labs" words --text text.txt --dir "of labs") ;;
    scaling-demo) command=("$launch/scaling-demo" text.txt "of scaling-demo") ;;
  esac
}
for script in quickstart labs scaling-demo; do
  echo "the first text" >text.txt
  command_of $script
  for _ in 1 2; do
    "${command[@]}" >output 2>&1 && die "$script made something of nothing"
    if grep -q "was made from" output; then cat output >&2 && die "$script does not go on"; fi
  done
  grep -q "^$(readlink -f text.txt) [0-9a-f]\{64\}" "of $script/source" || die "$script does not say what its folder is made from"
  echo "another text" >text.txt
  expect 2 "of $script was made from" "${command[@]}"
done
echo passed
