// The noise contract by itself: (steps, samples, units) numbers, for the reference loop and for tests.
#pragma once

#include "gemm.hpp"
#include "philox.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

template <class T>
class NoiseFill final : public Job {
public:
    explicit NoiseFill(const NoiseProblem<T>& problem) : p_(problem), philox_(problem.key) {}

    void run(std::int64_t index, int) override {
        const Slice slice = slice_at(p_.size.batch, index);
        const std::int64_t units = p_.size.units, groups = padded(units) / block;
        std::uint64_t words[rows_at_once * 8];
        T numbers[rows_at_once * block];
        for (std::int64_t t = 0; t < p_.size.steps; ++t)
            for (std::int64_t first = 0; first < slice.rows; first += rows_at_once) {
                const std::int64_t rest = slice.rows - first;
                const int rows = static_cast<int>(rest < rows_at_once ? rest : rows_at_once);
                T* out = p_.out + (t * p_.size.batch + slice.first + first) * units;
                for (std::int64_t g = 0; g < groups; ++g) {
                    Philox::Words(philox_, p_.gaussian ? Channel::gaussian : Channel::uniform, 1,
                                  static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(groups),
                                  static_cast<std::uint64_t>(g), static_cast<std::uint64_t>(slice.first + first),
                                  rows, words)
                        .finish();
                    if (p_.gaussian)
                        gaussian<T>(words, rows, numbers);
                    else
                        uniform<T>(words, rows, T(0), T(1), numbers);
                    const std::int64_t left = units - g * block, count = left < block ? left : block;
                    for (int r = 0; r < rows; ++r)
                        copy(out + r * units + g * block, numbers + r * block, count);
                }
            }
    }

private:
    static constexpr int rows_at_once = 16;

    NoiseProblem<T> p_;
    Philox philox_;
};

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
