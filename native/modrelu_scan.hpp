// h' = sign(v) max(|v| + bias, 0),  v = h Q^T + u: orthogonal networks (expRNN).
//
// Sign and activity of a unit can be read from its new state, so that the backward pass needs the states only.
#pragma once

#include "drive.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

template <class T>
class ModReluScan : public Job {
public:
    ModReluScan(const ModReluProblem<T>& problem, int workers)
        : p_(problem),
          n_(problem.size.units),
          width_(padded(problem.size.units)),
          slices_(slice_count(problem.size)),
          most_rows_(slices_ > 0 ? slice_at(problem.size, 0).rows : 0),
          drive_(problem.input, problem.size),
          bias_(width_),
          forward_(n_ * width_),
          scratch_(static_cast<std::int64_t>(workers) * scratch_size()) {
        copy(bias_.zeroed(width_), p_.bias, n_);
        for (std::int64_t b = 0; b < width_ / block; ++b)
            pack_block<T>(p_.Q, 1, n_, nullptr, n_, n_, n_, b, forward_.data() + b * n_ * block, n_ * panel<T>);
    }

protected:
    // Products of a few blocks, two states.
    std::int64_t scratch_size() const { return most_rows_ * (blocks_at_once * block + 2 * n_); }
    T* scratch(int worker) const { return scratch_.data() + worker * scratch_size(); }

    // As TanhScan::advance.
    const T* advance(const Slice& slice, std::int64_t from, std::int64_t to, const T* h, T* states,
                     std::int64_t stride, int worker) {
        T* c = scratch(worker);
        T* turns = c + most_rows_ * blocks_at_once * block;
        const std::int64_t rows = slice.rows, blocks = width_ / block, at_once = blocks_together<T>(rows);
        for (std::int64_t t = from; t < to; ++t) {
            this->look_up(worker);
            T* next = states != nullptr ? states + (t - from) * stride : turns + (t % 2) * most_rows_ * n_;
            for (std::int64_t b = 0; b < blocks; ++b) {
                if (b % at_once == 0)
                    product<T, false>(rows, n_, h, n_, forward_.data() + b * n_ * block,
                                      (blocks - b < at_once ? blocks - b : at_once) * panels_in_block<T>, c);
                update(slice, t, b, c + b % at_once * rows * block, h, next);
            }
            h = next;
        }
        return h;
    }

    void update(const Slice& slice, std::int64_t t, std::int64_t b, const T* c, const T* h, T* next) const {
        using V = Vec<T>;
        const V minus = splat<V>(T(-0.0));
        T* total = p_.record.total != nullptr ? p_.record.total + slice.first * n_ : nullptr;
        const auto u = drive_.units(slice, t, b);
        for (std::int64_t r = 0; r < slice.rows; ++r) {
            const bool hold = p_.record.held(slice.first + r, t);
#pragma GCC unroll 8
            for (int l = 0; l < block / lanes<T>; ++l) {
                const std::int64_t i = l * lanes<T>, j = b * block + i;
                if (j >= n_) break;
                const bool whole = j + lanes<T> <= n_;
                V state;
                if (hold) {
                    state = row_load(h + r * n_, j, n_, whole);
                } else {
                    const V v = load<V>(c + product_at<T>(slice.rows, 0, r, l)) + u.at(r, i);
                    const auto sign = bits(v) & bits(minus);
                    const V size = from_bits<V>(bits(v) ^ sign) + load<V>(bias_.data() + j);
                    // Written so that what is not a number stays so.
                    state = size <= T(0) ? V{} : from_bits<V>(bits(size) | sign);
                    state = v == T(0) ? V{} : state;
                    if (total != nullptr) row_add(total + r * n_, j, state, n_, whole);
                }
                row_store(next + r * n_, j, state, n_, whole);
            }
        }
    }

    ModReluProblem<T> p_;
    std::int64_t n_, width_, slices_, most_rows_;
    Drive<T> drive_;
    Array<T> bias_, forward_, scratch_;
};

template <class T>
class ModReluForward final : public ModReluScan<T> {
public:
    using ModReluScan<T>::ModReluScan;

