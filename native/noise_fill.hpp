// The noise contract by itself: (steps, samples, units) numbers, for the reference loop and for tests.
#pragma once

#include "philox.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

template <class T>
class NoiseFill final : public Job {
public:
    explicit NoiseFill(const NoiseProblem<T>& problem) : p_(problem), philox_(problem.key, problem.size.units) {}

    void run(std::int64_t index, int worker) override {
        const Slice slice = slice_at(p_.size, index);
        const std::int64_t units = p_.size.units;
        std::uint64_t samples[Philox::table_size(rows_at_once)];
        T numbers[rows_at_once * block];
        for (std::int64_t t = 0; t < p_.size.steps; ++t)
            for (std::int64_t first = 0; first < slice.rows; first += rows_at_once) {
                this->look_up(worker);
                const std::int64_t rest = slice.rows - first, rows = rest < rows_at_once ? rest : rows_at_once;
                T* out = p_.out + (t * p_.size.batch + slice.first + first) * units;
                philox_.begin_step(t, slice.first + first, rows, samples);
                for (std::int64_t g = 0; g * block < units; ++g) {
                    if (p_.channel == Channel::gaussian)
                        make_noise(philox_, samples, rows, p_.channel, g, 1, Normal<T>{}, numbers);
                    else
                        make_noise(philox_, samples, rows, p_.channel, g, 1, Even<T>{T(0), T(1)}, numbers);
                    const std::int64_t left = units - g * block, count = left < block ? left : block;
                    for (std::int64_t r = 0; r < rows; ++r)
                        if (count == block)  // a number that the compiler knows: a few vectors
                            copy(out + r * units + g * block, numbers + r * block, block);
                        else
                            copy(out + r * units + g * block, numbers + r * block, count);
                }
            }
    }

private:
    static constexpr std::int64_t rows_at_once = 16;

    NoiseProblem<T> p_;
    Philox philox_;
};

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
