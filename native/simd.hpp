// Vectors of the width the translation unit is compiled for, and the elementary functions of the scan on them.
//
// Everything lives in a namespace named after the instruction set, so that one source can be compiled several times
// and linked together. Vectors are the compiler's own (GCC and Clang), so a new instruction set is a build flag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

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

// Runs of numbers, of which there may be none: then an address may be null.
template <class T>
NOISYRNN_INLINE void copy(T* to, const T* from, std::int64_t count) {
    if (count > 0) __builtin_memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}

template <class T>
NOISYRNN_INLINE void clear(T* to, std::int64_t count) {
    if (count > 0) __builtin_memset(to, 0, static_cast<std::size_t>(count) * sizeof(T));
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

// The smaller one; y where y is not a number.
template <class V>
NOISYRNN_INLINE V capped(V y, V limit) {
#if defined(__AVX2__)
    if constexpr (std::is_same_v<V, Vec<float, 8>>)
        return (V)__builtin_ia32_minps256(limit, y);
    else if constexpr (std::is_same_v<V, Vec<double, 4>>)
        return (V)__builtin_ia32_minpd256(limit, y);
    else
#endif
        return limit < y ? limit : y;
}

// a where the sign bit of `which` is set, b elsewhere.
template <class V>
NOISYRNN_INLINE V by_sign(typename Traits<V>::Bits which, V a, V b) {
    return which < 0 ? a : b;
}

// c_0 + c_1 x + ... + c_N x^N
template <class V, class T, int N>
NOISYRNN_INLINE V horner(V x, const T (&c)[N]) {
    V sum = splat<V>(c[N - 1]);
    for (int i = N - 2; i >= 0; --i) sum = sum * x + c[i];
    return sum;
}

template <class T>
struct Series;

template <>
struct Series<float> {
    static constexpr int mantissa = 23;
    static constexpr std::int32_t bias = 127;
    static constexpr float shifter = 12582912.0f;  // 1.5 2^23: adding it rounds to a whole number
    static constexpr float log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    static constexpr float tanh_limit = 10.0f;  // tanh is 1 in this precision from here on
    static constexpr float ln2 = 0.693147181f, root_half = 0.707106781f;
    // (e^r - 1) / r for |r| <= ln 2 / 2
    static constexpr float expm1[] = {1.0f,       1.0f / 2,    1.0f / 6,   1.0f / 24,
                                      1.0f / 120, 1.0f / 720, 1.0f / 5040};
    // log((1 + s) / (1 - s)) / s in s^2, |s| <= 0.172
    static constexpr float log[] = {2.0f, 2.0f / 3, 2.0f / 5, 2.0f / 7, 2.0f / 9, 2.0f / 11};
    static constexpr float pi = 3.14159265f;
    // sin(x) / x and cos(x) in x^2, |x| <= pi / 4
    static constexpr float sin[] = {1.0f, -1.0f / 6, 1.0f / 120, -1.0f / 5040, 1.0f / 362880};
    static constexpr float cos[] = {1.0f, -1.0f / 2, 1.0f / 24, -1.0f / 720, 1.0f / 40320, -1.0f / 3628800};
};

template <>
struct Series<double> {
    static constexpr int mantissa = 52;
    static constexpr std::int64_t bias = 1023;
    static constexpr double shifter = 6755399441055744.0;  // 1.5 2^52
    static constexpr double log2_e = 1.4426950408889634074, ln2_high = 0.693147180369123816490,
                            ln2_low = 1.90821492927058770002e-10;
    static constexpr double tanh_limit = 20.0;
    static constexpr double ln2 = 0.69314718055994530942, root_half = 0.70710678118654752440;
    static constexpr double expm1[] = {1.0,
                                       1.0 / 2,
                                       1.0 / 6,
                                       1.0 / 24,
                                       1.0 / 120,
                                       1.0 / 720,
                                       1.0 / 5040,
                                       1.0 / 40320,
                                       1.0 / 362880,
                                       1.0 / 3628800,
                                       1.0 / 39916800,
                                       1.0 / 479001600,
                                       1.0 / 6227020800.0,
                                       1.0 / 87178291200.0};
    static constexpr double log[] = {2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                     2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
    static constexpr double pi = 3.14159265358979323846;
    static constexpr double sin[] = {1.0,
                                     -1.0 / 6,
                                     1.0 / 120,
                                     -1.0 / 5040,
                                     1.0 / 362880,
                                     -1.0 / 39916800,
                                     1.0 / 6227020800.0,
                                     -1.0 / 1307674368000.0,
                                     1.0 / 355687428096000.0};
    static constexpr double cos[] = {1.0,
                                     -1.0 / 2,
                                     1.0 / 24,
                                     -1.0 / 720,
                                     1.0 / 40320,
                                     -1.0 / 3628800,
                                     1.0 / 479001600,
                                     -1.0 / 87178291200.0,
                                     1.0 / 20922789888000.0,
                                     -1.0 / 6402373705728000.0};
};

// tanh x = e / (e + 2), e = exp(2 |x|) - 1 = 2^k p(r) + (2^k - 1): no cancellation near zero. NaN stays NaN.
template <class V>
NOISYRNN_INLINE V tanh(V x) {
    using T = typename Traits<V>::T;
    using Bits = typename Traits<V>::Bits;
    using S = Series<T>;
    const Bits sign = bits(x) & bits(splat<V>(T(-0.0)));
    V y = from_bits<V>(bits(x) ^ sign);
    y = capped(y, splat<V>(S::tanh_limit));
    y = y + y;
    const V shifted = y * S::log2_e + S::shifter;
    const V k = shifted - S::shifter;
    const V r = (y - k * S::ln2_high) - k * S::ln2_low;
    const V p = r * horner(r, S::expm1);
    const Bits exponent = (bits(shifted) - bits(splat<V>(S::shifter)) + S::bias) << S::mantissa;
    const V scale = from_bits<V>(exponent);
    const V e = scale * p + (scale - T(1));
    return from_bits<V>(bits(e / (e + T(2))) | sign);
}

template <class V>
NOISYRNN_INLINE V sigmoid(V x) {
    using T = typename Traits<V>::T;
    return tanh(x * T(0.5)) * T(0.5) + T(0.5);
}

// log x for normal positive x: x = 2^k m with m in [1/sqrt 2, sqrt 2), then the series of artanh.
template <class V>
NOISYRNN_INLINE V log(V x) {
    using T = typename Traits<V>::T;
    using Bits = typename Traits<V>::Bits;
    using S = Series<T>;
    const Bits origin = bits(splat<V>(S::root_half));
    const Bits moved = bits(x) - origin;
    const Bits k = moved >> S::mantissa;
    const V m = from_bits<V>(bits(x) - (k << S::mantissa));
    const V f = m - T(1);
    const V s = f / (f + T(2));
    // The small integer k becomes a number by way of the mantissa of the shifter: no conversion instruction needed.
    const V kf = from_bits<V>(k + bits(splat<V>(S::shifter))) - S::shifter;
    return kf * S::ln2 + s * horner(s * s, S::log);
}

// sin(pi v) and cos(pi v) for |v| <= 1: reduction by quarter turns is exact.
template <class V>
NOISYRNN_INLINE void sincospi(V v, V& sine, V& cosine) {
    using T = typename Traits<V>::T;
    using Bits = typename Traits<V>::Bits;
    using S = Series<T>;
    const V shifted = v * T(2) + S::shifter;
    const Bits q = bits(shifted);
    const V x = (v - (shifted - S::shifter) * T(0.5)) * S::pi;
    const V x2 = x * x;
    const V s = x * horner(x2, S::sin);
    const V c = horner(x2, S::cos);
    constexpr int to_sign = static_cast<int>(sizeof(T)) * 8 - 1;
    const Bits odd = q << to_sign;
    const Bits minus = bits(splat<V>(T(-0.0)));
    sine = from_bits<V>(bits(by_sign(odd, c, s)) ^ ((q << (to_sign - 1)) & minus));
    cosine = from_bits<V>(bits(by_sign(odd, s, c)) ^ (((q + 1) << (to_sign - 1)) & minus));
}

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
