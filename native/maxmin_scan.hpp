// [z'; y] = maxmin(z K^T + u): n states go on, p outputs are shown, pairs of neighbours are sorted (certified RNN).
//
// A row [z'; y] of n + p numbers stays in scratch memory. Of a step are kept, for the backward pass, its states and one
// bit for each pair; outputs only where they are wanted, and otherwise their sum over the valid steps.
#pragma once

#include "drive.hpp"
#include "pairs.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

template <class T>
class MaxminScan : public Job {
public:
    MaxminScan(const MaxminProblem<T>& problem, int workers)
        : p_(problem),
          n_(problem.states),
          m_(problem.size.units),
          width_(padded(problem.size.units)),
          blocks_(width_ / block),
          slices_(slice_count(problem.size)),
          most_rows_(slices_ > 0 ? slice_at(problem.size, 0).rows : 0),
          drive_(problem.input, problem.size),
          workers_(workers) {}

protected:
    // A row length that is no power of two keeps rows out of each other's cache sets.
    std::int64_t row() const { return width_ + block; }
    std::int64_t shown() const { return m_ - n_; }
    std::int64_t at(std::int64_t t, const Slice& slice) const { return t * p_.size.batch + slice.first; }

    MaxminProblem<T> p_;
    std::int64_t n_, m_, width_, blocks_, slices_, most_rows_;
    Drive<T> drive_;
    int workers_;
};

template <class T>
class MaxminForward final : public MaxminScan<T> {
    using Scan = MaxminScan<T>;
    using Scan::p_, Scan::n_, Scan::m_, Scan::width_, Scan::blocks_, Scan::most_rows_, Scan::drive_;

public:
    MaxminForward(const MaxminProblem<T>& problem, int workers)
        : Scan(problem, workers),
          weights_(n_ * width_),
          scratch_(static_cast<std::int64_t>(workers) * scratch_size()) {
        for (std::int64_t b = 0; b < blocks_; ++b)
            pack_block<T>(p_.K, 1, n_, nullptr, n_, m_, n_, b, weights_.data() + b * n_ * block, n_ * panel<T>);
    }

    void run(std::int64_t index, int worker) override {
        const Slice slice = slice_at(p_.size, index);
        const std::int64_t rows = slice.rows, area = most_rows_ * this->row(), p = this->shown();
        T* c = scratch_.data() + worker * scratch_size();
        T* now = c + most_rows_ * blocks_at_once * block;
        T* next = now + area;
        T* total = next + area;
        clear(now, 3 * area);
        for (std::int64_t r = 0; r < rows; ++r) {
            copy(now + r * this->row(), p_.z0 + (slice.first + r) * n_, n_);
            copy(now + r * this->row() + n_, p_.y0 + (slice.first + r) * p, p);
        }
        const std::int64_t at_once = blocks_together<T>(rows);
        for (std::int64_t t = 0; t < p_.size.steps; ++t) {
            this->look_up(worker);
            for (std::int64_t b = 0; b < blocks_; ++b) {
                if (b % at_once == 0)
                    product<T, false>(rows, n_, now, this->row(), weights_.data() + b * n_ * block,
                                      (blocks_ - b < at_once ? blocks_ - b : at_once) * panels_in_block<T>, c);
                update(slice, t, b, c + b % at_once * rows * block, now, next, total);
            }
            for (std::int64_t r = 0; r < rows; ++r) {
                const std::int64_t place = this->at(t, slice) + r;
                if (p_.kept != nullptr) copy(p_.kept + place * n_, next + r * this->row(), n_);
                if (p_.outputs != nullptr) copy(p_.outputs + place * p, next + r * this->row() + n_, p);
            }
            T* before = now;
            now = next;
            next = before;
        }
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t place = slice.first + r;
            copy(p_.last_z + place * n_, now + r * this->row(), n_);
            copy(p_.last_y + place * p, now + r * this->row() + n_, p);
            if (p_.total != nullptr) copy(p_.total + place * p, total + r * this->row() + n_, p);
        }
    }

