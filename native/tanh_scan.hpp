// h' = h + dt f + noise,  f = h A^T + tanh(h W^T + u): noisy, Lipschitz and antisymmetric networks.
//
//   none      h' = h + dt f
//   ito       h' = h + dt f + sqrt(dt) (s1 + s2 f) xi
//   released  h' = h + dt (1 - m + m U) f + s xi
//   gated     h' = h + dt sigmoid(h W^T + v) tanh(h W^T + u), without A and without noise
//
// The backward pass writes h' = h + d_j p f + ..., with d_j the part of the step size that depends on the unit alone
// and p the rest. It keeps the factors p g (g the gradient of h') and g_z of the weight gradients; d_j is put into the
// packed A and into the finished gradient. That leaves sum_i A_ji (sum p g h)_ji as the share of h A^T in the gradient
// of d_j: no further product is needed for a learned step size.
#pragma once

#include "drive.hpp"
#include "philox.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

template <class T>
class TanhScan : public Job {
public:
    TanhScan(const TanhProblem<T>& problem, int workers)
        : p_(problem),
          n_(problem.size.units),
          width_(padded(problem.size.units)),
          slices_(slice_count(problem.size.batch)),
          most_rows_(slices_ > 0 ? slice_at(problem.size.batch, 0).rows : 0),
          parts_(problem.A != nullptr ? 2 : 1),
          drive_(problem.input, problem.size),
          philox_(problem.key),
          step_(2 * width_),
          forward_(parts_ * n_ * width_),
          scratch_(static_cast<std::int64_t>(workers) * scratch_size()),
          words_(static_cast<std::int64_t>(workers) * most_rows_ * 8) {
        T* d = step_.data();
        for (std::int64_t j = 0; j < width_; ++j) {
            d[j] = p_.dt.unit == nullptr || j >= n_ ? T(1) : p_.dt.unit[j];
            d[width_ + j] = T(__builtin_sqrt(d[j]));
        }
        const std::int64_t stride = n_ * panel<T>;
        T* to = forward_.data();
        for (std::int64_t b = 0; b < width_ / block; ++b) {
            for (const T* matrix : {p_.A, p_.W}) {
                if (matrix == nullptr) continue;
                pack_block<T>(matrix, 1, n_, nullptr, n_, n_, n_, b, to, stride);
                to += panels_in_block<T> * stride;
            }
        }
    }

protected:
    // Products of a few blocks, then noise: [blocks][parts][rows][16], [rows][16] twice, two states.
    std::int64_t scratch_size() const {
        return most_rows_ * (blocks_at_once * 2 + 2) * block + 2 * most_rows_ * n_;
    }
    T* scratch(int worker) const { return scratch_.data() + worker * scratch_size(); }
    std::uint64_t* words(int worker) const { return words_.data() + worker * most_rows_ * 8; }
    bool held(std::int64_t sample, std::int64_t t) const {
        return p_.record.lengths != nullptr && t >= p_.record.lengths[sample];
    }
    T step_of(std::int64_t sample, std::int64_t t) const {
        return p_.dt.time != nullptr ? p_.dt.time[t * p_.dt.step_stride + sample * p_.dt.sample_stride] : T(1);
    }

    // Noise of sixteen units for all rows of a slice at one step; `uniform` only where it is asked for.
    template <Noise N>
    NOISYRNN_INLINE void draw(const Slice& slice, std::int64_t t, std::int64_t b, std::uint64_t* words, T* xi,
                              T* factor) const {
        if constexpr (N == Noise::none) return;
        const int rows = static_cast<int>(slice.rows);
        const auto first = static_cast<std::uint64_t>(slice.first), step = static_cast<std::uint64_t>(t);
        const auto groups = static_cast<std::uint64_t>(width_ / block), g = static_cast<std::uint64_t>(b);
        philox_.words(Channel::gaussian, step, groups, g, first, rows, words);
        gaussian<T>(words, rows, xi);
        if (N == Noise::released && p_.multiplicative != 0) {
            philox_.words(Channel::uniform, step, groups, g, first, rows, words);
            uniform<T>(words, rows, factor);
        }
    }

