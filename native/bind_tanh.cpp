// The tanh family: h' = h + dt f + noise.
#include "bindings.hpp"

#include <memory>

#include "threads.hpp"

namespace noisyrnn {
namespace {

template <class T>
StepSize<T> step_of(const Array& dt, const Maybe& g_dt, const Size& s) {
    StepSize<T> step;
    if (dt.ndim() == 1) {
        step.unit = checked<const T>(dt, "dt", {s.units});
        step.g_unit = checked<T>(g_dt, "g_dt", {s.units});
    } else {
        const Shape shape = sizes(dt, "dt", 2);
        if (shape[1] == 1 && s.batch != 1)
            step.time = checked<const T>(dt, "dt", {s.steps, 1});
        else
            step.time = checked<const T>(dt, "dt", {s.steps, s.batch});
        step.step_stride = shape[1];
        step.sample_stride = shape[1] == 1 ? 0 : 1;
        step.g_time = checked<T>(g_dt, "g_dt", {s.steps, s.batch});
    }
    return step;
}

template <class T>
TanhProblem<T> tanh_problem(const Common& common, const Kept& kept, const InputGradients& g, const Array& h0,
                            const Maybe& A, const Array& W, const Maybe& gate, const Array& dt, int noise,
                            double additive, double multiplicative, const KeyNumbers& key) {
    const Size size = size_of(common, h0, "h0");
    const Shape square{size.units, size.units};
    TanhProblem<T> p;
    p.size = size;
    if (noise < 0 || noise > 2) refuse("noise must be 0 (none), 1 (Ito) or 2 (released).");
    p.noise = static_cast<Noise>(noise);
    p.additive = static_cast<T>(additive);
    p.multiplicative = static_cast<T>(multiplicative);
    p.key = noise_key(key, size);
    p.h0 = checked<const T>(h0, "h0", {size.batch, size.units});
    p.A = checked<const T>(A, "A", square);
    p.W = checked<const T>(W, "W", square);
    p.gate = checked<const T>(gate, "gate", {size.steps, size.batch, size.units});
    if (p.gate != nullptr && (p.A != nullptr || p.noise != Noise::none))
        refuse("A gated recurrence has neither a matrix A nor noise.");
    p.input = input_of<T>(common, g, size);
    p.dt = step_of<T>(dt, std::nullopt, size);
    p.record = record_of<T>(common, kept, size);
    return p;
}

void tanh_forward(Common common, Array h0, Maybe A, Array W, Maybe gate, Array dt, int noise, double additive,
                  double multiplicative, KeyNumbers key, Kept kept) {
    by_type(W, "W", [&](auto zero) {
        using T = decltype(zero);
        const auto p = tanh_problem<T>(common, kept, {}, h0, A, W, gate, dt, noise, additive, multiplicative, key);
        carry_out(kernels<T>().tanh_forward, p, common);
    });
}

void tanh_backward(Common common, Array h0, Maybe A, Array W, Maybe gate, Array dt, int noise, double additive,
                   double multiplicative, KeyNumbers key, Kept kept, InputGradients g, Maybe g_h0, Maybe g_A,
                   Maybe g_W, Maybe g_gate, Maybe g_dt) {
    by_type(W, "W", [&](auto zero) {
        using T = decltype(zero);
        auto p = tanh_problem<T>(common, kept, g, h0, A, W, gate, dt, noise, additive, multiplicative, key);
        const Shape square{p.size.units, p.size.units};
        p.g_h0 = checked<T>(g_h0, "g_h0", {p.size.batch, p.size.units});
        p.g_A = checked<T>(g_A, "g_A", square);
        p.g_W = checked<T>(g_W, "g_W", square);
        p.g_gate = checked<T>(g_gate, "g_gate", {p.size.steps, p.size.batch, p.size.units});
        p.dt = step_of<T>(dt, g_dt, p.size);
        check_backward(p.record, true, p.size);
        carry_out(kernels<T>().tanh_backward, p, common);
    });
}

// A recurrence whose weights are packed once, for one step after the other. Addresses come from Python's side of the
// module alone, which has checked what lies there: a conversion of arrays takes longer than the step.
class TanhStream {
public:
    TanhStream(std::int64_t batch, Maybe A, Array W, Array U, Maybe b, Array dt, int noise, double additive,
               double multiplicative, KeyNumbers key) {
        by_type(W, "W", [&](auto zero) {
            using T = decltype(zero);
            const Shape shape = sizes(U, "U", 2);
            const Size size{1, batch, shape[0], shape[1]};
            if (batch < 1) refuse("A stream needs at least one sequence.");
            if (noise < 0 || noise > 2) refuse("noise must be 0 (none), 1 (Ito) or 2 (released).");
            TanhProblem<T>& p = problem<T>();
            p.size = size;
            p.noise = static_cast<Noise>(noise);
            p.additive = static_cast<T>(additive);
            p.multiplicative = static_cast<T>(multiplicative);
            p.key = noise_key(key, size);
            p.A = checked<const T>(A, "A", {size.units, size.units});
            p.W = checked<const T>(W, "W", {size.units, size.units});
            p.input.U = checked<const T>(U, "U", {size.units, size.inputs});
            p.input.b = checked<const T>(b, "b", {size.units});
            p.dt.unit = checked<const T>(dt, "dt", {size.units});
            job_.reset(kernels<T>().tanh_step(&p, 1));
            slices_ = slice_count(size);
            twice_ = sizeof(T) == sizeof(double);
        });
    }

