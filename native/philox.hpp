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

struct Wide {
    std::uint64_t low, high;
};

NOISYRNN_INLINE Wide multiplied(std::uint64_t a, const std::uint64_t& b) {
#if defined(__BMI2__) && defined(__x86_64__)
    // By hand, because compilers keep 128-bit products in pairs of registers and spill them inside a matrix product.
    Wide w;
    asm("mulxq %3, %0, %1" : "=r"(w.low), "=r"(w.high) : "d"(a), "m"(b));
    return w;
#else
    __extension__ using Whole = unsigned __int128;
    const Whole w = static_cast<Whole>(a) * b;
    return {static_cast<std::uint64_t>(w), static_cast<std::uint64_t>(w >> 64)};
#endif
}

constexpr std::uint64_t philox_multiplier[2] = {0xD2E7470EE14C6C93u, 0xCA5A826395121157u};

// One block under way.
struct Chain {
    std::uint64_t c0, c1, c2, c3;

    NOISYRNN_INLINE void round(const std::uint64_t* key) {
        const Wide p0 = multiplied(c0, philox_multiplier[0]);
        const Wide p1 = multiplied(c2, philox_multiplier[1]);
        c0 = p1.high ^ c1 ^ key[0];
        c1 = p1.low;
        c2 = p0.high ^ c3 ^ key[1];
        c3 = p0.low;
    }
};

class Philox {
public:
    static constexpr int rounds = 10;

    explicit Philox(const NoiseKey& key) : sample_(key.sample), step_(key.step) {
        std::uint64_t low = key.value, high = key.stream;
        for (auto& round : keys_) {
            round[0] = low;
            round[1] = high;
            low += 0x9E3779B97F4A7C15u;
            high += 0xBB67AE8584CAA73Bu;
        }
    }

    // Words of one group of units for consecutive samples and channels, [channels][rows][8], made block by block:
    // integer work that a matrix product can do on the side, because it leaves the integer units idle.
    class Words {
    public:
        static constexpr int rounds = Philox::rounds;

        Words(const Philox& philox, Channel first, int channels, std::uint64_t step, std::uint64_t groups,
              std::uint64_t g, std::uint64_t row, int rows, std::uint64_t* out)
            : keys_(philox.keys_[0]),
              block_(1 + 2 * ((philox.step_ + step) * groups + g)),
              sample_(philox.sample_ + row),
              channel_(static_cast<std::uint64_t>(first)),
              blocks_(2 * rows),
              left_(2 * rows * channels),
              next_(0),
              out_(out) {}

        bool pending() const { return left_ > 0; }

        NOISYRNN_INLINE Chain begin() const {
            return {block_ + (static_cast<unsigned>(next_) & 1u), sample_ + (static_cast<unsigned>(next_) >> 1),
                    channel_, 0};
        }
        NOISYRNN_INLINE void round(Chain& chain, int i) const { chain.round(keys_ + 2 * i); }
        NOISYRNN_INLINE void end(const Chain& chain) {
            out_[0] = chain.c0;
            out_[1] = chain.c1;
            out_[2] = chain.c2;
            out_[3] = chain.c3;
            out_ += 4;
            --left_;
            if (++next_ == blocks_) {
                next_ = 0;
                ++channel_;
            }
        }

        // What no product has done.
        void finish() {
            while (pending()) {
                Chain chain = begin();
#pragma GCC unroll 10
                for (int i = 0; i < rounds; ++i) round(chain, i);
                end(chain);
            }
        }

    private:
        const std::uint64_t* keys_;
        std::uint64_t block_, sample_, channel_;
        int blocks_, left_, next_;
        std::uint64_t* out_;
    };

private:
    std::uint64_t sample_, step_;
    std::uint64_t keys_[rounds][2];
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
    using Words = typename Halves<T>::Words;
#if defined(__AVX2__) && (defined(__clang__) || __GNUC__ >= 12)
    if constexpr (noise_lanes<T> == 8) {
        // Two instructions a half, which compilers do not find: within the halves of a register, then across them.
        using Pairs = Vec<std::int64_t, 4>;
        const Words a = load<Words>(words), b = load<Words>(words + 4);
        const Pairs low = (Pairs)__builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14);
        const Pairs high = (Pairs)__builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
        return {(Words)__builtin_shufflevector(low, low, 0, 2, 1, 3),
                (Words)__builtin_shufflevector(high, high, 0, 2, 1, 3)};
    }
#endif
    std::int32_t low[noise_lanes<T>], high[noise_lanes<T>];
    for (int i = 0; i < noise_lanes<T>; ++i) {
        low[i] = static_cast<std::int32_t>(words[i]);
        high[i] = static_cast<std::int32_t>(words[i] >> 32);
    }
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
            const V radius = root(minus_twice_log(converted<V>(u)));
            V sine, cosine;
            sincospi(converted<V>(v), sine, cosine);
            store(out + 16 * r + i, radius * cosine);
            store(out + 16 * r + 8 + i, radius * sine);
        }
}

// [rows][8] words to [rows][16] numbers low + spread U, with U uniform in [0, 1).
template <class T>
NOISYRNN_INLINE void uniform(const std::uint64_t* words, int rows, T low, T spread, T* out) {
    using V = NoiseVec<T>;
    const T scale = spread * T(0x1p-24);
    for (int r = 0; r < rows; ++r)
        for (int i = 0; i < 8; i += noise_lanes<T>) {
            const Halves<T> h = halves<T>(words + 8 * r + i);
            store(out + 16 * r + i, converted<V>((h.low >> 8) & 0xffffff) * scale + low);
            store(out + 16 * r + 8 + i, converted<V>((h.high >> 8) & 0xffffff) * scale + low);
        }
}

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
