#!/usr/bin/env bash
# What all programs have in common.
source "$(dirname "$0")/expect.sh"

export LC_ALL=C
commands=("skein-convert")
for name in $("$bin/skein" --help | sed -n 's/^  skein \([a-z]\+\) .*/\1/p'); do commands+=("skein $name"); done
for name in $("$bin/skein-data" --help | sed -n 's/^  \([a-z-]\+\) .*/\1/p'); do commands+=("skein-data $name"); done
[ "${#commands[@]}" -ge 23 ] || die "only these commands: ${commands[*]}"

# Variables for the options of all other commands: each command leaves them alone, in one line, and misses none.
variables_of() { # COMMAND...
  "$bin/$1" "${@:2}" --help | sed -nE 's/^  --([a-z0-9_]+\.[a-z0-9_]+)( .*)?$/\1/p' | tr 'a-z.' 'A-Z_' | sed 's/^/SKEIN_/' | sort
}
for command in "${commands[@]}"; do variables_of $command >"of ${command// /-}"; done
sort -u "of "* >all
[ "$(wc -l <all)" -ge 300 ] || die "only $(wc -l <all) options were found"
for command in "${commands[@]}"; do
  comm -23 all "of ${command// /-}" >others
  expect 0 "has no such option: $(head -n 1 others)," env $(sed 's/$/=x/' others) "$bin/${command%% *}" \
    $([ "$command" = "${command#* }" ] || echo "${command#* }") --print-config
  grep 'has no such option' output | grep -oE 'SKEIN_[A-Z0-9_]+' | cmp - others || die "$command does not name all others"
done

# A device that this build has no kernels for is refused before anything is read.
for command in "${commands[@]}"; do
  grep -q SKEIN_PARALLEL_DEVICE "of ${command// /-}" || continue
  if "$bin/skein" --version | grep -q "no GPU kernels"; then
    expect 2 "this build has no GPU kernels; build them with \`launch/build cuda\`" "$bin/skein" "${command#* }" --device=cuda
  fi
done