private:
    // Products of a few blocks, two rows, and the sum of rows.
    std::int64_t scratch_size() const { return most_rows_ * (blocks_at_once * block + 3 * this->row()); }

    void update(const Slice& slice, std::int64_t t, std::int64_t b, const T* c, const T* now, T* next,
                T* total) const {
        using V = Vec<T>;
        const auto u = drive_.units(slice, t, b);
        const bool summed = p_.total != nullptr && (b + 1) * block > n_;
        for (std::int64_t r = 0; r < slice.rows; ++r) {
            const std::int64_t from = r * this->row() + b * block;
            const bool hold = p_.held(slice.first + r, t);
            unsigned lower = 0;
#pragma GCC unroll 8
            for (int l = 0; l < block / lanes<T>; ++l) {
                const std::int64_t i = l * lanes<T>, j = from + i;
                if (hold) {
                    store(next + j, load<V>(now + j));
                    continue;
                }
                const V v = load<V>(c + product_at<T>(slice.rows, 0, r, l)) + u.at(r, i);
                const V w = sorted_pairs(v, lower, static_cast<int>(i));
                store(next + j, w);
                if (summed) store(total + j, load<V>(total + j) + w);
            }
            if (p_.moved != nullptr) p_.moved[(this->at(t, slice) + r) * blocks_ + b] = even_bits(lower);
        }
    }

    Array<T> weights_, scratch_;
};

template <class T>
class MaxminBackward final : public MaxminScan<T> {
    using Scan = MaxminScan<T>;
    using Scan::p_, Scan::n_, Scan::m_, Scan::width_, Scan::blocks_, Scan::most_rows_, Scan::drive_, Scan::slices_;

public:
    MaxminBackward(const MaxminProblem<T>& problem, int workers)
        : Scan(problem, workers),
          inner_(padded(n_)),
          outer_size_(p_.g_K != nullptr ? OuterSum<T>::size(width_, inner_) : 0),
          sum_size_(outer_size_ + drive_.sum_size()),
          weights_(width_ * inner_),
          sums_(slices_ * sum_size_),
          scratch_(static_cast<std::int64_t>(workers) * scratch_size()),
          outers_(new OuterSum<T>[static_cast<std::size_t>(workers)]) {
        for (int w = 0; w < workers; ++w) outers_[w] = OuterSum<T>(most_rows_, width_, inner_);
        for (std::int64_t b = 0; b < inner_ / block; ++b)
            pack_block<T>(p_.K, n_, 1, nullptr, m_, n_, width_, b, weights_.data() + b * width_ * block,
                          width_ * panel<T>);
    }

    ~MaxminBackward() override { delete[] outers_; }
    MaxminBackward(const MaxminBackward&) = delete;
    MaxminBackward& operator=(const MaxminBackward&) = delete;