    // States of steps [from, to) of one slice from the state h (rows, units) before them. States and activations are
    // written at (t - from) strides from the given places; without a place for states two buffers take turns. Returns
    // the state after the last step.
    template <Noise N, bool Linear, bool Gated>
    const T* advance(const Slice& slice, std::int64_t from, std::int64_t to, const T* h, T* states,
                     T* activations, std::int64_t stride, int worker) {
        T* c = scratch(worker);
        T* xi = c + most_rows_ * blocks_at_once * 2 * block;
        T* factor = xi + most_rows_ * block;
        T* turns = factor + most_rows_ * block;
        const std::int64_t blocks = width_ / block, at_once = slice.rows < 4 ? blocks_at_once : 1;
        const std::int64_t block_size = n_ * parts_ * block, c_block = slice.rows * parts_ * block;
        for (std::int64_t t = from; t < to; ++t) {
            T* next = states != nullptr ? states + (t - from) * stride : turns + (t % 2) * most_rows_ * n_;
            T* kept = activations != nullptr ? activations + (t - from) * stride : nullptr;
            for (std::int64_t b0 = 0; b0 < blocks; b0 += at_once) {
                const std::int64_t count = blocks - b0 < at_once ? blocks - b0 : at_once;
                product<T, false>(slice.rows, n_, h, n_, forward_.data() + b0 * block_size,
                                  count * parts_ * panels_in_block<T>, c);
                for (std::int64_t b = b0; b < b0 + count; ++b) {
                    draw<N>(slice, t, b, words(worker), xi, factor);
                    const T* cb = c + (b - b0) * c_block;
                    if ((b + 1) * block <= n_)
                        update<N, Linear, Gated, true>(slice, t, b, cb, xi, factor, h, next, kept);
                    else
                        update<N, Linear, Gated, false>(slice, t, b, cb, xi, factor, h, next, kept);
                }
            }
            h = next;
        }
        return h;
    }

