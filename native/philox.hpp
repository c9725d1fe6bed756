// The noise contract: Philox-4x32 with ten rounds, counter (block, step, sample, 16 stream + channel).
//
// Units come in groups of sixteen, four blocks a group. The Python module noisyrnn.sde.brownian is the definition, this
// is the same function. Its first two rounds mix block with stream and sample with step, but none of the former with
// the latter: they are computed once for each block and once for each sample of a step, and vectors do the other eight.
#pragma once

#include "gemm.hpp"
#include "problem.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

constexpr int places = NOISYRNN_VECTOR_BYTES / 16;  // groups of sixteen units that a vector of words belongs to

// Words of 32 bits in lanes of 64, as products want them; what stands above a word is left as it comes.
using Wide = Vec<std::uint64_t>;
using Words = Vec<std::uint32_t>;

// The four blocks of each place: 0 and 2, and 1 and 3.
struct Blocks {
    Wide even, odd;
};

struct Chain {
    Blocks c0, c1, c2, c3;
};

class Philox {
public:
    static constexpr int shared = 2, rounds = 8;  // in tables, and to be done for every block

    Philox(const NoiseKey& key, std::int64_t units)
        : key_(key),
          groups_(ceil_div(padded(units) / block, places) * places),
          blocks_(channels * 12 * groups_ + 2 * places) {  // a vector may begin at the last group
        std::uint32_t low = static_cast<std::uint32_t>(key.value), high = static_cast<std::uint32_t>(key.value >> 32);
        for (auto& round : keys_) {
            round[0] = low;
            round[1] = high;
            low += 0x9E3779B9u;
            high += 0xBB67AE85u;
        }
        for (int channel = 0; channel < channels; ++channel)
            for (std::int64_t b = 0; b < 4 * groups_; ++b) {
                const std::uint64_t one = multiplier[0] * static_cast<std::uint32_t>(b);
                const std::uint64_t word = (one >> 32) ^ (key.stream << 4 | static_cast<unsigned>(channel)) ^ keys_[0][1];
                const std::uint64_t other = multiplier[1] * static_cast<std::uint32_t>(word);
                std::uint64_t* to = table(static_cast<Channel>(channel), b / 4, b % 2 != 0) + b % 4 / 2;
                to[0] = (other >> 32) ^ keys_[1][0];
                to[2 * groups_] = other;
                to[4 * groups_] = one ^ keys_[1][1];
            }
    }

    // From now on steps are counted from here.
    void count_from(std::uint64_t step) { key_.step = step; }

    // Numbers that a table for so many samples has.
    static constexpr std::int64_t table_size(std::int64_t rows) { return 6 * ceil_div(rows, places) * places; }

    // What the first two rounds make of consecutive samples at one step: a table that `begin` reads.
    void begin_step(std::int64_t step, std::int64_t row, std::int64_t rows, std::uint64_t* samples) const {
        const std::uint64_t time = (key_.step + static_cast<std::uint64_t>(step)) ^ keys_[0][0];
        const std::int64_t all = ceil_div(rows, places) * places;
        for (std::int64_t r = 0; r < all; ++r) {
            const std::uint64_t other =
                multiplier[1] * static_cast<std::uint32_t>(key_.sample + static_cast<std::uint64_t>(row + r));
            const std::uint64_t one = multiplier[0] * static_cast<std::uint32_t>((other >> 32) ^ time);
            samples[2 * r] = samples[2 * r + 1] = other;
            samples[2 * (all + r)] = samples[2 * (all + r) + 1] = one >> 32;
            samples[2 * (2 * all + r)] = samples[2 * (2 * all + r) + 1] = one;
        }
    }

    // Blocks of a group for several rows, or of several groups for one row (`across`).
    NOISYRNN_INLINE Chain begin(const std::uint64_t* samples, std::int64_t rows, Channel channel, std::int64_t row,
                                std::int64_t g, bool across) const {
        const std::int64_t all = 2 * ceil_div(rows, places) * places, next = 2 * groups_;
        const auto sample = [&](int i) {
            return across ? pair(samples + i * all + 2 * row) : load<Wide>(samples + i * all + 2 * row);
        };
        const auto mixed = [&](const std::uint64_t* at) { return across ? load<Wide>(at) : pair(at); };
        const std::uint64_t *even = table(channel, g, false), *odd = table(channel, g, true);
        const Wide first = sample(0), second = sample(1), third = sample(2);
        return {{mixed(even) ^ first, mixed(odd) ^ first},
                {mixed(even + next), mixed(odd + next)},
                {mixed(even + 2 * next) ^ second, mixed(odd + 2 * next) ^ second},
                {third, third}};
    }

