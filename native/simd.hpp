// Vectors of the width the translation unit is compiled for, and the elementary functions of the scan on them.
//
// Everything lives in a namespace named after the instruction set, so that one source can be compiled several times
// and linked together. Vectors are the compiler's own (GCC and Clang), so a new instruction set is a build flag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef NOISYRNN_ISA
#error "compile with -DNOISYRNN_ISA=name of the instruction set"
#endif

#if defined(__AVX512F__)
#define NOISYRNN_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define NOISYRNN_VECTOR_BYTES 32
#else
#define NOISYRNN_VECTOR_BYTES 16
#endif

#define NOISYRNN_INLINE inline __attribute__((always_inline))

namespace noisyrnn {
namespace NOISYRNN_ISA {

template <class T>
constexpr int lanes = NOISYRNN_VECTOR_BYTES / static_cast<int>(sizeof(T));

template <class T, int L>
struct VecOf {
    typedef T type __attribute__((vector_size(sizeof(T) * L)));
};
template <class T, int L = lanes<T>>
using Vec = typename VecOf<T, L>::type;

template <class T>
struct Integer;
template <>
struct Integer<float> {
    using type = std::int32_t;
};
template <>
struct Integer<double> {
    using type = std::int64_t;
};

template <class V>
struct Traits {
    using T = typename std::remove_cv<typename std::remove_reference<decltype(V{}[0])>::type>::type;
    static constexpr int count = sizeof(V) / sizeof(T);
    using Int = typename Integer<T>::type;
    using Bits = Vec<Int, count>;
};

template <class V, class T>
NOISYRNN_INLINE V load(const T* from) {
    V v;
    __builtin_memcpy(&v, from, sizeof(V));
    return v;
}

template <class V, class T>
NOISYRNN_INLINE void store(T* to, V v) {
    __builtin_memcpy(to, &v, sizeof(V));
}

// Stores a vector past the caches: what is not wanted again soon need not be fetched before it is overwritten, nor drive
// out what is. The address is a multiple of the vector's size; `past_is_there` makes it visible to other threads.
template <class T, class V>
NOISYRNN_INLINE void store_past(T* to, V v) {
    static_assert(sizeof(V) == NOISYRNN_VECTOR_BYTES, "whole vectors only");
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)v);
#elif defined(__AVX2__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)v);
#elif defined(__SSE2__)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)v);
#else
    store(to, v);
#endif
}

inline void past_is_there() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

