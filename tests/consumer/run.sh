#!/usr/bin/env bash
# Installs the build below a temporary prefix, moves it, and builds and runs a program against it, by CMake and by pkg-config.
# usage: run.sh CMAKE BUILD_DIR
set -euo pipefail
cmake=$1
build=$2
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" > "$work/install.log"
mv "$work/first" "$work/prefix"
"$cmake" -G Ninja -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release
"$cmake" --build "$work/build"

"$work/build/consumer" --model.width=3 | tee "$work/out"
grep --quiet '^skein .*: 12$' "$work/out"

PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name skein.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
"${CXX:-c++}" "$here/main.cpp" -o "$work/by_pkg_config" $(pkg-config --cflags --libs skein)
"$work/by_pkg_config" --model.width=3 | cmp - "$work/out"
[[ $(pkg-config --modversion skein) == "$(sed -n 's/^skein \(.*\): .*/\1/p' "$work/out")" ]]

# The faster kernels must lie where the loader looks.
if [[ $(uname -m) == x86_64 ]]; then
  for level in x86-64-v3 x86-64-v4; do
    compgen -G "$work/prefix/lib*/glibc-hwcaps/$level/libskein_kernels.so.*" > /dev/null ||
      compgen -G "$work/prefix/lib/*/glibc-hwcaps/$level/libskein_kernels.so.*" > /dev/null ||
      { echo "run.sh: no $level kernels were installed" >&2; exit 1; }
  done
fi

for program in "$work/prefix/bin/"*; do
  [[ -x $program ]] || continue
  missing=$(ldd "$program" | grep 'not found' || true)
  if [[ -n $missing ]]; then
    echo "run.sh: installed $program lacks $missing" >&2
    exit 1
  fi
done
