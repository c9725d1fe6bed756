// Neighbouring lanes in pairs: (a, b) -> (max, min), and one bit for each pair that changed places.
#pragma once

#include "gemm.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

template <class V>
constexpr int lane_count = static_cast<int>(sizeof(V) / sizeof(V{}[0]));

// Each pair of neighbours with its places exchanged.
template <class V>
NOISYRNN_INLINE V exchanged(V v) {
    constexpr int n = lane_count<V>;
    if constexpr (n == 2)
        return __builtin_shufflevector(v, v, 1, 0);
    else if constexpr (n == 4)
        return __builtin_shufflevector(v, v, 1, 0, 3, 2);
    else if constexpr (n == 8)
        return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
    else
        return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
}

// Bits of lanes that are all ones in m.
template <class B>
NOISYRNN_INLINE unsigned lane_bits(B m) {
#if defined(__AVX512F__)
    if constexpr (sizeof(B) == 64 && lane_count<B> == 16)
        return static_cast<unsigned>(_mm512_movepi32_mask((__m512i)m));
    else if constexpr (sizeof(B) == 64)
        return static_cast<unsigned>(_mm512_movepi64_mask((__m512i)m));
    else
#elif defined(__AVX2__)
    if constexpr (lane_count<B> == 8)
        return static_cast<unsigned>(_mm256_movemask_ps((__m256)m));
    else if constexpr (lane_count<B> == 4)
        return static_cast<unsigned>(_mm256_movemask_pd((__m256d)m));
    else
#elif defined(__SSE2__)
    if constexpr (lane_count<B> == 4)
        return static_cast<unsigned>(_mm_movemask_ps((__m128)m));
    else if constexpr (lane_count<B> == 2)
        return static_cast<unsigned>(_mm_movemask_pd((__m128d)m));
    else
#endif
    {
        unsigned found = 0;
        for (int i = 0; i < lane_count<B>; ++i) found |= (m[i] != 0 ? 1u : 0u) << i;
        return found;
    }
}

// Every second one of sixteen bits, beginning with the first, side by side.
NOISYRNN_INLINE std::uint8_t even_bits(unsigned x) {
    x &= 0x5555u;
    x = (x | (x >> 1)) & 0x3333u;
    x = (x | (x >> 2)) & 0x0f0fu;
    return static_cast<std::uint8_t>((x | (x >> 4)) & 0xffu);
}

// Pairs of v in order, the larger first; the bits of v's lanes that are below their neighbour are added to `lower` from
// bit `first` on. What is not a number stays where it is.
template <class V>
NOISYRNN_INLINE V sorted_pairs(V v, unsigned& lower, int first) {
    const V other = exchanged(v);
    const auto below = v < other;
    lower |= lane_bits(below) << first;
    // A lane moves if its pair does: an even lane below its odd one.
    typename Traits<V>::Bits even;
    for (int i = 0; i < Traits<V>::count; ++i) even[i] = i % 2 == 0 ? -1 : 0;
    const auto moved = (below & even) | (exchanged(below) & ~even);
    return moved ? other : v;
}

// Pairs of g back in their places: exchanged where their bit, from bit `first` on, is set.
template <class V>
NOISYRNN_INLINE V unsorted_pairs(V g, unsigned pair_bits, int first) {
    using Bits = typename Traits<V>::Bits;
    Bits weights;
    for (int i = 0; i < Traits<V>::count; ++i) weights[i] = typename Traits<V>::Int(1) << (i / 2);
    const auto chosen = ((static_cast<typename Traits<V>::Int>(pair_bits >> first) - Bits{}) & weights) != 0;
    return chosen ? exchanged(g) : g;
}

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
