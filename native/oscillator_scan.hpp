// z' = keep z + push tanh(y Wy^T + z Wz^T + u) - pull y,  y' = y + dt z': coupled oscillators (coRNN).
//
// Explicit and implicit damping differ in the four coefficients of a unit only.
#pragma once

#include "drive.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

template <class T>
class OscillatorScan : public Job {
public:
    OscillatorScan(const OscillatorProblem<T>& problem, int workers)
        : p_(problem),
          n_(problem.size.units),
          width_(padded(problem.size.units)),
          slices_(slice_count(problem.size)),
          most_rows_(slices_ > 0 ? slice_at(problem.size, 0).rows : 0),
          drive_(problem.input, problem.size),
          unit_(4 * width_),
          forward_(2 * n_ * width_),
          scratch_(static_cast<std::int64_t>(workers) * scratch_size()) {
        T* to = unit_.zeroed(4 * width_);
        for (const T* from : {p_.keep, p_.push, p_.pull, p_.dt}) {
            copy(to, from, n_);
            to += width_;
        }
        to = forward_.data();
        for (const T* matrix : {p_.Wy, p_.Wz})
            for (std::int64_t b = 0; b < width_ / block; ++b, to += n_ * block)
                pack_block<T>(matrix, 1, n_, nullptr, n_, n_, n_, b, to, n_ * panel<T>);
    }

protected:
    // Products of a few blocks (two parts in the backward pass) and two states of y and z each.
    std::int64_t scratch_size() const { return most_rows_ * (2 * blocks_at_once * block + 4 * n_); }
    T* scratch(int worker) const { return scratch_.data() + worker * scratch_size(); }

    struct State {
        const T *y, *z;
    };
    struct Places {
        T *y, *z, *activations;
    };

    // As TanhScan::advance, for two states.
    State advance(const Slice& slice, std::int64_t from, std::int64_t to, State h, const Places& places,
                  std::int64_t stride, int worker) {
        T* c = scratch(worker);
        T* turns = scratch(worker) + most_rows_ * 2 * blocks_at_once * block;
        const std::int64_t rows = slice.rows, blocks = width_ / block, at_once = blocks_together<T>(rows);
        const std::int64_t area = most_rows_ * n_;
        for (std::int64_t t = from; t < to; ++t) {
            this->look_up(worker);
            T* y = places.y != nullptr ? places.y + (t - from) * stride : turns + (t % 2) * area;
            T* z = places.z != nullptr ? places.z + (t - from) * stride : turns + (2 + t % 2) * area;
            T* kept = places.activations != nullptr ? places.activations + (t - from) * stride : nullptr;
            for (std::int64_t b = 0; b < blocks; ++b) {
                if (b % at_once == 0) {
                    const std::int64_t count = (blocks - b < at_once ? blocks - b : at_once) * panels_in_block<T>;
                    const T* weights = forward_.data() + b * n_ * block;
                    product<T, false>(rows, n_, h.y, n_, weights, count, c);
                    product<T, true>(rows, n_, h.z, n_, weights + n_ * width_, count, c);
                }
                update(slice, t, b, c + b % at_once * rows * block, h, y, z, kept);
            }
            h = {y, z};
        }
        return h;
    }

