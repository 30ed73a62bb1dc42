#!/usr/bin/env bash
# Compiles for GPUs all that a build for CPUs leaves out: kernels, driver, NCCL, and what chooses between devices. usage: build.sh SOURCE BUILD
# With every version of CUDA that is here: that of the path, and those in /usr/local. 77 (skipped) without nvcc.
set -euo pipefail
source=$1
compilers=$(for nvcc in $(command -v nvcc) /usr/local/cuda*/bin/nvcc; do [[ ! -x $nvcc ]] || readlink -f "$nvcc"; done | sort -u)
if [[ -z $compilers ]]; then
  echo "no nvcc here"
  exit 77
fi
build_with() {
  local nvcc=$1 build=$2
  # One architecture is enough to see that it compiles, and one level of the CPU; what is never run need not be fast.
  CUDACXX=$nvcc cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSKEIN_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90-real -DSKEIN_ALL_CPU_LEVELS=OFF \
    -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DCMAKE_CUDA_FLAGS_RELEASE="-O0 -Xcicc=-O0 -Xptxas=-O0" > /dev/null
  # Objects only: all that sees a device, but not what the build for CPUs has compiled in the same way.
  mapfile -t objects < <(cd "$source/src" && {
    ls kernels/cuda/*.cu | sed 's|^|skein_kernels_cuda.dir/|'
    ls tensor/*.cpp tensor/cuda/*.cpp | grep -v no_cuda | sed 's|^|skein_base.dir/|'
    { grep -rlE --include=*.cpp 'on_device\(' . | sed 's|^\./||'; ls comm/cuda/*.cpp; } | sed 's|^|skein.dir/|'
  } | sed 's|.*|src/CMakeFiles/&.o|')
  cmake --build "$build" --target "${objects[@]}" 2>&1 | tee "$build/log"
  if grep -qE "warning( ?:| #)" "$build/log"; then
    echo "the GPU build has warnings"
    exit 1
  fi
}

for nvcc in $compilers; do
  version=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
  echo "CUDA $version: $nvcc"
  build_with "$nvcc" "$2-$version"
done
