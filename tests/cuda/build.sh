#!/usr/bin/env bash
# Builds with the GPU kernels. usage: build.sh SOURCE BUILD ON|EMULATED
# ON: everything compiles for GPUs; 77 (skipped) without nvcc. EMULATED: the tests that want a GPU run on an emulated one.
set -euo pipefail
source=$1 build=$2 kind=$3
if [[ $kind == ON ]] && ! command -v nvcc > /dev/null && [[ ! -x /usr/local/cuda/bin/nvcc ]]; then
  echo "no nvcc here"
  exit 77
fi
export PATH=$PATH:/usr/local/cuda/bin
# One architecture is enough to see that it compiles.
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSKEIN_CUDA="$kind" -DCMAKE_CUDA_ARCHITECTURES=90-real > /dev/null
if [[ $kind == ON ]]; then
  cmake --build "$build" --target skein_kernels_cuda skein_base skein 2>&1 | tee "$build/log"
  if grep -q "warning" "$build/log"; then
    echo "the GPU build has warnings"
    exit 1
  fi
else
  cmake --build "$build" --target skein_train_tests skein_generate_tests
  cd "$source/tests"
  "$build/bin/skein_train_tests" --gtest_filter='OnGpu.*'
  "$build/bin/skein_generate_tests" --gtest_filter='OnGpu.*'
fi
