// Gradients of tanh_scan.hpp: back through the steps of a slice, with the noise made again from its counter.
#pragma once

#include "tanh_scan.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

template <class T>
class TanhBackward final : public TanhScan<T> {
    using Scan = TanhScan<T>;
    using Scan::n_, Scan::p_, Scan::parts_, Scan::slices_, Scan::width_, Scan::most_rows_;

public:
    TanhBackward(const TanhProblem<T>& problem, int workers)
        : Scan(problem, workers),
          step_wanted_(p_.dt.g_unit != nullptr || p_.dt.g_time != nullptr),
          // With multiplicative Ito noise the unit's step size is no common factor of the terms with f.
          folded_(p_.noise != Noise::ito || p_.multiplicative == 0),
          drift_wanted_(step_wanted_ && p_.A != nullptr && (!folded_ || p_.dt.g_time != nullptr)),
          weights_wanted_(p_.g_A != nullptr || p_.g_W != nullptr || (p_.dt.g_unit != nullptr && p_.A != nullptr)),
          outer_size_(weights_wanted_ ? OuterSum<T>::size(parts_ * width_, width_) : 0),
          sum_size_(outer_size_ + this->drive_.sum_size() + width_),
          chunk_(p_.record.chunk > 0 ? p_.record.chunk : 0),
          scale_(width_),
          backward_(parts_ * width_ * width_),
          sums_(slices_ * sum_size_),
          local_(static_cast<std::int64_t>(workers) * local_size()),
          outers_(new OuterSum<T>[static_cast<std::size_t>(workers)]) {
        // Added noise has no gradient: its numbers are wanted again only where they multiply something.
        again_ = {p_.noise == Noise::ito && (!folded_ || step_wanted_), this->laws_.uniform};
        for (int w = 0; w < workers; ++w) outers_[w] = OuterSum<T>(most_rows_, parts_ * width_, width_);
        for (std::int64_t j = 0; j < width_; ++j) scale_.data()[j] = folded_ ? this->step_.data()[j] : T(1);
        const std::int64_t stride = parts_ * width_ * panel<T>;
        for (std::int64_t b = 0; b < width_ / block; ++b) {
            T* to = backward_.data() + b * panels_in_block<T> * stride;
            if (p_.A != nullptr) pack_block<T>(p_.A, n_, 1, scale_.data(), n_, n_, width_, b, to, stride);
            pack_block<T>(p_.W, n_, 1, nullptr, n_, n_, width_, b, to + (parts_ - 1) * width_ * panel<T>, stride);
        }
    }

    ~TanhBackward() override { delete[] outers_; }
    TanhBackward(const TanhBackward&) = delete;
    TanhBackward& operator=(const TanhBackward&) = delete;

    void run(std::int64_t index, int worker) override {
        const Slice slice = slice_at(p_.size, index);
        this->choose([&](auto noise, auto linear, auto gated) {
            scan<decltype(noise)::value, decltype(linear)::value, decltype(gated)::value>(slice, index, worker);
        });
    }

    void finish() override {
        const T* d = this->step_.data();
        const std::int64_t wide = parts_ * width_;
        for (std::int64_t j = 0; j < n_ && weights_wanted_; ++j) {
            T share = 0;
            for (std::int64_t i = 0; i < n_; ++i) {
                if (p_.A != nullptr) {
                    const T sum = summed(sums_.data(), slices_, sum_size_, wide, j, i);
                    if (p_.g_A != nullptr) p_.g_A[j * n_ + i] = folded_ ? d[j] * sum : sum;
                    share += p_.A[j * n_ + i] * sum;
                }
                if (p_.g_W != nullptr)
                    p_.g_W[j * n_ + i] = summed(sums_.data(), slices_, sum_size_, wide, (parts_ - 1) * width_ + j, i);
            }
            if (p_.dt.g_unit != nullptr) p_.dt.g_unit[j] = drift_wanted_ ? T(0) : share;
        }
        const T* rest = sums_.data() + outer_size_;
        this->drive_.finish(rest, slices_, sum_size_);
        if (p_.dt.g_unit == nullptr) return;
        for (std::int64_t j = 0; j < n_; ++j) {
            T sum = weights_wanted_ ? p_.dt.g_unit[j] : T(0);
            for (std::int64_t s = 0; s < slices_; ++s)
                sum += rest[s * sum_size_ + this->drive_.sum_size() + j];
            p_.dt.g_unit[j] = sum;
        }
    }

private:
    // Gradient of the state and of the drive (padded rows), then a recomputed segment of states and activations.
    std::int64_t local_size() const { return most_rows_ * (2 * width_ + 2 * chunk_ * n_); }

