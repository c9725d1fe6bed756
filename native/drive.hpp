// The input of a recurrence, u = U x + b or given, and its gradients; shared by all models.
#pragma once

#include "gemm.hpp"
#include "problem.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

// Lanes from column j of a row of `units` numbers; zero beyond its end.
template <class T>
NOISYRNN_INLINE Vec<T> row_load(const T* row, std::int64_t j, std::int64_t units, bool whole) {
    return whole ? load<Vec<T>>(row + j) : load_first<Vec<T>>(row + j, static_cast<int>(units - j));
}

template <class T>
NOISYRNN_INLINE void row_store(T* row, std::int64_t j, Vec<T> v, std::int64_t units, bool whole) {
    if (whole)
        store(row + j, v);
    else
        store_first(row + j, v, static_cast<int>(units - j));
}

// Adds to lanes of a row.
template <class T>
NOISYRNN_INLINE void row_add(T* row, std::int64_t j, Vec<T> v, std::int64_t units, bool whole) {
    row_store(row, j, row_load(row, j, units, whole) + v, units, whole);
}

template <class T>
class Drive {
public:
    Drive(const Input<T>& input, const Size& size)
        : input_(input), size_(size), width_(padded(size.units)), packed_((size.inputs + 1) * width_) {
        T* to = packed_.zeroed((size.inputs + 1) * width_);
        for (std::int64_t j = 0; j < size.units && input.drive == nullptr; ++j) {
            to[j] = input.b != nullptr ? input.b[j] : T(0);
            for (std::int64_t i = 0; i < size.inputs; ++i) to[(i + 1) * width_ + j] = input.U[j * size.inputs + i];
        }
    }

    // From now on the input is here.
    void read_from(const T* x) { input_.x = x; }

    // u of a slice at one step, for the sixteen units of a block.
    struct Units {
        const T *drive, *x, *column;
        std::int64_t inputs, width, units, first;

        // Of row r, from unit i of the block on.
        NOISYRNN_INLINE Vec<T> at(std::int64_t r, std::int64_t i) const {
            using V = Vec<T>;
            if (drive != nullptr) {
                const std::int64_t j = first + i;
                return j < units ? row_load(drive + r * units, j, units, j + lanes<T> <= units) : V{};
            }
            V u = load<V>(column + i);
            for (std::int64_t k = 0; k < inputs; ++k)
                u = load<V>(column + (k + 1) * width + i) * x[r * inputs + k] + u;
            return u;
        }
    };
    NOISYRNN_INLINE Units units(const Slice& slice, std::int64_t t, std::int64_t b) const {
        const std::int64_t at = t * size_.batch + slice.first;
        return {input_.drive != nullptr ? input_.drive + at * size_.units : nullptr,
                input_.x != nullptr ? input_.x + at * size_.inputs : nullptr,
                packed_.data() + b * block,
                size_.inputs,
                width_,
                size_.units,
                b * block};
    }

    // Numbers that each slice sums: gradients of b and of the columns of U.
    std::int64_t sum_size() const {
        return input_.drive == nullptr && (input_.g_U != nullptr || input_.g_b != nullptr)
                   ? (size_.inputs + 1) * width_
                   : 0;
    }

    // Gradient of one sample's u at one step, padded with zeros, to everything that u was made from.
    NOISYRNN_INLINE void gradient(std::int64_t at, const T* g, T* sums) const {
        using V = Vec<T>;
        if (input_.g_drive != nullptr)
            copy(input_.g_drive + at * size_.units, g, size_.units);
        if (input_.drive != nullptr) return;
        const T* x = input_.x + at * size_.inputs;
        if (sum_size() != 0)
            for (std::int64_t j = 0; j < width_; j += lanes<T>) {
                const V v = load<V>(g + j);
                store(sums + j, load<V>(sums + j) + v);
                for (std::int64_t i = 0; i < size_.inputs; ++i) {
                    T* sum = sums + (i + 1) * width_ + j;
                    store(sum, v * x[i] + load<V>(sum));
                }
            }
        if (input_.g_x != nullptr)
            for (std::int64_t i = 0; i < size_.inputs; ++i) {
                const T* column = packed_.data() + (i + 1) * width_;
                V sum{};
                for (std::int64_t j = 0; j < width_; j += lanes<T>)
                    sum = load<V>(g + j) * load<V>(column + j) + sum;
                input_.g_x[at * size_.inputs + i] = total(sum);
            }
    }

    // The same where the step may be held: then nothing flows.
    NOISYRNN_INLINE void gradient_or_none(std::int64_t at, bool hold, const T* g, T* sums) const {
        if (!hold) return gradient(at, g, sums);
        if (input_.g_drive != nullptr)
            clear(input_.g_drive + at * size_.units, size_.units);
        if (input_.g_x != nullptr)
            clear(input_.g_x + at * size_.inputs, size_.inputs);
    }

    void finish(const T* sums, std::int64_t slices, std::int64_t stride) const {
        if (sum_size() == 0) return;
        for (std::int64_t j = 0; j < size_.units; ++j)
            for (std::int64_t i = 0; i <= size_.inputs; ++i) {
                T sum = 0;
                for (std::int64_t s = 0; s < slices; ++s) sum += sums[s * stride + i * width_ + j];
                if (i == 0 && input_.g_b != nullptr) input_.g_b[j] = sum;
                if (i > 0 && input_.g_U != nullptr) input_.g_U[j * size_.inputs + i - 1] = sum;
            }
    }

private:
    Input<T> input_;
    Size size_;
    std::int64_t width_;
    Array<T> packed_;  // b, then the columns of U, padded
};

// Adds a slice's rows of (batch, units) to padded rows.
template <class T>
void add_rows(T* to, std::int64_t width, const T* from, const Slice& slice, std::int64_t units) {
    if (from == nullptr) return;
    for (std::int64_t r = 0; r < slice.rows; ++r)
        for (std::int64_t j = 0; j < units; ++j) to[r * width + j] += from[(slice.first + r) * units + j];
}

// Copies padded rows to a slice's rows of (batch, units).
template <class T>
void copy_rows(T* to, const T* from, std::int64_t width, const Slice& slice, std::int64_t units) {
    if (to == nullptr) return;
    for (std::int64_t r = 0; r < slice.rows; ++r)
        copy(to + (slice.first + r) * units, from + r * width, units);
}

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