    void run(std::int64_t index, int worker) override {
        const Record<T>& record = this->p_.record;
        const Slice slice = slice_at(this->p_.size, index);
        const std::int64_t steps = this->p_.size.steps, chunk = record.chunk > 0 ? record.chunk : steps;
        const std::int64_t stride = this->p_.size.batch * this->n_, offset = slice.first * this->n_;
        const std::int64_t count = slice.rows * this->n_;
        const T* h = this->p_.h0 + offset;
        for (std::int64_t from = 0; from < steps; from += chunk) {
            const std::int64_t to = steps - from < chunk ? steps : from + chunk;
            if (record.checkpoints != nullptr)
                copy(record.checkpoints + from / chunk * stride + offset, h, count);
            T* states = record.states != nullptr ? record.states + from * stride + offset : nullptr;
            h = this->advance(slice, from, to, h, states, stride, worker);
        }
        if (record.last != nullptr) copy(record.last + offset, h, count);
    }
};

template <class T>
class ModReluBackward final : public ModReluScan<T> {
    using Scan = ModReluScan<T>;
    using Scan::n_, Scan::p_, Scan::slices_, Scan::width_, Scan::most_rows_;

public:
    ModReluBackward(const ModReluProblem<T>& problem, int workers)
        : Scan(problem, workers),
          outer_size_(p_.g_Q != nullptr ? OuterSum<T>::size(width_, width_) : 0),
          sum_size_(outer_size_ + this->drive_.sum_size() + width_),
          chunk_(p_.record.chunk),
          backward_(width_ * width_),
          sums_(slices_ * sum_size_),
          local_(static_cast<std::int64_t>(workers) * local_size()),
          outers_(new OuterSum<T>[static_cast<std::size_t>(workers)]) {
        for (int w = 0; w < workers; ++w) outers_[w] = OuterSum<T>(most_rows_, width_, width_);
        for (std::int64_t b = 0; b < width_ / block; ++b)
            pack_block<T>(p_.Q, n_, 1, nullptr, n_, n_, width_, b, backward_.data() + b * width_ * block,
                          width_ * panel<T>);
    }

    ~ModReluBackward() override { delete[] outers_; }
    ModReluBackward(const ModReluBackward&) = delete;
    ModReluBackward& operator=(const ModReluBackward&) = delete;

    void run(std::int64_t index, int worker) override {
        const Record<T>& record = p_.record;
        const Slice slice = slice_at(p_.size, index);
        const std::int64_t steps = p_.size.steps, rows = slice.rows, stride = p_.size.batch * n_;
        const std::int64_t offset = slice.first * n_;
        T* g = local_.data() + worker * local_size();
        T* segment = g + most_rows_ * width_;
        T* sums = sums_.data() + index * sum_size_;
        clear(sums + outer_size_, sum_size_ - outer_size_);
        clear(g, most_rows_ * width_);
        add_rows(g, width_, record.g_last, slice, n_);
        OuterSum<T>& outer = outers_[worker];
        outer.begin(rows, p_.g_Q != nullptr ? sums : nullptr);
        const T* after = nullptr;
        const std::int64_t chunk = chunk_ > 0 ? chunk_ : steps;
        for (std::int64_t s = chunk > 0 ? ceil_div(steps, chunk) - 1 : -1; s >= 0; --s) {
            const std::int64_t from = s * chunk, to = steps - from < chunk ? steps : from + chunk;
            const T* start = p_.h0 + offset;
            const T* states = record.states + offset;
            std::int64_t between = stride;
            if (chunk_ > 0) {
                start = record.checkpoints + s * stride + offset;
                between = rows * n_;
                states = segment;
                this->advance(slice, from, to, start, segment, between, worker);
            }
            for (std::int64_t t = to - 1; t >= from; --t) {
                this->look_up(worker);
                const T* h = t == from ? start : states + (t - from - 1) * between;
                back(slice, t, states + (t - from) * between, t > from + 1 ? between : 0, after, g, outer, sums,
                     worker);
                outer.put_h(h, n_, n_);
                for (std::int64_t r = 0; r < rows; ++r)
                    this->drive_.gradient_or_none(t * p_.size.batch + slice.first + r,
                                                  record.held(slice.first + r, t), outer.g() + r * outer.g_row(),
                                                  sums + outer_size_);
                after = outer.g();
                outer.next_step();
            }
        }
        outer.flush();
        if (after != nullptr)
            for (std::int64_t b = 0; b < width_ / block; ++b) complete(b, 1, after, g, outer, rows, worker);
        copy_rows(p_.g_h0, g, width_, slice, n_);
    }

