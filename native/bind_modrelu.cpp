// expRNN: h' = modrelu(Q h + u).
#include "bindings.hpp"

namespace noisyrnn {
namespace {

template <class T>
ModReluProblem<T> modrelu_problem(const Common& common, const Kept& kept, const InputGradients& g, const Array& h0,
                                  const Array& Q, const Array& bias) {
    const Size size = size_of(common, h0, "h0");
    ModReluProblem<T> p;
    p.size = size;
    p.h0 = checked<const T>(h0, "h0", {size.batch, size.units});
    p.Q = checked<const T>(Q, "Q", {size.units, size.units});
    p.bias = checked<const T>(bias, "bias", {size.units});
    p.input = input_of<T>(common, g, size);
    p.record = record_of<T>(common, kept, size);
    return p;
}

void modrelu_forward(Common common, Array h0, Array Q, Array bias, Kept kept) {
    by_type(Q, "Q", [&](auto zero) {
        using T = decltype(zero);
        const auto p = modrelu_problem<T>(common, kept, {}, h0, Q, bias);
        carry_out(kernels<T>().modrelu_forward, p, common);
    });
}

void modrelu_backward(Common common, Array h0, Array Q, Array bias, Kept kept, InputGradients g, Maybe g_h0,
                      Maybe g_Q, Maybe g_bias) {
    by_type(Q, "Q", [&](auto zero) {
        using T = decltype(zero);
        auto p = modrelu_problem<T>(common, kept, g, h0, Q, bias);
        p.g_h0 = checked<T>(g_h0, "g_h0", {p.size.batch, p.size.units});
        p.g_Q = checked<T>(g_Q, "g_Q", {p.size.units, p.size.units});
        p.g_bias = checked<T>(g_bias, "g_bias", {p.size.units});
        check_backward(p.record, false, p.size);
        carry_out(kernels<T>().modrelu_backward, p, common);
    });
}

}  // namespace

void bind_modrelu(nb::module_& module) {
    using namespace nb::literals;
    module.def("modrelu_forward", &modrelu_forward, "common"_a, nb::kw_only(), "h0"_a, "Q"_a, "bias"_a, "kept"_a);
    module.def("modrelu_backward", &modrelu_backward, "common"_a, nb::kw_only(), "h0"_a, "Q"_a, "bias"_a, "kept"_a,
               "gradients"_a, "g_h0"_a.none(), "g_Q"_a.none(), "g_bias"_a.none());
}

}  // namespace noisyrnn
