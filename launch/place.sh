# shellcheck shell=bash disable=SC2034
# Sourced by the scripts here. Sets
#   root   where configs and launch are: the repository, or share/skein of an installed Skein
#   bin    the programs: $BIN, or build/cpu/bin of the repository, or those that are installed beside share
#   runs   where results go unless told otherwise: the repository's runs, or runs in the folder one is in
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
if [[ -e $root/CMakeLists.txt ]]; then
  bin=$(readlink -m "${BIN:-$root/build/cpu/bin}")
  runs=$root/runs
else
  bin=$(readlink -m "${BIN:-$root/../../bin}")
  runs=$PWD/runs
fi

# Where programs are missing, the repository's own are built, with the packages that takes.
need_programs() {
  if [[ -x $bin/skein && -x $bin/skein-data ]]; then return; fi
  if [[ -z ${BIN:-} && -e $root/CMakeLists.txt ]]; then
    bash "$root/launch/install-packages"
    bash "$root/launch/build" cpu --target programs
  else
    echo "$(basename "$0"): there are no programs skein and skein-data in $bin; give their folder by BIN" >&2
    exit 2
  fi
}

# The King James Bible on stdout, where no other text was given.
default_text() {
  if ! command -v bible >/dev/null; then
    echo "$(basename "$0"): the text is that of Debian's package bible-kjv, which is not installed; install it, or give a text of your own" >&2
    exit 2
  fi
  bible -f gen1:1-rev22:21
}

# What a folder is made from, on a line: of a text its path and its sum, so that one that has changed is another text.
text_stamp() { # TEXT, empty for the default
  if [[ -n $1 ]]; then printf '%s %s\n' "$(readlink -f "$1")" "$(sha256sum <"$1" | cut -d' ' -f1)"; else echo bible-kjv; fi
}

# The folder of the run of a skein with these arguments: the last --run.dir, else that of the environment.
run_of() { # [ARGUMENT...]
  local run=${SKEIN_RUN_DIR:-} before="" argument
  for argument in "$@"; do
    case $argument in --run.dir=*) run=${argument#--run.dir=} ;; esac
    [[ $before != --run.dir ]] || run=$argument
    before=$argument
  done
  echo "$run"
}

# Checkpoints of a run, or of a sweep's cells checkpoints and results, the newest one last.
commits() { # RUN
  find "$1/checkpoints" "$1/cells" -maxdepth 3 \( -name 'step-*' -o -name result.json \) -printf '%T@ %P\n' 2>/dev/null |
    sort -n | cut -d' ' -f2
}

# Whether $2 names a commit that $1 does not; their times say nothing where a clock was set back.
has_more() { [[ -n $(comm -13 <(sort <<<"$1") <(sort <<<"$2")) ]]; }
