#!/bin/sh
# On a machine with a card and no other dependencies than a compiler, nvcc and fmt: builds bench_gpu_star by hand, once
# as it is and once with fused multiply-adds, checks and measures. Run it from the root of the repository.
#   sh bench/gpu/star/card.sh [FOLDER]        environment: NVCC, CXX, ARCH
set -eu
out=${1:-/tmp/plx-gpu-star}
NVCC=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
CXX=${CXX:-g++}
ARCH=${ARCH:-sm_90}
jobs=$(nproc)
mkdir -p "$out"
flags="-std=c++20 -O3 -Isrc -Ibench -ffp-contract=off -fno-math-errno -fno-trapping-math -ffunction-sections -fdata-sections"
sources="src/base/assert.cpp src/base/clock.cpp src/num/exact_sum.cpp
  src/mesh/arena.cpp src/mesh/block_mesh.cpp src/mesh/block_mesh_link.cpp src/mesh/coarse_tile.cpp src/mesh/domain.cpp
  src/mesh/flux_register.cpp src/mesh/gather.cpp src/mesh/level_kernels_baseline.cpp src/mesh/location.cpp
  src/mesh/prolong.cpp src/mesh/side_totals.cpp src/mesh/sides.cpp src/mesh/tile.cpp src/mesh/regrid.cpp
  src/star/hydro/isa.cpp src/star/hydro/stage.cpp src/star/hydro/state.cpp src/star/hydro/kernel_baseline.cpp
  src/star/device/*.cpp bench/gpu/star/main.cpp"
{
  for s in $sources; do
    case $s in *_test.cpp) continue ;; esac
    echo "$CXX $flags -c $s -o $out/$(echo "$s" | tr / _).o"
  done
  for s in operations cuda_machine; do
    echo "$NVCC -ccbin $CXX -std=c++20 -O3 -arch=$ARCH -fmad=false --expt-relaxed-constexpr -Isrc -Xptxas -v \
      -c src/star/device/$s.cu -o $out/cuda_$s.o 2> $out/$s.ptxas"
  done
  echo "$NVCC -ccbin $CXX -std=c++20 -O3 -arch=$ARCH -fmad=true --expt-relaxed-constexpr -Isrc \
    -c src/star/device/operations.cu -o $out/fused_operations.o"
} | tr '\n' '\0' | xargs -0 -P "$jobs" -I{} sh -c '{}'
link() { "$NVCC" -ccbin "$CXX" -arch="$ARCH" -Xlinker --gc-sections "$out"/*.cpp.o "$out/cuda_cuda_machine.o" "$1" -lfmt -o "$2"; }
link "$out/cuda_operations.o" "$out/bench_gpu_star"
link "$out/fused_operations.o" "$out/bench_gpu_star_fused"
grep -hE "registers|spill" "$out"/operations.ptxas | sort | uniq -c | sort -rn | head -20
nvidia-smi --query-gpu=name,clocks.sm,clocks.max.sm,power.limit --format=csv || true
echo "== as it is"
timeout 300 "$out/bench_gpu_star" || true
echo "== fused multiply-adds (not the CPU's bits)"
timeout 200 "$out/bench_gpu_star_fused" || true
