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
# One architecture is enough to see that it compiles, and one level of the CPU; what is never run need not be fast.
flags=-O3
[[ $kind == ON ]] && flags=-O0
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSKEIN_CUDA="$kind" -DCMAKE_CUDA_ARCHITECTURES=90-real -DSKEIN_ALL_CPU_LEVELS=OFF -DCMAKE_CXX_FLAGS_RELEASE="$flags" \
  -DCMAKE_CUDA_FLAGS_RELEASE="-O0 -Xcicc=-O0 -Xptxas=-O0" > /dev/null
if [[ $kind == ON ]]; then
  cmake --build "$build" --target skein_kernels_cuda skein_base skein 2>&1 | tee "$build/log"
  if grep -qE "warning( ?:| #)" "$build/log"; then
    echo "the GPU build has warnings"
    exit 1
  fi
else
  cmake --build "$build" --target skein_program skein_cuda_tests skein_train_tests skein_golden_tests skein_generate_tests skein_emulated_tests
  (cd "$source/tests" && "$build/bin/skein_emulated_tests")
  # As on a machine with a GPU, at sizes an emulated one can do.
  mkdir -p "$build/fake"
  printf '#!/bin/sh\necho "Emulated GPU, none, 16 GiB"\n' > "$build/fake/nvidia-smi"
  chmod +x "$build/fake/nvidia-smi"
  PATH=$build/fake:$PATH "$source/tools/gpu-check" "$build/gpu-check" --build "$build" --models tiny:2 --attention 32:128 --tokens 128 \
    --no-sanitizer --bench-option=--bench.samples=1 --bench-option=--bench.peak_size=64 --bench-option=--bench.stream_mib=1 \
    --bench-option=--model.vocab_size=512 --bench-option=--model.d_model=64 \
    --bench-option=--model.n_heads=2 --bench-option=--bench.batches=2 --bench-option=--bench.new_tokens=4 --bench-option=--bench.prompt=4
  grep -q '^| tiny step, 2 sequences' "$build/gpu-check/gpu-check.md"
fi
