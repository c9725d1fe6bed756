// coRNN: two states, positions y and velocities z.
#include "bindings.hpp"

namespace noisyrnn {
namespace {

template <class T>
OscillatorProblem<T> oscillator_problem(const Common& common, const Kept& y, const Kept& z, const InputGradients& g,
                                        const Array& y0, const Array& z0, const Array& Wy, const Array& Wz,
                                        const Array& coefficients) {
    const Size size = size_of(common, y0, "y0");
    const Shape one{size.batch, size.units}, square{size.units, size.units};
    OscillatorProblem<T> p;
    p.size = size;
    p.y0 = checked<const T>(y0, "y0", one);
    p.z0 = checked<const T>(z0, "z0", one);
    p.Wy = checked<const T>(Wy, "Wy", square);
    p.Wz = checked<const T>(Wz, "Wz", square);
    p.keep = checked<const T>(coefficients, "coefficients", {4, size.units});
    p.push = p.keep + size.units;
    p.pull = p.push + size.units;
    p.dt = p.pull + size.units;
    p.input = input_of<T>(common, g, size);
    p.y = record_of<T>(common, y, size);
    p.z = record_of<T>(common, z, size);
    return p;
}

void oscillator_forward(Common common, Array y0, Array z0, Array Wy, Array Wz, Array coefficients, Kept y, Kept z) {
    by_type(Wy, "Wy", [&](auto zero) {
        using T = decltype(zero);
        const auto p = oscillator_problem<T>(common, y, z, {}, y0, z0, Wy, Wz, coefficients);
        if ((p.y.checkpoints == nullptr) != (p.z.checkpoints == nullptr))
            refuse("Checkpoints are kept of both states or of none.");
        carry_out(kernels<T>().oscillator_forward, p, common);
    });
}

void oscillator_backward(Common common, Array y0, Array z0, Array Wy, Array Wz, Array coefficients, Kept y, Kept z,
                         InputGradients g, Maybe g_y0, Maybe g_z0, Maybe g_Wy, Maybe g_Wz) {
    by_type(Wy, "Wy", [&](auto zero) {
        using T = decltype(zero);
        auto p = oscillator_problem<T>(common, y, z, g, y0, z0, Wy, Wz, coefficients);
        const Shape one{p.size.batch, p.size.units}, square{p.size.units, p.size.units};
        p.g_y0 = checked<T>(g_y0, "g_y0", one);
        p.g_z0 = checked<T>(g_z0, "g_z0", one);
        p.g_Wy = checked<T>(g_Wy, "g_Wy", square);
        p.g_Wz = checked<T>(g_Wz, "g_Wz", square);
        check_backward(p.y, true, p.size, true);
        check_backward(p.z, false, p.size);
        carry_out(kernels<T>().oscillator_backward, p, common);
    });
}

}  // namespace

void bind_oscillator(nb::module_& module) {
    using namespace nb::literals;
    module.def("oscillator_forward", &oscillator_forward, "common"_a, nb::kw_only(), "y0"_a, "z0"_a, "Wy"_a, "Wz"_a,
               "coefficients"_a, "y"_a, "z"_a);
    module.def("oscillator_backward", &oscillator_backward, "common"_a, nb::kw_only(), "y0"_a, "z0"_a, "Wy"_a,
               "Wz"_a, "coefficients"_a, "y"_a, "z"_a, "gradients"_a, "g_y0"_a.none(), "g_z0"_a.none(),
               "g_Wy"_a.none(), "g_Wz"_a.none());
}

}  // namespace noisyrnn
