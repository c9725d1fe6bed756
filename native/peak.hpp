// The most that this processor can do: multiply-adds in registers, as many chains of them as keep all units busy.
#pragma once

#include "simd.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

// Does the work and returns how many floating-point operations it was.
inline double multiply_adds(std::int64_t rounds) {
    using V = Vec<float>;
    constexpr int chains = 12;
    V sum[chains];
    // Every loop over the chains is unrolled: an array with one index that varies is kept in memory, not in registers.
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sum[i] = splat<V>(static_cast<float>(i));
    V factor = splat<V>(0.999f), more = splat<V>(0.001f);
    for (std::int64_t k = 0; k < rounds; ++k) {
        asm volatile("" : "+m"(factor));  // so that no round can be foreseen
        const V now = factor;
#pragma GCC unroll 12
        for (int i = 0; i < chains; ++i) sum[i] = sum[i] * now + more;
    }
    V total = sum[0];
#pragma GCC unroll 12
    for (int i = 1; i < chains; ++i) total += sum[i];
    asm volatile("" : : "m"(total));
    return 2.0 * lanes<float> * chains * static_cast<double>(rounds);
}

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
