// The noise contract: Philox-4x64 with ten rounds, counter (1 + block, sample, channel, 0), key (key, stream).
//
// Units come in groups of sixteen, two blocks a group; blocks run through the groups of a step and then through the
// steps. The Python module noisyrnn.sde.brownian is the definition, this is the same function.
#pragma once

#include "problem.hpp"
#include "simd.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

constexpr int group = 16;
enum class Channel : std::uint64_t { gaussian = 0, uniform = 1 };

class Philox {
public:
    explicit Philox(const NoiseKey& key) : sample_(key.sample), step_(key.step) {
        std::uint64_t low = key.value, high = key.stream;
        for (auto& round : keys_) {
            round[0] = low;
            round[1] = high;
            low += 0x9E3779B97F4A7C15u;
            high += 0xBB67AE8584CAA73Bu;
        }
    }

    // The eight words of one group of units, for `rows` consecutive samples: [rows][8].
    NOISYRNN_INLINE void words(Channel channel, std::uint64_t step, std::uint64_t groups, std::uint64_t g,
                               std::uint64_t row, int rows, std::uint64_t* out) const {
        const std::uint64_t block = 1 + 2 * ((step_ + step) * groups + g);
        for (int r = 0; r < rows; ++r) {
            const std::uint64_t sample = sample_ + row + static_cast<std::uint64_t>(r);
            encrypt(block, sample, static_cast<std::uint64_t>(channel), out + 8 * r);
            encrypt(block + 1, sample, static_cast<std::uint64_t>(channel), out + 8 * r + 4);
        }
    }

private:
    NOISYRNN_INLINE void encrypt(std::uint64_t c0, std::uint64_t c1, std::uint64_t c2, std::uint64_t* out) const {
        __extension__ using Wide = unsigned __int128;
        std::uint64_t c3 = 0;
#pragma GCC unroll 10
        for (int i = 0; i < 10; ++i) {
            const Wide p0 = static_cast<Wide>(c0) * 0xD2E7470EE14C6C93u;
            const Wide p1 = static_cast<Wide>(c2) * 0xCA5A826395121157u;
            c0 = static_cast<std::uint64_t>(p1 >> 64) ^ c1 ^ keys_[i][0];
            c1 = static_cast<std::uint64_t>(p1);
            c2 = static_cast<std::uint64_t>(p0 >> 64) ^ c3 ^ keys_[i][1];
            c3 = static_cast<std::uint64_t>(p0);
        }
        out[0] = c0;
        out[1] = c1;
        out[2] = c2;
        out[3] = c3;
    }

    std::uint64_t sample_, step_;
    std::uint64_t keys_[10][2];
};

// A group has eight words, so eight lanes are the most that one vector can use.
template <class T>
constexpr int noise_lanes = lanes<T> < 8 ? lanes<T> : 8;

template <class T>
using NoiseVec = Vec<T, noise_lanes<T>>;

template <class T>
struct Halves {
    using Words = Vec<std::int32_t, noise_lanes<T>>;
    Words low, high;
};

template <class T>
NOISYRNN_INLINE Halves<T> halves(const std::uint64_t* words) {
    std::int32_t low[noise_lanes<T>], high[noise_lanes<T>];
    for (int i = 0; i < noise_lanes<T>; ++i) {
        low[i] = static_cast<std::int32_t>(words[i]);
        high[i] = static_cast<std::int32_t>(words[i] >> 32);
    }
    using Words = typename Halves<T>::Words;
    return {load<Words>(low), load<Words>(high)};
}

template <class V, class W>
NOISYRNN_INLINE V converted(W whole) {
    return __builtin_convertvector(whole, V);
}

// [rows][8] words to [rows][16] standard normal numbers (Box and Muller).
template <class T>
NOISYRNN_INLINE void gaussian(const std::uint64_t* words, int rows, T* out) {
    using V = NoiseVec<T>;
    using F = Vec<float, noise_lanes<T>>;
    for (int r = 0; r < rows; ++r)
        for (int i = 0; i < 8; i += noise_lanes<T>) {
            const Halves<T> h = halves<T>(words + 8 * r + i);
            // Unsigned to float by halves of sixteen bits, each exact, so that the sum is rounded once.
            const F wide = converted<F>((h.low >> 16) & 0xffff) * 65536.0f + converted<F>(h.low & 0xffff);
            const F u = wide * 0x1p-32f + 0x1p-33f;
            const F v = converted<F>(h.high) * 0x1p-31f;
            const V radius = root(T(-2) * log(converted<V>(u)));
            V sine, cosine;
            sincospi(converted<V>(v), sine, cosine);
            store(out + 16 * r + i, radius * cosine);
            store(out + 16 * r + 8 + i, radius * sine);
        }
}

// [rows][8] words to [rows][16] uniform numbers in [0, 1).
template <class T>
NOISYRNN_INLINE void uniform(const std::uint64_t* words, int rows, T* out) {
    using V = NoiseVec<T>;
    for (int r = 0; r < rows; ++r)
        for (int i = 0; i < 8; i += noise_lanes<T>) {
            const Halves<T> h = halves<T>(words + 8 * r + i);
            store(out + 16 * r + i, converted<V>((h.low >> 8) & 0xffffff) * T(0x1p-24));
            store(out + 16 * r + 8 + i, converted<V>((h.high >> 8) & 0xffffff) * T(0x1p-24));
        }
}

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
