// The noise of the contract alone.
#include "bindings.hpp"

namespace noisyrnn {
namespace {

void fill(Array out, KeyNumbers key, int channel, int threads) {
    const Shape shape = sizes(out, "out", 3);
    if (threads < 1) refuse("threads must be at least 1.");
    if (channel < 0 || channel >= channels) refuse("channel must be 0 (normal), 1 (uniform) or 2 (dropout).");
    by_type(out, "out", [&](auto zero) {
        using T = decltype(zero);
        NoiseProblem<T> p;
        p.size = {shape[0], shape[1], shape[2], 0};
        p.key = noise_key(key, p.size);
        p.channel = static_cast<Channel>(channel);
        p.out = checked<T>(out, "out", shape);
        carry_out(kernels<T>().noise(p), p.size, threads);
    });
}

}  // namespace

void bind_noise(nb::module_& module) {
    using namespace nb::literals;
    module.def("fill", &fill, "out"_a, "key"_a, "channel"_a, "threads"_a);
}

}  // namespace noisyrnn