    NOISYRNN_INLINE void round(Chain& chain, int i) const {
        const std::uint64_t *key = keys_[shared + i];
        half_round(chain.c0.even, chain.c1.even, chain.c2.even, chain.c3.even, key);
        half_round(chain.c0.odd, chain.c1.odd, chain.c2.odd, chain.c3.odd, key);
    }

private:
    static constexpr std::uint64_t multiplier[2] = {0xD2511F53u, 0xCD9E8D57u};

    // The same two lanes in every place.
    NOISYRNN_INLINE static Wide pair(const std::uint64_t* at) {
#if defined(__AVX512F__)
        return (Wide)_mm512_maskz_broadcast_i64x2(0xff, load<__m128i>(at));
#elif defined(__AVX2__)
        return (Wide)_mm256_broadcastsi128_si256(load<__m128i>(at));
#else
        return load<Wide>(at);
#endif
    }

    NOISYRNN_INLINE static void half_round(Wide& c0, Wide& c1, Wide& c2, Wide& c3, const std::uint64_t* key) {
        const Wide one = multiplied(c0, multiplier[0]), other = multiplied(c2, multiplier[1]);
        c0 = (other >> 32) ^ c1 ^ key[0];
        c1 = other;
        c2 = (one >> 32) ^ c3 ^ key[1];
        c3 = one;
    }

    std::uint64_t* table(Channel channel, std::int64_t g, bool odd) const {
        return blocks_.data() + (2 * static_cast<int>(channel) + (odd ? 1 : 0)) * 6 * groups_ + 2 * g;
    }

    NoiseKey key_;
    std::int64_t groups_;
    std::uint64_t keys_[shared + rounds][2];
    Array<std::uint64_t> blocks_;  // [channel][even, odd][three words of the state after two rounds][group][2]
};

NOISYRNN_INLINE Words joined(const Blocks& c) { return (Words)((c.even & 0xffffffffu) | c.odd << 32); }

template <class V, class W>
NOISYRNN_INLINE V converted(W whole) {
    return __builtin_convertvector(whole, V);
}

// Unsigned to float; without an instruction by halves of sixteen bits, each exact, so that the sum is rounded once.
template <class F, class W>
NOISYRNN_INLINE F unsigned_to_float(W w) {
#if defined(__AVX512F__)
    return converted<F>(w);
#else
    using Signed = Vec<std::int32_t, Traits<F>::count>;
    return converted<F>((Signed)(w >> 16)) * 65536.0f + converted<F>((Signed)(w & 0xffff));
#endif
}

// Standard normal numbers (Box and Muller), or low + spread U with U uniform in [0, 1): from one vector of T's width of
// the four words of a block to the four numbers that they give.
template <class T>
struct Normal {
    static constexpr int lanes = NOISYRNN_VECTOR_BYTES / static_cast<int>(sizeof(T));
    using V = Vec<T>;
    using W = Vec<std::uint32_t, lanes>;

    NOISYRNN_INLINE void operator()(const W (&w)[4], V (&out)[4]) const {
        using F = Vec<float, lanes>;
        for (int i = 0; i < 4; i += 2) {
            const F u = unsigned_to_float<F>(w[i]) * 0x1p-32f + 0x1p-33f;
            const F v = converted<F>((Vec<std::int32_t, lanes>)w[i + 1]) * 0x1p-31f;
            const V radius = root(minus_twice_log(converted<V>(u)));
            V sine, cosine;
            sincospi(converted<V>(v), sine, cosine);
            out[i] = radius * cosine;
            out[i + 1] = radius * sine;
        }
    }
};

template <class T>
struct Even {
    T low, spread;
    using V = Vec<T>;
    using W = typename Normal<T>::W;

    NOISYRNN_INLINE void operator()(const W (&w)[4], V (&out)[4]) const {
        const T scale = spread * T(0x1p-24);
        for (int i = 0; i < 4; ++i) out[i] = converted<V>((Vec<std::int32_t, Normal<T>::lanes>)(w[i] >> 8)) * scale + low;
    }
};

#if defined(__AVX512F__)
// Two fours of one vector and two of the other; with a mask for the reason given at `multiplied`.
template <int Which>
NOISYRNN_INLINE Vec<float> chosen(Vec<float> a, Vec<float> b) {
    return (Vec<float>)_mm512_maskz_shuffle_f32x4(0xffff, (__m512)a, (__m512)b, Which);
}
#elif defined(__AVX2__)
// One four of either vector.
template <int Which>
NOISYRNN_INLINE Vec<float> chosen(Vec<float> a, Vec<float> b) {
    return (Vec<float>)_mm256_permute2f128_ps((__m256)a, (__m256)b, Which);
}
#endif