    // The step of this number: x (batch, inputs) and h (batch, units) to `next`, which is no part of them.
    void step(std::uintptr_t x, std::uintptr_t h, std::uintptr_t next, std::uint64_t number) {
        twice_ ? step_of<double>(x, h, next, number) : step_of<float>(x, h, next, number);
    }

private:
    template <class T>
    TanhProblem<T>& problem() {
        if constexpr (std::is_same_v<T, float>)
            return single_problem_;
        else
            return twice_problem_;
    }

    template <class T>
    void step_of(std::uintptr_t x, std::uintptr_t h, std::uintptr_t next, std::uint64_t number) {
        if (number >= std::uint64_t{1} << 32) refuse("A key has noise for 2**32 steps: take a fresh key.");
        TanhProblem<T>& p = problem<T>();
        p.input.x = reinterpret_cast<const T*>(x);
        p.h0 = reinterpret_cast<const T*>(h);
        p.record.last = reinterpret_cast<T*>(next);
        p.key.step = number;
        run(*job_, slices_, 1);
    }

    TanhProblem<float> single_problem_;
    TanhProblem<double> twice_problem_;
    std::unique_ptr<Job> job_;
    std::int64_t slices_ = 0;
    bool twice_ = false;
};

}  // namespace

void bind_tanh(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<TanhStream>(module, "TanhStream")
        .def(nb::init<std::int64_t, Maybe, Array, Array, Maybe, Array, int, double, double, KeyNumbers>(), nb::kw_only(),
             "batch"_a, "A"_a.none(), "W"_a, "U"_a, "b"_a.none(), "dt"_a, "noise"_a, "additive"_a, "multiplicative"_a,
             "key"_a)
        .def("step", &TanhStream::step, "x"_a, "h"_a, "next"_a, "number"_a);
    module.def("tanh_forward", &tanh_forward, "common"_a, nb::kw_only(), "h0"_a, "A"_a.none(), "W"_a, "gate"_a.none(),
               "dt"_a, "noise"_a, "additive"_a, "multiplicative"_a, "key"_a, "kept"_a);
    module.def("tanh_backward", &tanh_backward, "common"_a, nb::kw_only(), "h0"_a, "A"_a.none(), "W"_a,
               "gate"_a.none(), "dt"_a, "noise"_a, "additive"_a, "multiplicative"_a, "key"_a, "kept"_a,
               "gradients"_a, "g_h0"_a.none(), "g_A"_a.none(), "g_W"_a.none(), "g_gate"_a.none(), "g_dt"_a.none());
}

}  // namespace noisyrnn
