#!/bin/sh
# Builds the kernels with sanitizers (address and undefined behaviour, then thread) and runs their own test under each;
# no Python is needed.
#   native/sanitize.sh [directory for the builds]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
builds=${1:-"$root/build/sanitize"}
cxx=${CXX:-g++}

sanitize() {
    build="$builds/$1"
    mkdir -p "$build"
    common="-std=gnu++17 -O1 -g -fno-math-errno -Wall -Wextra -Wno-psabi -fsanitize=$1 -fno-sanitize-recover=all -DNOISYRNN_UNCACHED -I$root/native"
    $cxx $common -DNOISYRNN_ISA=baseline -c "$root/native/kernels.cpp" -o "$build/baseline.o" &
    objects="$build/baseline.o"
    with=""
    case $(uname -m) in
    x86_64 | amd64)
        $cxx $common -DNOISYRNN_ISA=avx2 -mavx2 -mfma -c "$root/native/kernels.cpp" -o "$build/avx2.o" &
        $cxx $common -DNOISYRNN_ISA=avx512 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx2 -mfma \
            -mprefer-vector-width=512 -c "$root/native/kernels.cpp" -o "$build/avx512.o" &
        objects="$objects $build/avx2.o $build/avx512.o"
        with="-DNOISYRNN_WITH_AVX2 -DNOISYRNN_WITH_AVX512"
        ;;
    esac
    wait
    $cxx $common $with "$root"/native/dispatch.cpp "$root"/native/threads.cpp \
        "$root"/native/buffers.cpp "$root"/tests/native/test_kernels.cpp $objects -pthread -o "$build/test_kernels"
    echo "sanitizer: $1"
    "$build/test_kernels"
}

sanitize address,undefined
sanitize thread