// Runs of numbers, of which there may be none: then an address may be null.
template <class T>
NOISYRNN_INLINE void copy(T* to, const T* from, std::int64_t count) {
    if (count > 0) __builtin_memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

template <class T>
NOISYRNN_INLINE void clear(T* to, std::int64_t count) {
    if (count > 0) __builtin_memset(to, 0, static_cast<std::size_t>(count) * sizeof(T));
}

// Asks for the cache lines of a block of sixteen numbers ahead of their use. Rows of a block lie far apart, a pattern
// that processors do not foresee by themselves.
template <bool Write, class T>
NOISYRNN_INLINE void expect(const T* at) {
    for (std::size_t byte = 0; byte < 16 * sizeof(T); byte += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(at) + byte, Write ? 1 : 0);
}

// The first `count` lanes, the others zero: the ragged end of a row.
template <class V, class T>
NOISYRNN_INLINE V load_first(const T* from, int count) {
    V v{};
    for (int i = 0; i < Traits<V>::count; ++i)
        if (i < count) v[i] = from[i];
    return v;
}

template <class V, class T>
NOISYRNN_INLINE void store_first(T* to, V v, int count) {
    for (int i = 0; i < Traits<V>::count; ++i)
        if (i < count) to[i] = v[i];
}

// x - 0 rather than 0 + x: only the former is x for every x, so the compiler is left with a broadcast.
template <class V>
NOISYRNN_INLINE V splat(typename Traits<V>::T x) {
    return x - V{};
}

template <class V>
NOISYRNN_INLINE typename Traits<V>::Bits bits(V v) {
    return (typename Traits<V>::Bits)v;
}

template <class V>
NOISYRNN_INLINE V from_bits(typename Traits<V>::Bits b) {
    return (V)b;
}

template <class V>
NOISYRNN_INLINE V root(V x) {
    V r;
    for (int i = 0; i < Traits<V>::count; ++i) {
        if constexpr (sizeof(typename Traits<V>::T) == 4)
            r[i] = __builtin_sqrtf(x[i]);
        else
            r[i] = __builtin_sqrt(x[i]);
    }
    return r;
}

template <class V>
NOISYRNN_INLINE typename Traits<V>::T total(V v) {
    typename Traits<V>::T sum = 0;
    for (int i = 0; i < Traits<V>::count; ++i) sum += v[i];
    return sum;
}

// Products of the lower 32 bits of each lane with a number of 32 bits, which compilers do not find in 64-bit products.
NOISYRNN_INLINE Vec<std::uint64_t> multiplied(Vec<std::uint64_t> a, std::uint64_t b) {
    using V = Vec<std::uint64_t>;
#if defined(__AVX512F__)
    // With a mask of all lanes, because GCC warns of what it makes of the plain one.
    return (V)_mm512_maskz_mul_epu32(0xff, (__m512i)a, (__m512i)(b + V{}));
#elif defined(__AVX2__)
    return (V)_mm256_mul_epu32((__m256i)a, (__m256i)(b + V{}));
#elif defined(__SSE2__)
    return (V)_mm_mul_epu32((__m128i)a, (__m128i)(b + V{}));
#else
    return (a & 0xffffffffu) * b;
#endif
}

// y within [-limit, limit]; y where y is not a number.
template <class V>
NOISYRNN_INLINE V within(V y, V limit) {
#if defined(__AVX2__)
    if constexpr (std::is_same_v<V, Vec<float, 8>>)
        return (V)__builtin_ia32_maxps256(-limit, (V)__builtin_ia32_minps256(limit, y));
    else if constexpr (std::is_same_v<V, Vec<double, 4>>)
        return (V)__builtin_ia32_maxpd256(-limit, (V)__builtin_ia32_minpd256(limit, y));
    else
#endif
    {
        const V below = limit < y ? limit : y;
        return -limit > below ? -limit : below;
    }
}

// c_0 + c_1 x + ... + c_N x^N.
template <class V, class T, int N>
NOISYRNN_INLINE V series(V x, const T (&c)[N]) {
    V sum = splat<V>(c[N - 1]);
#pragma GCC unroll 16
    for (int i = N - 2; i >= 0; --i) sum = sum * x + c[i];
    return sum;
}

// Polynomials for the functions below, close to those of least largest error. Each coefficient of the float series for
// angles was fitted after those before it had been rounded, so that normal numbers have no bias.
template <class T>
struct Series;

template <>
struct Series<float> {
    static constexpr int mantissa = 23;
    static constexpr std::int32_t bias = 127;
    static constexpr float shifter = 12582912.0f;  // 1.5 2^23: adding it rounds to a whole number
    static constexpr float twice_log2_e = 2.88539008f, half_ln2 = 0.346573590f;
    static constexpr float tanh_limit = 10.0f;  // tanh is 1 in this precision from here on
    static constexpr float minus_ln4 = -1.38629436f, root_half = 0.707106781f;
    // (exp(2 r) - 1) / r for |r| <= ln(2) / 4
    static constexpr float expm1[] = {2.000000022f,  2.000000005f,  1.333320416f,
                                      0.6666634388f, 0.2678129814f, 0.08917535998f};
    // -2 log((1 + s) / (1 - s)) / s in s^2, |s| <= 0.172
    static constexpr float log[] = {-3.9999999973f, -1.3333363077f, -0.7994969075f, -0.5984906075f};
    // sqrt(2) sin(pi v / 2) / v and sqrt(2) cos(pi v / 2) in v^2, |v| <= 1
    static constexpr float sin[] = {2.22144151f, -0.913531125f, 0.112699814f, -0.00661181752f, 0.000215204433f};
    static constexpr float cos[] = {1.41421354f,    -1.74471557f,   0.358740032f,
                                    -0.0294983163f, 0.00129172346f, -3.14003155e-05f};
};

template <>
struct Series<double> {
    static constexpr int mantissa = 52;
    static constexpr std::int64_t bias = 1023;
    static constexpr double shifter = 6755399441055744.0;  // 1.5 2^52
    static constexpr double twice_log2_e = 2.8853900817779268147, half_ln2 = 0.34657359027997265471;
    static constexpr double tanh_limit = 20.0;
    static constexpr double minus_ln4 = -1.3862943611198906188, root_half = 0.70710678118654752440;
    static constexpr double expm1[] = {1.9999999999999999995,    1.9999999999999999999,    1.3333333333333344656,
                                       0.66666666666666682838,   0.26666666666622686772,   0.088888888888826073559,
                                       0.025396825459297795622,  0.0063492063581292128924, 0.0014109307334261692721,
                                       0.00028218637597786620831, 0.000051425380771468615254, 8.5680692173384648408e-6};
    static constexpr double log[] = {-4.0,
                                     -1.3333333333333331676,
                                     -0.80000000000014998539,
                                     -0.5714285713763505918,
                                     -0.44444445354324549042,
                                     -0.36363547439465325388,
                                     -0.30774323434124086632,
                                     -0.26497490719765129339,
                                     -0.26524528586012233886};
    static constexpr double sin[] = {2.2214414690791831235,     -0.91353118749942983798,   0.11270239285845950554,
                                     -0.0066210001938639539851, 0.00022689809948912017735, -5.0895329107020948718e-6,
                                     8.049947829557610034e-8,   -9.4582654417966548401e-10, 8.5761502896911022498e-12,
                                     -6.0108047404624785283e-14};
    static constexpr double cos[] = {1.4142135623730950488,     -1.7447160499097198817,   0.35874285843417103273,
                                     -0.029505417453843168187,  0.0013000303480237740832, -0.000035641070104948283677,
                                     6.662182581196691372e-7,   -9.0319613034073072059e-9, 9.2806128740042572733e-11,
                                     -7.248024127429454288e-13};
};

// tanh x = e / (e + 2), e = exp(2 x) - 1 = 2^k p(r) + (2^k - 1) with x = k ln(2) / 2 + r: no cancellation near zero,
// and never beyond one. NaN stays NaN.
template <class V>
NOISYRNN_INLINE V tanh(V x) {
    using T = typename Traits<V>::T;
    using S = Series<T>;
    const V y = within(x, splat<V>(S::tanh_limit));
    const V shifted = y * S::twice_log2_e + S::shifter;
    const V r = y - (shifted - S::shifter) * S::half_ln2;
    // The whole number k stands in the last bits of the mantissa; what is above them leaves by the shift.
    const V scale = from_bits<V>((bits(shifted) << S::mantissa) + (S::bias << S::mantissa));
    const V e = scale * (r * series(r, S::expm1)) + (scale - T(1));
    return e / (e + T(2));
}

template <class V>
NOISYRNN_INLINE V sigmoid(V x) {
    using T = typename Traits<V>::T;
    return tanh(x * T(0.5)) * T(0.5) + T(0.5);
}

// -2 log x for normal positive x: x = 2^k m with m in [1/sqrt 2, sqrt 2), then the series of artanh.
template <class V>
NOISYRNN_INLINE V minus_twice_log(V x) {
    using T = typename Traits<V>::T;
    using Bits = typename Traits<V>::Bits;
    using S = Series<T>;
    const Bits k = (bits(x) - bits(splat<V>(S::root_half))) >> S::mantissa;
    const V f = from_bits<V>(bits(x) - (k << S::mantissa)) - T(1);
    const V s = f / (f + T(2));
    // The small integer k becomes a number by way of the mantissa of the shifter: no conversion instruction needed.
    const V kf = from_bits<V>(k + bits(splat<V>(S::shifter))) - S::shifter;
    return kf * S::minus_ln4 + s * series(s * s, S::log);
}

// sin(pi v) and cos(pi v) for |v| <= 1 from sqrt(2) times those of half the angle: no quadrants to tell apart.
template <class V>
NOISYRNN_INLINE void sincospi(V v, V& sine, V& cosine) {
    using T = typename Traits<V>::T;
    using S = Series<T>;
    const V v2 = v * v;
    const V s = v * series(v2, S::sin);
    sine = s * series(v2, S::cos);
    cosine = T(1) - s * s;
}

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
