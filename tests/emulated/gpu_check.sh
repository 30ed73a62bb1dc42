#!/usr/bin/env bash
# tools/gpu-check as on a machine with a GPU, at sizes an emulated one can do; kernels have tests of their own here. usage: gpu_check.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
fake=$(mktemp -d)
trap 'rm -rf "$fake"' EXIT
printf '#!/bin/sh\necho "Emulated GPU, none, 16 GiB"\n' > "$fake/nvidia-smi"
chmod +x "$fake/nvidia-smi"
ln -sf ../../bin/skein-data "$build/bin/skein-data"
PATH=$fake:$PATH "$source/tools/gpu-check" "$build/gpu-check" --build "$build" --models tiny:2 --attention 32:128 --structures window:64:2 --tokens 128 \
  --no-sanitizer --no-kernels --gpus 2 --train-option=--train.steps=2 --bench-option=--bench.samples=1 --bench-option=--bench.peak_size=64 --bench-option=--bench.stream_mib=1 \
  --bench-option=--model.vocab_size=512 --bench-option=--model.d_model=64 \
  --bench-option=--model.n_heads=2 --bench-option=--bench.batches=2 --bench-option=--bench.new_tokens=4 --bench-option=--bench.prompt=4
grep -q '^| tiny step, 2 sequences' "$build/gpu-check/gpu-check.md"
grep -q '^| tiny trained by 2 GPUs' "$build/gpu-check/gpu-check.md"