    void finish() override {
        for (std::int64_t j = 0; j < n_ && p_.g_Q != nullptr; ++j)
            for (std::int64_t i = 0; i < n_; ++i)
                p_.g_Q[j * n_ + i] = summed(sums_.data(), slices_, sum_size_, width_, j, i);
        const T* rest = sums_.data() + outer_size_;
        this->drive_.finish(rest, slices_, sum_size_);
        for (std::int64_t j = 0; j < n_ && p_.g_bias != nullptr; ++j) {
            T sum = 0;
            for (std::int64_t s = 0; s < slices_; ++s) sum += rest[s * sum_size_ + this->drive_.sum_size() + j];
            p_.g_bias[j] = sum;
        }
    }

private:
    std::int64_t local_size() const { return most_rows_ * (width_ + chunk_ * n_); }

    void complete(std::int64_t b, std::int64_t count, const T* later, T* g, const OuterSum<T>& outer,
                  std::int64_t rows, int worker) const {
        T* c = this->scratch(worker);
        product<T, false>(rows, width_, later, outer.g_row(), backward_.data() + b * width_ * block,
                          count * panels_in_block<T>, c);
        for (std::int64_t i = 0; i < count; ++i) add_product(g, width_, b + i, c + i * rows * block, 0, rows);
    }

    // `next` is the state after step t. A state enters the next one through the product alone, so g is used up.
    void back(const Slice& slice, std::int64_t t, const T* next, std::int64_t between, const T* later, T* g,
              OuterSum<T>& outer, T* sums, int worker) {
        using V = Vec<T>;
        const std::int64_t rows = slice.rows, blocks = width_ / block, at_once = blocks_together<T>(rows);
        const T* g_out = p_.record.g_states;
        if (g_out != nullptr) g_out += (t * p_.size.batch + slice.first) * n_;
        const T* g_total = p_.record.g_total != nullptr ? p_.record.g_total + slice.first * n_ : nullptr;
        T* bias_sums = sums + outer_size_ + this->drive_.sum_size();
        for (std::int64_t b = 0; b < blocks; ++b) {
            if (later != nullptr && b % at_once == 0)
                complete(b, blocks - b < at_once ? blocks - b : at_once, later, g, outer, rows, worker);
            for (std::int64_t r = 0; r < rows; ++r) {
                if (between > 0) expect<false>(next - 2 * between + r * n_ + b * block);
                const bool hold = p_.record.held(slice.first + r, t);
#pragma GCC unroll 8
                for (int l = 0; l < block / lanes<T>; ++l) {
                    const std::int64_t j = b * block + l * lanes<T>;
                    const bool inside = j < n_, whole = j + lanes<T> <= n_;
                    V gradient = load<V>(g + r * width_ + j), through{};
                    if (inside && g_out != nullptr) gradient = gradient + row_load(g_out + r * n_, j, n_, whole);
                    if (!hold && inside) {
                        if (g_total != nullptr) gradient = gradient + row_load(g_total + r * n_, j, n_, whole);
                        const V state = row_load(next + r * n_, j, n_, whole);
                        through = state == T(0) ? V{} : gradient;
                        store(bias_sums + j, load<V>(bias_sums + j) + (state < T(0) ? -through : through));
                        gradient = V{};
                    }
                    store(g + r * width_ + j, gradient);
                    store(outer.g() + r * outer.g_row() + j, through);
                }
            }
        }
    }

    std::int64_t outer_size_, sum_size_, chunk_;
    Array<T> backward_, sums_, local_;
    OuterSum<T>* outers_;
};

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