    template <Noise N, bool Linear, bool Gated>
    void scan(const Slice& slice, std::int64_t index, int worker) {
        const Record<T>& record = p_.record;
        const std::int64_t steps = p_.size.steps, rows = slice.rows, stride = p_.size.batch * n_;
        const std::int64_t offset = slice.first * n_;
        T* g = local_.data() + worker * local_size();
        T* segment = g + 2 * most_rows_ * width_;
        T* sums = sums_.data() + index * sum_size_;
        clear(sums + outer_size_, sum_size_ - outer_size_);
        clear(g, rows * width_);
        OuterSum<T>& outer = outers_[worker];
        outer.begin(rows, weights_wanted_ ? sums : nullptr);
        add_rows(g, width_, record.g_last, slice, n_);
        const std::int64_t chunk = chunk_ > 0 ? chunk_ : steps;
        const T* after = nullptr;  // factors of the step that was last worked on
        for (std::int64_t s = chunk > 0 ? ceil_div(steps, chunk) - 1 : -1; s >= 0; --s) {
            const std::int64_t from = s * chunk, to = steps - from < chunk ? steps : from + chunk;
            const T* start = this->p_.h0 + offset;
            const T *states = record.states + offset, *activations = record.activations + offset;
            std::int64_t between = stride;
            if (chunk_ > 0) {
                start = record.checkpoints + s * stride + offset;
                between = rows * n_;
                states = segment;
                activations = segment + chunk_ * between;
                this->template advance<N, Linear, Gated>(slice, from, to, start, segment, segment + chunk_ * between,
                                                         between, worker);
            }
            for (std::int64_t t = to - 1; t >= from; --t) {
                this->look_up(worker);
                const T* h = t == from ? start : states + (t - from - 1) * between;
                const T* g_out = record.g_states != nullptr ? record.g_states + t * stride + offset : nullptr;
                back<N, Linear, Gated>(slice, t, h, activations + (t - from) * between, t > from + 1 ? between : 0,
                                       after, g_out, g, outer, sums, worker);
                after = outer.g();
                outer.next_step();
            }
        }
        outer.flush();
        if (p_.g_h0 == nullptr) return;
        if (after != nullptr) {
            T* c = this->scratch(worker).products;
            for (std::int64_t b = 0; b < width_ / block; ++b) {
                product<T, false>(rows, depth(), after, outer.g_row(), backward_.data() + b * block * depth(),
                                  panels_in_block<T>, c);
                add_product(g, width_, b, c, 0, rows);
            }
        }
        copy_rows(p_.g_h0, g, width_, slice, n_);
    }

    std::int64_t depth() const { return parts_ * width_; }