    void run(std::int64_t index, int worker) override {
        const Slice slice = slice_at(p_.size, index);
        const std::int64_t rows = slice.rows, area = most_rows_ * this->row(), p = this->shown();
        T* c = scratch_.data() + worker * scratch_size();
        T* g = c + most_rows_ * blocks_at_once * block;
        T* each = g + area;  // what every valid step gets: the gradient of the sum
        T* sums = sums_.data() + index * sum_size_;
        clear(sums + outer_size_, sum_size_ - outer_size_);
        clear(g, 2 * area);
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t place = slice.first + r;
            if (p_.g_last_z != nullptr) copy(g + r * this->row(), p_.g_last_z + place * n_, n_);
            if (p_.g_last_y != nullptr) copy(g + r * this->row() + n_, p_.g_last_y + place * p, p);
            if (p_.g_total != nullptr) copy(each + r * this->row() + n_, p_.g_total + place * p, p);
        }
        OuterSum<T>& outer = outers_[worker];
        outer.begin(rows, p_.g_K != nullptr ? sums : nullptr);
        const T* after = nullptr;
        for (std::int64_t t = p_.size.steps - 1; t >= 0; --t) {
            this->look_up(worker);
            if (p_.g_outputs != nullptr)
                for (std::int64_t r = 0; r < rows; ++r) {
                    const T* from = p_.g_outputs + (this->at(t, slice) + r) * p;
                    T* to = g + r * this->row() + n_;
                    for (std::int64_t i = 0; i < p; ++i) to[i] += from[i];
                }
            back(slice, t, after, c, g, each, outer);
            if (t > 0)
                outer.put_h(p_.kept + this->at(t - 1, slice) * n_, n_, n_);
            else
                outer.put_h(p_.z0 + slice.first * n_, n_, n_);
            for (std::int64_t r = 0; r < rows; ++r)
                drive_.gradient_or_none(this->at(t, slice) + r, p_.held(slice.first + r, t),
                                        outer.g() + r * outer.g_row(), sums + outer_size_);
            after = outer.g();
            outer.next_step();
        }
        outer.flush();
        if (after != nullptr)
            for (std::int64_t b = 0; b < inner_ / block; ++b) complete(b, 1, after, c, g, outer, rows);
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t place = slice.first + r;
            if (p_.g_z0 != nullptr) copy(p_.g_z0 + place * n_, g + r * this->row(), n_);
            if (p_.g_y0 != nullptr) copy(p_.g_y0 + place * p, g + r * this->row() + n_, p);
        }
    }

    void finish() override {
        for (std::int64_t j = 0; j < m_ && p_.g_K != nullptr; ++j)
            for (std::int64_t i = 0; i < n_; ++i)
                p_.g_K[j * n_ + i] = summed(sums_.data(), slices_, sum_size_, width_, j, i);
        drive_.finish(sums_.data() + outer_size_, slices_, sum_size_);
    }

private:
    std::int64_t scratch_size() const { return most_rows_ * (blocks_at_once * block + 2 * this->row()); }

    // Adds what the step after sends back to the states of `count` blocks.
    void complete(std::int64_t b, std::int64_t count, const T* later, T* c, T* g, const OuterSum<T>& outer,
                  std::int64_t rows) const {
        product<T, false>(rows, width_, later, outer.g_row(), weights_.data() + b * width_ * block,
                          count * panels_in_block<T>, c);
        for (std::int64_t i = 0; i < count; ++i) add_product(g, this->row(), b + i, c + i * rows * block, 0, rows);
    }

    // g is the gradient of the row after step t; a row that was not held is used up by it.
    void back(const Slice& slice, std::int64_t t, const T* later, T* c, T* g, const T* each, OuterSum<T>& outer) {
        using V = Vec<T>;
        const std::int64_t rows = slice.rows, at_once = blocks_together<T>(rows), inner = inner_ / block;
        for (std::int64_t b = 0; b < blocks_; ++b) {
            if (later != nullptr && b < inner && b % at_once == 0)
                complete(b, inner - b < at_once ? inner - b : at_once, later, c, g, outer, rows);
            for (std::int64_t r = 0; r < rows; ++r) {
                const std::int64_t from = r * this->row() + b * block;
                T* through = outer.g() + r * outer.g_row() + b * block;
                if (p_.held(slice.first + r, t)) {
                    clear(through, block);
                    continue;
                }
                const unsigned moved = p_.moved[(this->at(t, slice) + r) * blocks_ + b];
#pragma GCC unroll 8
                for (int l = 0; l < block / lanes<T>; ++l) {
                    const std::int64_t i = l * lanes<T>;
                    const V gradient = load<V>(g + from + i) + load<V>(each + from + i);
                    store(through + i, unsorted_pairs(gradient, moved, static_cast<int>(i / 2)));
                    store(g + from + i, V{});
                }
            }
        }
    }

    std::int64_t inner_, outer_size_, sum_size_;
    Array<T> weights_, sums_, scratch_;
    OuterSum<T>* outers_;
};

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