    template <Noise N, bool Linear, bool Gated, bool Whole>
    void update(const Slice& slice, std::int64_t t, std::int64_t b, const T* c, const T* xi, const T* factor,
                const T* h, T* next, T* kept) const {
        using V = Vec<T>;
        const std::int64_t rows = slice.rows;
        const T s1 = p_.additive, s2 = p_.multiplicative;
        const T* d = step_.data();
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t sample = slice.first + r, at = t * p_.size.batch + sample;
            const bool hold = held(sample, t);
            const T dt = step_of(sample, t);
            const T dt_root = N == Noise::ito ? T(__builtin_sqrt(dt)) : T(0);
            for (int l = 0; l < block / lanes<T>; ++l) {
                const std::int64_t j = b * block + l * lanes<T>;
                if (!Whole && j >= n_) break;
                const bool whole = Whole || j + lanes<T> <= n_;
                const V old = row_load(h + r * n_, j, n_, whole);
                if (hold) {
                    row_store(next + r * n_, j, old, n_, whole);
                    continue;
                }
                const V z = load<V>(c + product_at(rows, Linear ? 1 : 0, r, l));
                V a = tanh(z + drive_(at, j, whole));
                if constexpr (Gated) {
                    // The product is kept: both activations follow from it and the drives.
                    if (kept != nullptr) row_store(kept + r * n_, j, z, n_, whole);
                    a = a * sigmoid(z + row_load(p_.gate + at * n_, j, n_, whole));
                } else if (kept != nullptr) {
                    row_store(kept + r * n_, j, a, n_, whole);
                }
                V f = a;
                if constexpr (Linear) f = f + load<V>(c + product_at(rows, 0, r, l));
                const V size = load<V>(d + j) * dt;
                V moved = old + size * f;
                if constexpr (N == Noise::ito) {
                    const V spread = load<V>(d + width_ + j) * dt_root;
                    moved = moved + spread * (f * s2 + s1) * load<V>(xi + r * block + l * lanes<T>);
                } else if constexpr (N == Noise::released) {
                    if (s2 != 0) {
                        const V u = load<V>(factor + r * block + l * lanes<T>);
                        moved = old + size * (u * s2 + (T(1) - s2)) * f;
                    }
                    moved = moved + load<V>(xi + r * block + l * lanes<T>) * s1;
                }
                row_store(next + r * n_, j, moved, n_, whole);
            }
        }
    }

    // Place of row r, vector l of part q in the products of a block.
    static std::int64_t product_at(std::int64_t rows, int q, std::int64_t r, int l) {
        constexpr int in_panel = panel_vectors<T>;
        return ((q * panels_in_block<T> + l / in_panel) * rows + r) * panel<T> + (l % in_panel) * lanes<T>;
    }

    // One of the six recurrences, chosen once a slice.
    template <class F>
    void choose(F&& go) {
        constexpr auto off = std::integral_constant<Noise, Noise::none>{};
        constexpr auto ito = std::integral_constant<Noise, Noise::ito>{};
        constexpr auto released = std::integral_constant<Noise, Noise::released>{};
        if (p_.gate != nullptr)
            go(off, std::false_type{}, std::true_type{});
        else if (p_.A != nullptr)
            p_.noise == Noise::none  ? go(off, std::true_type{}, std::false_type{})
            : p_.noise == Noise::ito ? go(ito, std::true_type{}, std::false_type{})
                                     : go(released, std::true_type{}, std::false_type{});
        else
            p_.noise == Noise::none  ? go(off, std::false_type{}, std::false_type{})
            : p_.noise == Noise::ito ? go(ito, std::false_type{}, std::false_type{})
                                     : go(released, std::false_type{}, std::false_type{});
    }

    static constexpr std::int64_t blocks_at_once = 4;

    TanhProblem<T> p_;
    std::int64_t n_, width_, slices_, most_rows_;
    int parts_;
    Drive<T> drive_;
    Philox philox_;
    Array<T> step_, forward_, scratch_;
    Array<std::uint64_t> words_;
};

template <class T>
class TanhForward final : public TanhScan<T> {
public:
    using TanhScan<T>::TanhScan;

    void run(std::int64_t index, int worker) override {
        const Slice slice = slice_at(this->p_.size.batch, index);
        this->choose([&](auto noise, auto linear, auto gated) {
            scan<decltype(noise)::value, decltype(linear)::value, decltype(gated)::value>(slice, worker);
        });
    }

private:
    template <Noise N, bool Linear, bool Gated>
    void scan(const Slice& slice, int worker) {
        const Record<T>& record = this->p_.record;
        const std::int64_t steps = this->p_.size.steps, chunk = record.chunk > 0 ? record.chunk : steps;
        const std::int64_t stride = this->p_.size.batch * this->n_, offset = slice.first * this->n_;
        const std::size_t bytes = slice.rows * this->n_ * sizeof(T);
        const T* h = this->p_.h0 + offset;
        for (std::int64_t from = 0; from < steps; from += chunk) {
            const std::int64_t to = steps - from < chunk ? steps : from + chunk;
            if (record.checkpoints != nullptr)
                __builtin_memcpy(record.checkpoints + from / chunk * stride + offset, h, bytes);
            const auto place = [&](T* array) { return array != nullptr ? array + from * stride + offset : nullptr; };
            h = this->template advance<N, Linear, Gated>(slice, from, to, h, place(record.states),
                                                         place(record.activations), stride, worker);
        }
        if (record.last != nullptr) __builtin_memcpy(record.last + offset, h, bytes);
    }
};

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
