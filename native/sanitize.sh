#!/bin/sh
# Builds the kernels with the address and undefined-behaviour sanitizers and runs their own test; no Python is needed.
#   native/sanitize.sh [directory for the build]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-"$root/build/sanitize"}
mkdir -p "$build"
cxx=${CXX:-g++}
common="-std=gnu++17 -O1 -g -fno-math-errno -Wall -Wextra -Wno-psabi -fsanitize=address,undefined -fno-sanitize-recover=all -I$root/native"

$cxx $common -DNOISYRNN_ISA=baseline -c "$root/native/kernels.cpp" -o "$build/baseline.o" &
objects="$build/baseline.o"
with=""
case $(uname -m) in
x86_64 | amd64)
    $cxx $common -DNOISYRNN_ISA=avx2 -mavx2 -mfma -c "$root/native/kernels.cpp" -o "$build/avx2.o" &
    $cxx $common -DNOISYRNN_ISA=avx512 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx2 -mfma -mprefer-vector-width=512 \
        -c "$root/native/kernels.cpp" -o "$build/avx512.o" &
    objects="$objects $build/avx2.o $build/avx512.o"
    with="-DNOISYRNN_WITH_AVX2 -DNOISYRNN_WITH_AVX512"
    ;;
esac
wait
$cxx $common $with -DNOISYRNN_UNCACHED "$root"/native/dispatch.cpp "$root"/native/threads.cpp "$root"/native/buffers.cpp \
    "$root"/tests/native/test_kernels.cpp $objects -pthread -o "$build/test_kernels"
"$build/test_kernels"