    void update(const Slice& slice, std::int64_t t, std::int64_t b, const T* c, const State& h, T* next_y, T* next_z,
                T* kept) const {
        using V = Vec<T>;
        const T* unit = unit_.data() + b * block;
        T* total = p_.y.total != nullptr ? p_.y.total + slice.first * n_ : nullptr;
        const auto u = drive_.units(slice, t, b);
        for (std::int64_t r = 0; r < slice.rows; ++r) {
            const bool hold = p_.y.held(slice.first + r, t);
#pragma GCC unroll 8
            for (int l = 0; l < block / lanes<T>; ++l) {
                const std::int64_t i = l * lanes<T>, j = b * block + i;
                if (j >= n_) break;
                const bool whole = j + lanes<T> <= n_;
                V y = row_load(h.y + r * n_, j, n_, whole), z = row_load(h.z + r * n_, j, n_, whole);
                if (!hold) {
                    const V pre = load<V>(c + product_at<T>(slice.rows, 0, r, l));
                    const V a = tanh(pre + u.at(r, i));
                    if (kept != nullptr) row_store(kept + r * n_, j, a, n_, whole);
                    z = load<V>(unit + i) * z + load<V>(unit + width_ + i) * a - load<V>(unit + 2 * width_ + i) * y;
                    y = load<V>(unit + 3 * width_ + i) * z + y;
                    if (total != nullptr) row_add(total + r * n_, j, y, n_, whole);
                } else if (kept != nullptr) {
                    row_store(kept + r * n_, j, V{}, n_, whole);
                }
                row_store(next_y + r * n_, j, y, n_, whole);
                row_store(next_z + r * n_, j, z, n_, whole);
            }
        }
    }

    OscillatorProblem<T> p_;
    std::int64_t n_, width_, slices_, most_rows_;
    Drive<T> drive_;
    Array<T> unit_, forward_, scratch_;
};

template <class T>
class OscillatorForward final : public OscillatorScan<T> {
public:
    using OscillatorScan<T>::OscillatorScan;

    void run(std::int64_t index, int worker) override {
        const auto& p = this->p_;
        const Slice slice = slice_at(p.size, index);
        const std::int64_t steps = p.size.steps, chunk = p.y.chunk > 0 ? p.y.chunk : steps;
        const std::int64_t stride = p.size.batch * this->n_, offset = slice.first * this->n_;
        const std::int64_t count = slice.rows * this->n_;
        typename OscillatorScan<T>::State h{p.y0 + offset, p.z0 + offset};
        for (std::int64_t from = 0; from < steps; from += chunk) {
            const std::int64_t to = steps - from < chunk ? steps : from + chunk;
            if (p.y.checkpoints != nullptr) {
                copy(p.y.checkpoints + from / chunk * stride + offset, h.y, count);
                copy(p.z.checkpoints + from / chunk * stride + offset, h.z, count);
            }
            const auto place = [&](T* array) { return array != nullptr ? array + from * stride + offset : nullptr; };
            h = this->advance(slice, from, to, h, {place(p.y.states), place(p.z.states), place(p.y.activations)},
                              stride, worker);
        }
        if (p.y.last != nullptr) copy(p.y.last + offset, h.y, count);
        if (p.z.last != nullptr) copy(p.z.last + offset, h.z, count);
    }
};

template <class T>
class OscillatorBackward final : public OscillatorScan<T> {
    using Scan = OscillatorScan<T>;
    using Scan::n_, Scan::p_, Scan::slices_, Scan::width_, Scan::most_rows_;

public:
    OscillatorBackward(const OscillatorProblem<T>& problem, int workers)
        : Scan(problem, workers),
          weights_wanted_(p_.g_Wy != nullptr || p_.g_Wz != nullptr),
          outer_size_(weights_wanted_ ? OuterSum<T>::size(width_, 2 * width_) : 0),
          sum_size_(outer_size_ + this->drive_.sum_size()),
          chunk_(p_.y.chunk),
          backward_(2 * width_ * width_),
          sums_(slices_ * sum_size_),
          local_(static_cast<std::int64_t>(workers) * local_size()),
          outers_(new OuterSum<T>[static_cast<std::size_t>(workers)]) {
        for (int w = 0; w < workers; ++w) outers_[w] = OuterSum<T>(most_rows_, width_, 2 * width_);
        T* to = backward_.data();
        for (std::int64_t b = 0; b < width_ / block; ++b)
            for (const T* matrix : {p_.Wy, p_.Wz}) {
                pack_block<T>(matrix, n_, 1, nullptr, n_, n_, width_, b, to, width_ * panel<T>);
                to += width_ * block;
            }
    }

    ~OscillatorBackward() override { delete[] outers_; }
    OscillatorBackward(const OscillatorBackward&) = delete;
    OscillatorBackward& operator=(const OscillatorBackward&) = delete;