    // Step t: g, the gradient that reaches the state after it directly, is completed by that of the step `later`
    // (factors times weights) and of the output; then the factors of this step are written for the next one. What the
    // next step reads lies `between` numbers before what this one reads, or is near at hand already (0).
    template <Noise N, bool Linear, bool Gated>
    void back(const Slice& slice, std::int64_t t, const T* h, const T* kept, std::int64_t between, const T* later,
              const T* g_out, T* g, OuterSum<T>& outer, T* sums, int worker) {
        const auto room = this->scratch(worker);
        T* c = room.products;
        T* drift = c + most_rows_ * blocks_at_once * block;
        T* g_u = g + most_rows_ * width_;
        const std::int64_t rows = slice.rows, blocks = width_ / block;
        const std::int64_t at_once = blocks_together<T>(rows);
        const std::int64_t u_row = Gated ? width_ : outer.g_row();
        if constexpr (!Gated) g_u = outer.g() + (Linear ? width_ : 0);
        T* extra = sums + outer_size_;
        T* step_sums = extra + this->drive_.sum_size();
        if (p_.dt.g_time != nullptr)
            clear(p_.dt.g_time + t * p_.size.batch + slice.first, rows);
        if constexpr (N != Noise::none) this->philox_.begin_step(t, slice.first, rows, room.samples);
        for (std::int64_t b = 0; b < blocks; ++b) {
            if (b % at_once == 0) {
                const std::int64_t count = blocks - b < at_once ? blocks - b : at_once;
                if (later != nullptr)
                    product<T, false>(rows, depth(), later, outer.g_row(), backward_.data() + b * block * depth(),
                                      count * panels_in_block<T>, c);
                if constexpr (N != Noise::none) this->make_numbers(again_, slice, b, count, room);
            }
            if (drift_wanted_)
                product<T, false>(rows, n_, h, n_, this->forward_.data() + b * n_ * parts_ * block,
                                  panels_in_block<T>, drift);
            const T* cb = later != nullptr ? c + b % at_once * rows * block : nullptr;
            if (between > 0)
                for (std::int64_t r = 0; r < rows; ++r) {
                    expect<false>(kept - between + r * n_ + b * block);
                    expect<false>(h - between + r * n_ + b * block);
                }
            if ((b + 1) * block <= n_)
                factors<N, Linear, Gated, true>(slice, t, b, kept, room, cb, drift, g_out, g, outer, g_u, u_row,
                                                step_sums);
            else
                factors<N, Linear, Gated, false>(slice, t, b, kept, room, cb, drift, g_out, g, outer, g_u, u_row,
                                                 step_sums);
        }
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t sample = slice.first + r;
            this->drive_.gradient_or_none(t * p_.size.batch + sample, this->held(sample, t), g_u + r * u_row, extra);
        }
        outer.put_h(h, n_, n_);
    }

    // Factors of the weight gradients for sixteen units: p g for A, and the gradient of h W^T for W.
    template <Noise N, bool Linear, bool Gated, bool Whole>
    void factors(const Slice& slice, std::int64_t t, std::int64_t b, const T* kept, const typename Scan::Scratch& room,
                 const T* c, const T* drift, const T* g_out, T* g, OuterSum<T>& outer, T* g_u, std::int64_t u_row,
                 T* step_sums) const {
        using V = Vec<T>;
        // Copies of members, which the compiler would have to read again after every store.
        const std::int64_t rows = slice.rows, g_row = outer.g_row(), n = n_, width = width_;
        const std::int64_t* lengths = p_.record.lengths != nullptr ? p_.record.lengths + slice.first : nullptr;
        const T* times = p_.dt.time != nullptr ? &p_.dt.time[this->time_at(slice.first, t)] : nullptr;
        const std::int64_t between_times = p_.dt.sample_stride, first = t * p_.size.batch + slice.first;
        const T s1 = p_.additive, s2 = p_.multiplicative;
        const T *d = this->step_.data() + b * block, *d_root = d + width_, *scale = scale_.data() + b * block;
        const std::int64_t noise = b % blocks_together<T>(rows) * rows * block;
        const T *xi = room.xi + noise, *factor = room.factor + noise, *gate = p_.gate;
        T *g_gate = p_.g_gate, *g_time = p_.dt.g_time, *unit_sums = p_.dt.g_unit != nullptr ? step_sums : nullptr;
        T* g_rows = outer.g();
        const T* g_total = p_.record.g_total != nullptr ? p_.record.g_total + slice.first * n : nullptr;
        const bool multiplied = N == Noise::released && again_.uniform, random_used = again_.gaussian;
        const bool step_wanted = step_wanted_, drift_wanted = drift_wanted_, folded = folded_;
        const auto u = this->drive_.units(slice, t, b);
        for (int l = 0; l < block / lanes<T>; ++l) {
            const std::int64_t i = l * lanes<T>, j = b * block + i;
            const bool inside = Whole || j < n, whole = Whole || j + lanes<T> <= n;
            const V size = load<V>(d + i), size_root = load<V>(d_root + i), weight = load<V>(scale + i);
            V unit_sum{};
            for (std::int64_t r = 0; r < rows; ++r) {
                const std::int64_t at = first + r;
                const bool hold = lengths != nullptr && t >= lengths[r];
                const T dt = times != nullptr ? times[r * between_times] : T(1);
                const T dt_root = N != Noise::ito ? T(0) : times == nullptr ? T(1) : T(__builtin_sqrt(dt));
                T* row = g_rows + r * g_row;
                V gradient = load<V>(g + r * width + j);
                if (c != nullptr) gradient = gradient + load<V>(c + product_at<T>(rows, 0, r, l));
                if (g_out != nullptr && inside) gradient = gradient + row_load(g_out + r * n, j, n, whole);
                if (g_total != nullptr && inside && !hold)
                    gradient = gradient + row_load(g_total + r * n, j, n, whole);
                store(g + r * width + j, gradient);
                if (hold || !inside) {
                    store(row + j, V{});
                    if constexpr (Linear) store(row + width + j, V{});
                    if constexpr (Gated) {
                        store(g_u + r * u_row + j, V{});
                        if (g_gate != nullptr && inside) row_store(g_gate + at * n, j, V{}, n, whole);
                    }
                    continue;
                }
                const V stored = row_load(kept + r * n, j, n, whole);
                V slope;  // of h' in the step size, without the share of h A^T where the weight gradient gives it
                if constexpr (Gated) {
                    const V a = tanh(stored + u.at(r, i));
                    const V s = sigmoid(stored + row_load(gate + at * n, j, n, whole));
                    const V sized = size * gradient * dt;
                    const V to_drive = sized * s * (T(1) - a * a), to_gate = sized * a * s * (T(1) - s);
                    store(row + j, to_drive + to_gate);
                    store(g_u + r * u_row + j, to_drive);
                    if (g_gate != nullptr) row_store(g_gate + at * n, j, to_gate, n, whole);
                    slope = a * s;
                } else {
                    const V a = stored;
                    V p = splat<V>(dt), random{}, chance{};
                    if (multiplied) {
                        chance = load<V>(factor + r * block + i);
                        p = p * chance;
                    }
                    if constexpr (N == Noise::ito) {
                        if (random_used) random = load<V>(xi + r * block + i);
                        if (!folded) p = size * dt + size_root * dt_root * s2 * random;
                    }
                    const V pg = p * gradient;
                    if constexpr (Linear) store(row + j, pg);
                    store(row + (Linear ? width : 0) + j, weight * pg * (T(1) - a * a));
                    if (!step_wanted) continue;
                    V f = a;
                    if constexpr (Linear)
                        if (drift_wanted) f = f + load<V>(drift + product_at<T>(rows, 0, r, l));
                    slope = f;
                    if (multiplied) slope = slope * chance;
                    if constexpr (N == Noise::ito)
                        slope = slope + (f * s2 + s1) * random * T(0.5) / (size_root * dt_root);
                }
                unit_sum = slope * gradient + unit_sum;
                if (g_time != nullptr) g_time[at] += total(slope * gradient);
            }
            if (unit_sums != nullptr) store(unit_sums + j, unit_sum + load<V>(unit_sums + j));
        }
    }

    bool step_wanted_, folded_, drift_wanted_, weights_wanted_;
    typename Scan::Laws again_;
    std::int64_t outer_size_, sum_size_, chunk_;
    Array<T> scale_, backward_, sums_, local_;
    OuterSum<T>* outers_;
};

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
