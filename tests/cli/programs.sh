#!/usr/bin/env bash
# What all programs have in common.
source "$(dirname "$0")/expect.sh"

# Help and version have one form, however they are asked for.
export LC_ALL=C
for program in skein skein-data skein-convert skein-inspect; do
  "$bin/$program" --help >help
  grep -q "^Usage: $program " help || die "$program --help does not say how it is called"
  for word in -h help; do "$bin/$program" "$word" | cmp - help || die "$program $word differs from --help"; done
  "$bin/$program" --version | sed "1s/^$program /PROGRAM /" >"version of $program"
  cmp "version of $program" "version of skein" || die "$program --version differs from skein --version"
done
head -n 1 "version of skein" | grep -qE '^PROGRAM [0-9.]+ \(.+\)$' || die "no version"
grep -qE '^.+ [0-9.]+, [A-Za-z]+, MPI [0-9.]+, HDF5 [0-9.]+, (CUDA [0-9.]+|no GPU kernels)$' "version of skein" || die "$(cat "version of skein")"
expect 0 "[--section.key=value ...] ARGUMENT ..." "$bin/skein-convert" --help
expect 0 "Usage: skein-inspect list DIR" "$bin/skein-inspect" list --help

# One fault, one voice, one code: a line with the time and "error: ", and 2 for what the user can correct.
alike() { # WORD PROGRAM ARGUMENTS...
  local word=$1 program=$2
  shift 2
  expect 2 "$word" "$bin/$program" "$@"
  [ "$(wc -l <output)" = 1 ] && grep -qE '^[0-9:]{8} error: ' output || { cat output >&2; die "another voice: $program $*"; }
}
for program in skein skein-data skein-inspect; do
  alike "no command was given; \`$program --help\` lists all" "$program"
  alike "unknown command 'frobnicate'; \`$program --help\` lists all" "$program" frobnicate
done
alike "none" skein generate --checkpoint.path=none hello
alike "none" skein-data inspect none
alike "none" skein-convert none out
alike "none" skein-inspect list none
alike "'help' is no option; did you mean '--help'?" skein pretrain help
alike "\`skein pretrain\` has no option --version; \`skein --version\` writes" skein pretrain --version
expect 0 "preferences alone: DPO, IPO, SimPO, KTO" "$bin/skein" --help
"$bin/skein" --help >/dev/full 2>output && die "a full device took the help"
grep -q "error: cannot write to stdout" output || die "$(cat output)"

commands=("skein-convert")
for name in $("$bin/skein" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'); do commands+=("skein $name"); done
for name in $("$bin/skein-data" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'); do commands+=("skein-data $name"); done
[ "${#commands[@]}" -ge 23 ] || die "only these commands: ${commands[*]}"

# Variables for the options of all other commands: each command leaves them alone, in one line, and misses none.
options_of() { # COMMAND...
  "$bin/$1" "${@:2}" --help | sed -nE 's/^  --([a-z0-9_]+\.[a-z0-9_]+)( .*)?$/\1/p' | sort
}
for command in "${commands[@]}"; do
  options_of $command >"keys of ${command// /-}"
  tr 'a-z.' 'A-Z_' <"keys of ${command// /-}" | sed 's/^/SKEIN_/' | sort >"of ${command// /-}"
done
sort -u "of "* >all
sort -u "keys of "* >"all keys"
[ "$(wc -l <all)" -ge 300 ] || die "only $(wc -l <all) options were found"
for command in "${commands[@]}"; do
  comm -23 all "of ${command// /-}" >others
  expect 0 "has no such option: $(head -n 1 others)," env $(sed 's/$/=x/' others) "$bin/${command%% *}" \
    $([ "$command" = "${command#* }" ] || echo "${command#* }") --print-config
  grep 'has no such option' output | grep -oE 'SKEIN_[A-Z0-9_]+' | cmp - others || die "$command does not name all others"
done

# The same options in a file, of which src/core/options/known_options.cpp lists all, and none that no command has.
for command in "${commands[@]}"; do
  comm -23 "all keys" "keys of ${command// /-}" | sed 's/$/ = x/' >others.ini
  expect 0 "others.ini: left alone, for other commands than " "$bin/${command%% *}" $([ "$command" = "${command#* }" ] || echo "${command#* }") \
    --config others.ini --print-config
done
python3 - "$SKEIN_TEST_SOURCE_DIR/src/core/options/known_options.cpp" >known <<'PY'
import re, sys
for section, names in re.findall(r'\{"(\w+)",((?:\s*"[^"]*")+)\}', open(sys.argv[1]).read()):
    for name in "".join(re.findall(r'"([^"]*)"', names)).split():
        print(section + "." + name)
PY
[ "$(sort known | comm -23 - "all keys")" = model.window ] || die "known_options.cpp lists options that are none: $(sort known | comm -23 - "all keys")"

# A device that this build has no kernels for is refused before anything is read.
for command in "${commands[@]}"; do
  grep -q SKEIN_PARALLEL_DEVICE "of ${command// /-}" || continue
  if "$bin/skein" --version | grep -q "no GPU kernels"; then
    expect 2 "this build has no GPU kernels; build them with \`launch/build cuda\`" "$bin/skein" "${command#* }" --device=cuda
  fi
done