    void run(std::int64_t index, int worker) override {
        const Slice slice = slice_at(p_.size, index);
        const std::int64_t steps = p_.size.steps, rows = slice.rows, stride = p_.size.batch * n_;
        const std::int64_t offset = slice.first * n_;
        T* gy = local_.data() + worker * local_size();
        T* gz = gy + most_rows_ * width_;
        T* segment = gz + most_rows_ * width_;
        T* sums = sums_.data() + index * sum_size_;
        clear(sums + outer_size_, sum_size_ - outer_size_);
        clear(gy, 2 * most_rows_ * width_);
        add_rows(gy, width_, p_.y.g_last, slice, n_);
        add_rows(gz, width_, p_.z.g_last, slice, n_);
        OuterSum<T>& outer = outers_[worker];
        outer.begin(rows, weights_wanted_ ? sums : nullptr);
        const T* after = nullptr;
        const std::int64_t chunk = chunk_ > 0 ? chunk_ : steps;
        for (std::int64_t s = chunk > 0 ? ceil_div(steps, chunk) - 1 : -1; s >= 0; --s) {
            const std::int64_t from = s * chunk, to = steps - from < chunk ? steps : from + chunk;
            typename Scan::State start{p_.y0 + offset, p_.z0 + offset};
            typename Scan::Places at{p_.y.states, p_.z.states, p_.y.activations};
            std::int64_t between = stride;
            if (chunk_ > 0) {
                start = {p_.y.checkpoints + s * stride + offset, p_.z.checkpoints + s * stride + offset};
                between = rows * n_;
                at = {segment, segment + chunk_ * between, segment + 2 * chunk_ * between};
                this->advance(slice, from, to, start, at, between, worker);
            } else {
                at = {at.y != nullptr ? at.y + offset : nullptr, at.z + offset, at.activations + offset};
                if (at.y == nullptr) copy(segment, p_.y.last + offset, rows * n_);
            }
            for (std::int64_t t = to - 1; t >= from; --t) {
                this->look_up(worker);
                const std::int64_t before = (t - from - 1) * between;
                if (at.y == nullptr) step_back(slice, t, at.z + (t - from) * between, segment);
                const typename Scan::State h =
                    t == from ? start : typename Scan::State{at.y != nullptr ? at.y + before : segment, at.z + before};
                back(slice, t, h, at.activations + (t - from) * between, t > from + 1 ? between : 0, after, gy, gz,
                     outer, worker);
                for (std::int64_t r = 0; r < rows; ++r)
                    this->drive_.gradient_or_none(t * p_.size.batch + slice.first + r,
                                                  p_.y.held(slice.first + r, t), outer.g() + r * outer.g_row(),
                                                  sums + outer_size_);
                after = outer.g();
                outer.next_step();
            }
        }
        outer.flush();
        if (after != nullptr)
            for (std::int64_t b = 0; b < width_ / block; ++b) complete(b, 1, after, gy, gz, outer, rows, worker);
        copy_rows(p_.g_y0, gy, width_, slice, n_);
        copy_rows(p_.g_z0, gz, width_, slice, n_);
    }

    void finish() override {
        for (std::int64_t j = 0; j < n_; ++j)
            for (std::int64_t i = 0; i < n_; ++i) {
                if (p_.g_Wy != nullptr)
                    p_.g_Wy[j * n_ + i] = summed(sums_.data(), slices_, sum_size_, width_, j, i);
                if (p_.g_Wz != nullptr)
                    p_.g_Wz[j * n_ + i] = summed(sums_.data(), slices_, sum_size_, width_, j, width_ + i);
            }
        this->drive_.finish(sums_.data() + outer_size_, slices_, sum_size_);
    }

private:
    // Gradients of both states (padded rows), then a recomputed segment of y, z and activations, or y alone.
    std::int64_t local_size() const { return most_rows_ * (2 * width_ + (chunk_ > 0 ? 3 * chunk_ : 1) * n_); }

