// States of tanh_scan.hpp: a whole sequence, and one step of sequences that arrive piece by piece.
#pragma once

#include "tanh_scan.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

template <class T>
class TanhForward final : public TanhScan<T> {
public:
    TanhForward(const TanhProblem<T>& problem, int workers)
        : TanhScan<T>(problem, workers), past_(outgrows_caches(problem)) {}

    void run(std::int64_t index, int worker) override {
        const Slice slice = slice_at(this->p_.size, index);
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
        const std::int64_t count = slice.rows * this->n_;
        const T* h = this->p_.h0 + offset;
        for (std::int64_t from = 0; from < steps; from += chunk) {
            const std::int64_t to = steps - from < chunk ? steps : from + chunk;
            if (record.checkpoints != nullptr)
                copy(record.checkpoints + from / chunk * stride + offset, h, count);
            const auto place = [&](T* array) { return array != nullptr ? array + from * stride + offset : nullptr; };
            h = this->template advance<N, Linear, Gated>(slice, from, to, h, place(record.states),
                                                         place(record.activations), stride, worker, past_);
        }
        if (past_) past_is_there();
        if (record.last != nullptr) copy(record.last + offset, h, count);
    }

    // Whether the backward pass will not find the record in a cache anyway, and whole aligned vectors make it up.
    static bool outgrows_caches(const TanhProblem<T>& p) {
        std::size_t arrays = 0;
        for (const T* array : {p.record.states, p.record.activations}) {
            if (reinterpret_cast<std::uintptr_t>(array) % NOISYRNN_VECTOR_BYTES != 0) return false;
            arrays += array != nullptr ? 1 : 0;
        }
        const auto numbers = static_cast<std::size_t>(p.size.steps * p.size.batch * p.size.units);
        return p.size.units % block == 0 && arrays * numbers * sizeof(T) >= near_record_bytes;
    }

#ifdef NOISYRNN_UNCACHED  // so that a sanitizer sees small ones go past, too
    static constexpr std::size_t near_record_bytes = 0;
#else
    // As large as caches of last resort are; smaller records were read again faster where they had been left in them.
    static constexpr std::size_t near_record_bytes = std::size_t{32} << 20;
#endif

    bool past_;
};

// One step of sequences that arrive piece by piece, run again and again with the weights packed once: input, state, its
// place and the number of the step are those that the problem has at the moment.
template <class T>
class TanhStep final : public TanhScan<T> {
public:
    TanhStep(const TanhProblem<T>* problem, int workers) : TanhScan<T>(*problem, workers), now_(problem) {}

    void run(std::int64_t index, int worker) override {
        this->drive_.read_from(now_->input.x);
        this->philox_.count_from(now_->key.step);
        const Slice slice = slice_at(this->p_.size, index);
        const std::int64_t offset = slice.first * this->n_, stride = this->p_.size.batch * this->n_;
        this->choose([&](auto noise, auto linear, auto gated) {
            this->template advance<decltype(noise)::value, decltype(linear)::value, decltype(gated)::value>(
                slice, 0, 1, now_->h0 + offset, now_->record.last + offset, nullptr, stride, worker);
        });
    }

private:
    const TanhProblem<T>* now_;
};

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
