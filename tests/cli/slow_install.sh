#!/usr/bin/env bash
# `cmake --install`, then all of it from the folder it was moved to, as a user without root goes about it.
source "$(dirname "$0")/expect.sh"
cmake --install "$(dirname "$bin")" --prefix "$PWD/first" --strip >log || { cat log >&2; die "cmake --install"; }
mkdir home
mv first home/skein
prefix=$PWD/home/skein
launch=$prefix/share/skein/launch
unset MANPATH PKG_CONFIG_PATH BIN
export PATH=$prefix/bin:$PATH
cd home

"$bin/skein" --version >../version
skein --version | cmp - ../version || die "another program"
expect 0 "d_model = 512" skein pretrain --config "$prefix/share/skein/configs/medium.ini" --print-config
[ "$(man -w skein-data-encode)" = "$prefix/share/man/man1/skein-data-encode.1.gz" ] || die "man does not find skein-data-encode"
for file in share/bash-completion/completions/skein-data share/zsh/site-functions/_skein share/doc/skein/docs/options.md share/doc/skein/README.md \
  share/skein/configs/sweeps/tiny.ini share/skein/launch/slurm/pretrain.sbatch; do
  [ -s "$prefix/$file" ] || die "no $file"
done
[ ! -e "$launch/build" ] || die "what builds was installed"
# Documents lead to what is installed: configurations lie elsewhere than in the sources, and sources are only named.
grep -qF '](../../../skein/configs/bert_base.ini)' "$prefix/share/doc/skein/docs/encoders.md" || die "no link to an installed configuration"
find "$prefix/share/doc/skein" -name '*.md' | while read -r page; do
  { grep -oE '\]\([A-Za-z0-9_./-]+[)#]' "$page" || true; } | sed 's/^](//; s/[)#]$//' | while read -r link; do
    [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
  done
done >../dead
[ ! -s ../dead ] || { cat ../dead >&2; die "dead links in installed documents"; }

# The scripts that start runs: from text to samples, into the folder one is in, with the installed programs and configurations.
for i in $(seq 1 300); do printf 'Paragraph %d: the quick brown fox jumps over %d lazy dogs.\n\n' "$i" $((i * 7 % 31)); done >corpus.txt
timeout 600 "$launch/quickstart" --text corpus.txt --ranks 1 --steps 2 >output 2>&1 || { cat output >&2; die "quickstart"; }
grep -q "quickstart: step 2, 1 ranks" output || { cat output >&2; die "quickstart does not come to its end"; }
grep -qF "already there: $prefix/bin" output || die "quickstart does not take the installed programs"
[ -s runs/quickstart/run/metrics.jsonl ] || die "no run below the folder one is in"
if command -v gnuplot >/dev/null; then
  [ "$(head -c 4 runs/quickstart/report/loss.png | tail -c 3)" = PNG ] || die "no plot"
fi
expect 2 "there are no programs skein and skein-data in /nonesuch; give their folder by BIN" env BIN=/nonesuch "$launch/labs" words --text corpus.txt
expect 0 "" "$launch/supervise" --run runs -- skein --version
[ "$(SLURM_JOB_ID=1 SKEIN_ROOT=$prefix/share/skein bash -c 'source "$SKEIN_ROOT/launch/slurm/common.sh"; echo "$bin"')" = "$prefix/bin" ] ||
  die "batch scripts do not take the installed programs"

# In a folder with a space pkg-config says two arguments of it.
mkdir -p "in a folder/lib"
cp -r "$(dirname "$(find "$prefix" -name skein.pc)")" "in a folder/lib"
eval "set -- $(PKG_CONFIG_PATH="$PWD/in a folder/lib/pkgconfig" pkg-config --libs skein)"
[ "$(printf '%s\n' "$@" | grep -c "^-\(L\|Wl,-rpath,\)$PWD/in a folder/lib/pkgconfig/../../[^/]")" = 2 ] || die "pkg-config says $*"

# A module adds all that, and takes it away again.
modules=$(command -v modulecmd || ls /usr/lib/x86_64-linux-gnu/modulecmd.tcl 2>/dev/null || true)
if [ -n "$modules" ]; then
  (
    export PATH=/usr/bin:/bin MODULEPATH=$prefix/share/modulefiles LOADEDMODULES="" _LMFILES_=""
    eval "$("$modules" bash load skein 2>../said)"
    [ "$(command -v skein)" = "$prefix/bin/skein" ] || die "the module does not add the programs: $(cat ../said)"
    pkg-config --exists skein || die "the module does not add the libraries"
    [ "$(man -w skein)" = "$prefix/share/man/man1/skein.1.gz" ] || die "the module does not add the manual"
    man -w cp >/dev/null 2>&1 || [ ! -e /usr/share/man/man1/cp.1.gz ] || die "the module hides other manuals"
    eval "$("$modules" bash unload skein 2>../said)"
    [ "$PATH" = /usr/bin:/bin ] || die "the module leaves PATH=$PATH"
  )
else
  echo "no Environment Modules: the module file was not tried"
fi
echo passed
