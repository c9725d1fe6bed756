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
          slices_(slice_count(problem.size)),
          most_rows_(slices_ > 0 ? slice_at(problem.size, 0).rows : 0),
          parts_(problem.A != nullptr ? 2 : 1),
          drive_(problem.input, problem.size),
          philox_(problem.key, problem.size.units),
          laws_{problem.additive != 0 || problem.noise == Noise::ito,
                problem.noise == Noise::released && problem.multiplicative != 0},
          step_(2 * width_),
          forward_(parts_ * n_ * width_),
          scratch_(static_cast<std::int64_t>(workers) * scratch_size()),
          samples_(static_cast<std::int64_t>(workers) * Philox::table_size(most_rows_)) {
        if (p_.additive == 0 && p_.multiplicative == 0) p_.noise = Noise::none;
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
    // Which numbers a pass uses.
    struct Laws {
        bool gaussian, uniform;
    };

    // Products of a few blocks, [blocks][parts][rows][16]; noise of both kinds, [blocks][rows][16]; two states.
    std::int64_t scratch_size() const {
        return most_rows_ * blocks_at_once * 2 * block + 2 * noise_size() + 2 * most_rows_ * n_;
    }
    std::int64_t noise_size() const { return noise_rows(most_rows_) * block; }
    struct Scratch {
        T *products, *xi, *factor, *turns;  // factor of the drift, 1 - m + m U
        std::uint64_t* samples;
    };
    Scratch scratch(int worker) const {
        T* first = scratch_.data() + worker * scratch_size();
        T* xi = first + most_rows_ * blocks_at_once * 2 * block;
        return {first, xi, xi + noise_size(), xi + 2 * noise_size(),
                samples_.data() + worker * Philox::table_size(most_rows_)};
    }
    bool held(std::int64_t sample, std::int64_t t) const { return p_.record.held(sample, t); }
    std::int64_t time_at(std::int64_t sample, std::int64_t t) const {
        return t * p_.dt.step_stride + sample * p_.dt.sample_stride;
    }

    // Noise of `count` blocks of units of a slice, of the laws that are used, at the step that `begin_step` was told.
    void make_numbers(Laws laws, const Slice& slice, std::int64_t b, std::int64_t count, const Scratch& room) const {
        if (laws.gaussian)
            make_noise(philox_, room.samples, slice.rows, Channel::gaussian, b, count, Normal<T>{}, room.xi);
        if (laws.uniform)
            make_noise(philox_, room.samples, slice.rows, Channel::uniform, b, count,
                       Even<T>{T(1) - p_.multiplicative, p_.multiplicative}, room.factor);
    }

    // Where a step writes: the new state, its copy in the record and the activation, if they are wanted there; these two
    // past the caches or not.
    struct Written {
        T *next, *copy, *kept;
        bool past;
    };

    // States of steps [from, to) of one slice from the state h (rows, units) before them. States and activations are
    // written at (t - from) strides from the given places; without a place for states, or where they go past the
    // caches, two buffers take turns. Returns the state after the last step.
    template <Noise N, bool Linear, bool Gated>
    const T* advance(const Slice& slice, std::int64_t from, std::int64_t to, const T* h, T* states,
                     T* activations, std::int64_t stride, int worker, bool past = false) {
        const Scratch room = scratch(worker);
        T* c = room.products;
        const std::int64_t blocks = width_ / block, at_once = blocks_together<T>(slice.rows);
        const std::int64_t block_size = n_ * parts_ * block, c_block = slice.rows * parts_ * block;
        const std::int64_t panels = parts_ * panels_in_block<T>;
        for (std::int64_t t = from; t < to; ++t) {
            this->look_up(worker);
            T* const state = states != nullptr ? states + (t - from) * stride : nullptr;
            T* next = state != nullptr && !past ? state : room.turns + (t % 2) * most_rows_ * n_;
            T* kept = activations != nullptr ? activations + (t - from) * stride : nullptr;
            const Written to_write{next, past ? state : nullptr, kept, past};
            if constexpr (N != Noise::none) philox_.begin_step(t, slice.first, slice.rows, room.samples);
            groups_of_blocks(blocks, at_once, t % 2 != 0, [&](std::int64_t first, std::int64_t count) {
                product<T, false>(slice.rows, n_, h, n_, forward_.data() + first * block_size, count * panels, c,
                                  t % 2 != 0);
                if constexpr (N != Noise::none) make_numbers(laws_, slice, first, count, room);
                if constexpr (!Gated)
                    for (std::int64_t b = first; b < first + count; ++b)
                        activate<Linear>(slice, t, b, c + (b - first) * c_block);
                for (std::int64_t b = first; b < first + count; ++b) {
                    T* cb = c + (b - first) * c_block;
                    if (!past && t + 1 < to)
                        for (std::int64_t r = 0; r < slice.rows; ++r) {
                            if (states != nullptr) expect<true>(next + stride + r * n_ + b * block);
                            if (kept != nullptr) expect<true>(kept + stride + r * n_ + b * block);
                        }
                    if ((b + 1) * block > n_)
                        update<N, Linear, Gated, false, false>(slice, t, b, cb, room, h, to_write);
                    else if (p_.record.lengths != nullptr || p_.dt.time != nullptr)
                        update<N, Linear, Gated, true, false>(slice, t, b, cb, room, h, to_write);
                    else
                        update<N, Linear, Gated, true, true>(slice, t, b, cb, room, h, to_write);
                }
            });
            h = next;
        }
        return h;
    }

    // Activations of sixteen units in place of their products, in a pass of their own: a short body lets the processor
    // work on many of these long chains at once.
    template <bool Linear>
    void activate(const Slice& slice, std::int64_t t, std::int64_t b, T* c) const {
        const std::int64_t rows = slice.rows;
        const auto u = drive_.units(slice, t, b);
        for (int l = 0; l < block / lanes<T>; ++l)
            for (std::int64_t r = 0; r < rows; ++r) {
                T* z = c + product_at<T>(rows, Linear ? 1 : 0, r, l);
                store(z, tanh(load<Vec<T>>(z) + u.at(r, l * lanes<T>)));
            }
    }

    // The new state of sixteen units. `Whole`: all of them exist. `Even`: no sample is held or has steps of its own.
    template <Noise N, bool Linear, bool Gated, bool Whole, bool Even>
    void update(const Slice& slice, std::int64_t t, std::int64_t b, T* c, const Scratch& room, const T* h,
                const Written& to) const {
        using V = Vec<T>;
        // Copies of members, which the compiler would have to read again after every store.
        const std::int64_t rows = slice.rows, first = t * p_.size.batch + slice.first, n = n_, width = width_;
        const std::int64_t* lengths =
            !Even && p_.record.lengths != nullptr ? p_.record.lengths + slice.first : nullptr;
        const T* times = !Even && p_.dt.time != nullptr ? &p_.dt.time[time_at(slice.first, t)] : nullptr;
        const std::int64_t between_times = p_.dt.sample_stride;
        const T* gate = p_.gate;
        T* total = p_.record.total != nullptr ? p_.record.total + slice.first * n : nullptr;
        const T s1 = p_.additive, s2 = p_.multiplicative;
        const std::int64_t noise = b % blocks_together<T>(rows) * rows * block;
        const T *d = step_.data() + b * block, *xi = room.xi + noise, *factor = room.factor + noise;
        const bool added = N == Noise::released && laws_.gaussian, multiplied = N == Noise::released && laws_.uniform;
        T *const next = to.next, *const beside = to.copy, *const kept = to.kept;
        const bool past = Whole && to.past;
        const auto keep = [&](T* row, std::int64_t j, V v, bool whole) {
            if (past)
                store_past(row + j, v);
            else
                row_store(row, j, v, n, whole);
        };
        const auto u = drive_.units(slice, t, b);
        for (std::int64_t r = 0; r < rows; ++r) {
            const bool hold = !Even && lengths != nullptr && t >= lengths[r];
            const T dt = Even || times == nullptr ? T(1) : times[r * between_times];
            const T dt_root = N != Noise::ito ? T(0) : Even || times == nullptr ? T(1) : T(__builtin_sqrt(dt));
#pragma GCC unroll 8
            for (int l = 0; l < block / lanes<T>; ++l) {
                const std::int64_t i = l * lanes<T>, j = b * block + i;
                if (!Whole && j >= n) break;
                const bool whole = Whole || j + lanes<T> <= n;
                const V old = row_load(h + r * n, j, n, whole);
                if (hold) {
                    row_store(next + r * n, j, old, n, whole);
                    if (beside != nullptr) keep(beside + r * n, j, old, whole);
                    if (kept != nullptr) keep(kept + r * n, j, V{}, whole);
                    continue;
                }
                // What is kept: the activation, or the product that both activations follow from with the drives.
                V f = load<V>(c + product_at<T>(rows, Linear ? 1 : 0, r, l));
                if (kept != nullptr) keep(kept + r * n, j, f, whole);
                if constexpr (Gated)
                    f = tanh(f + u.at(r, i)) * sigmoid(f + row_load(gate + (first + r) * n, j, n, whole));
                if constexpr (Linear) f = f + load<V>(c + product_at<T>(rows, 0, r, l));
                V size = load<V>(d + i) * dt;
                if (multiplied) size = size * load<V>(factor + r * block + i);
                V moved = size * f + old;
                if constexpr (N == Noise::ito) {
                    const V spread = load<V>(d + width + i) * dt_root;
                    moved = spread * (f * s2 + s1) * load<V>(xi + r * block + i) + moved;
                }
                if (added) moved = load<V>(xi + r * block + i) * s1 + moved;
                row_store(next + r * n, j, moved, n, whole);
                if (beside != nullptr) keep(beside + r * n, j, moved, whole);
                if (total != nullptr) row_add(total + r * n, j, moved, n, whole);
            }
        }
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

    TanhProblem<T> p_;
    std::int64_t n_, width_, slices_, most_rows_;
    int parts_;
    Drive<T> drive_;
    Philox philox_;
    Laws laws_;
    Array<T> step_, forward_, scratch_;
    Array<std::uint64_t> samples_;
};

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