    // y before step t from y and z after it, where y was not kept: y' = y + dt z' read backwards.
    void step_back(const Slice& slice, std::int64_t t, const T* z, T* y) const {
        const T* dt = this->unit_.data() + 3 * width_;
        for (std::int64_t r = 0; r < slice.rows; ++r)
            for (std::int64_t j = 0; j < n_ && !p_.y.held(slice.first + r, t); ++j)
                y[r * n_ + j] -= dt[j] * z[r * n_ + j];
    }

    // Adds the gradients that come from the step `later` to `count` blocks.
    void complete(std::int64_t b, std::int64_t count, const T* later, T* gy, T* gz, const OuterSum<T>& outer,
                  std::int64_t rows, int worker) const {
        T* c = this->scratch(worker);
        product<T, false>(rows, width_, later, outer.g_row(), backward_.data() + b * 2 * width_ * block,
                          count * 2 * panels_in_block<T>, c);
        for (std::int64_t i = 0; i < count; ++i) {
            add_product(gy, width_, b + i, c + i * 2 * rows * block, 0, rows);
            add_product(gz, width_, b + i, c + i * 2 * rows * block, 1, rows);
        }
    }

    void back(const Slice& slice, std::int64_t t, const typename Scan::State& h, const T* kept, std::int64_t between,
              const T* later, T* gy, T* gz, OuterSum<T>& outer, int worker) {
        using V = Vec<T>;
        const std::int64_t rows = slice.rows, blocks = width_ / block, at_once = blocks_together<T>(rows);
        const std::int64_t out = (t * p_.size.batch + slice.first) * n_;
        const T* g_total = p_.y.g_total != nullptr ? p_.y.g_total + slice.first * n_ : nullptr;
        for (std::int64_t b = 0; b < blocks; ++b) {
            if (later != nullptr && b % at_once == 0)
                complete(b, blocks - b < at_once ? blocks - b : at_once, later, gy, gz, outer, rows, worker);
            const T* unit = this->unit_.data() + b * block;
            for (std::int64_t r = 0; r < rows; ++r) {
                if (between > 0)
                    for (const T* read : {kept, h.z, p_.y.states != nullptr ? h.y : h.z})
                        expect<false>(read - between + r * n_ + b * block);
                const bool hold = p_.y.held(slice.first + r, t);
                T* row = outer.g() + r * outer.g_row();
#pragma GCC unroll 8
                for (int l = 0; l < block / lanes<T>; ++l) {
                    const std::int64_t i = l * lanes<T>, j = b * block + i;
                    const bool inside = j < n_, whole = j + lanes<T> <= n_;
                    V to_y = load<V>(gy + r * width_ + j), to_z = load<V>(gz + r * width_ + j), pre{};
                    if (inside && p_.y.g_states != nullptr)
                        to_y = to_y + row_load(p_.y.g_states + out + r * n_, j, n_, whole);
                    if (inside && p_.z.g_states != nullptr)
                        to_z = to_z + row_load(p_.z.g_states + out + r * n_, j, n_, whole);
                    if (!hold && inside) {
                        if (g_total != nullptr) to_y = to_y + row_load(g_total + r * n_, j, n_, whole);
                        const V a = row_load(kept + r * n_, j, n_, whole);
                        to_z = load<V>(unit + 3 * width_ + i) * to_y + to_z;
                        pre = load<V>(unit + width_ + i) * to_z * (T(1) - a * a);
                        to_y = to_y - load<V>(unit + 2 * width_ + i) * to_z;
                        to_z = load<V>(unit + i) * to_z;
                    }
                    store(gy + r * width_ + j, to_y);
                    store(gz + r * width_ + j, to_z);
                    store(row + j, pre);
                }
            }
        }
        outer.put_h(h.y, n_, n_);
        outer.put_h(h.z, n_, n_, width_);
    }

    bool weights_wanted_;
    std::int64_t outer_size_, sum_size_, chunk_;
    Array<T> backward_, sums_, local_;
    OuterSum<T>* outers_;
};

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