// The numbers that each place has of four vectors side by side: fours of them change places.
template <class T>
NOISYRNN_INLINE void put_rows(const Vec<T> (&v)[4], T* out, std::int64_t between) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
        const Vec<T> a = chosen<0x44>(v[0], v[1]);
        const Vec<T> b = chosen<0xee>(v[0], v[1]);
        const Vec<T> c = chosen<0x44>(v[2], v[3]);
        const Vec<T> d = chosen<0xee>(v[2], v[3]);
        store(out, chosen<0x88>(a, c));
        store(out + between, chosen<0xdd>(a, c));
        store(out + 2 * between, chosen<0x88>(b, d));
        store(out + 3 * between, chosen<0xdd>(b, d));
        return;
    }
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4) {
        store(out, chosen<0x20>(v[0], v[1]));
        store(out + 8, chosen<0x20>(v[2], v[3]));
        store(out + between, chosen<0x31>(v[0], v[1]));
        store(out + between + 8, chosen<0x31>(v[2], v[3]));
        return;
    }
#endif
    using Four = Vec<T, (lanes<T> < 4 ? lanes<T> : 4)>;
    for (int i = 0; i < 4; ++i)
        for (int p = 0; p < lanes<T> / Traits<Four>::count; ++p)
            store(out + p * between + 4 * i, load<Four>(reinterpret_cast<const T*>(v + i) + 4 * p));
}

// The words of a finished chain, as laws want them.
struct Finished {
    Words word[4];
};

// Numbers of all places of a finished chain, sixteen each; places lie `between` numbers apart.
template <class T, class Law>
NOISYRNN_INLINE void put(const Finished& words, const Law& law, T* out, std::int64_t between) {
    for (int first = 0; first < 4 * places; first += lanes<T>) {
        typename Normal<T>::W w[4];
        Vec<T> found[4];
        for (int i = 0; i < 4; ++i)
            w[i] = load<typename Normal<T>::W>(reinterpret_cast<const std::uint32_t*>(words.word + i) + first);
        law(w, found);
        put_rows(found, out + first / 4 * between + first % 4, between);
    }
}

// Chains that are finished before the first of them becomes numbers. A chain and its law in one body would fill the
// window of a processor, and the next chain could not begin beside it; in two passes many go on at once.
constexpr std::int64_t chains_at_once = 8;
static_assert(few_rows <= chains_at_once + 1, "few rows are made in one go");

// Rows of sixteen numbers that `make_noise` may write.
constexpr std::int64_t noise_rows(std::int64_t rows) { return (blocks_at_once + places - 1) * rows + places; }

// Numbers of `groups` groups of units from group g on, [groups][rows][16]. Up to places - 1 more groups or rows are
// written beyond them.
template <class T, class Law>
NOISYRNN_INLINE void make_noise(const Philox& philox, const std::uint64_t* samples, std::int64_t rows, Channel channel,
                                std::int64_t g, std::int64_t groups, const Law& law, T* out) {
    Finished made[chains_at_once];
    const auto finished = [&](bool across, std::int64_t row, std::int64_t group) -> Finished {
        Chain chain = philox.begin(samples, rows, channel, row, group, across);
#pragma GCC unroll 8
        for (int i = 0; i < Philox::rounds; ++i) philox.round(chain, i);
        return {{joined(chain.c0), joined(chain.c1), joined(chain.c2), joined(chain.c3)}};
    };
    if (rows < few_rows) {
        for (std::int64_t i = 0; i < groups; i += places) {
            for (std::int64_t r = 0; r < rows; ++r) made[r] = finished(true, r, g + i);
            for (std::int64_t r = 0; r < rows; ++r) put(made[r], law, out + (i * rows + r) * block, rows * block);
        }
        return;
    }
    // What is written beyond a group's rows is overwritten by the next group.
    for (std::int64_t i = 0; i < groups; ++i)
        for (std::int64_t first = 0; first < rows; first += chains_at_once * places) {
            const std::int64_t left = ceil_div(rows - first, places);
            const std::int64_t count = left < chains_at_once ? left : chains_at_once;
            for (std::int64_t c = 0; c < count; ++c) made[c] = finished(false, first + c * places, g + i);
            for (std::int64_t c = 0; c < count; ++c)
                put(made[c], law, out + (i * rows + first + c * places) * block, block);
        }
}

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
