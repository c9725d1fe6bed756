// The noise of the contract alone.
#include "bindings.hpp"

namespace noisyrnn {
namespace {

void fill(Array out, KeyNumbers key, bool gaussian, int threads, bool plain) {
    const Shape shape = sizes(out, "out", 3);
    if (threads < 1) refuse("threads must be at least 1.");
    by_type(out, "out", [&](auto zero) {
        using T = decltype(zero);
        NoiseProblem<T> p;
        p.size = {shape[0], shape[1], shape[2], 0};
        p.key = noise_key(key, p.size);
        p.gaussian = gaussian;
        p.out = checked<T>(out, "out", shape);
        carry_out(kernels<T>(plain).noise(p), p.size.batch, threads);
    });
}

}  // namespace

void bind_noise(nb::module_& module) {
    using namespace nb::literals;
    module.def("fill", &fill, "out"_a, "key"_a, "gaussian"_a, "threads"_a, "plain"_a = false);
}

}  // namespace noisyrnn
