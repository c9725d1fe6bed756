// Certified RNN: [z'; y] = maxmin(z K^T + u).
#include "bindings.hpp"

namespace noisyrnn {
namespace {

// What a step leaves behind: outputs (steps, batch, p), their sum (batch, p), states (steps, batch, n), bits.
struct Rows {
    Maybe outputs, total, kept, moved, last_z, last_y;
};

template <class T>
MaxminProblem<T> maxmin_problem(const Common& common, const InputGradients& g, const Array& z0, const Array& y0,
                                const Array& K, const Rows& rows) {
    const Shape z = sizes(z0, "z0", 2), y = sizes(y0, "y0", 2);
    Size size = size_of(common, z0, "z0");
    size.units = z[1] + y[1];
    if (size.units % 2 != 0) refuse("maxmin sorts pairs: states and outputs together must be an even number.");
    if (common.chunk != 0) refuse("This recurrence keeps no checkpoints.");
    MaxminProblem<T> p;
    p.size = size;
    p.states = z[1];
    p.z0 = checked<const T>(z0, "z0", {size.batch, z[1]});
    p.y0 = checked<const T>(y0, "y0", {size.batch, y[1]});
    p.K = checked<const T>(K, "K", {size.units, z[1]});
    p.input = input_of<T>(common, g, size);
    p.lengths = checked<const std::int64_t>(common.lengths, "lengths", {size.batch});
    check_lengths(p.lengths, size);
    p.outputs = checked<T>(rows.outputs, "outputs", {size.steps, size.batch, y[1]});
    p.total = checked<T>(rows.total, "total", {size.batch, y[1]});
    p.kept = checked<T>(rows.kept, "kept", {size.steps, size.batch, z[1]});
    p.moved = checked<std::uint8_t>(rows.moved, "moved", {size.steps, size.batch, ceil_div(size.units, 16)});
    p.last_z = checked<T>(rows.last_z, "last_z", {size.batch, z[1]});
    p.last_y = checked<T>(rows.last_y, "last_y", {size.batch, y[1]});
    return p;
}

void maxmin_forward(Common common, Array z0, Array y0, Array K, Maybe outputs, Maybe total, Maybe kept, Maybe moved,
                    Array last_z, Array last_y) {
    by_type(K, "K", [&](auto zero) {
        using T = decltype(zero);
        const Rows rows{outputs, total, kept, moved, last_z, last_y};
        carry_out(kernels<T>().maxmin_forward, maxmin_problem<T>(common, {}, z0, y0, K, rows), common);
    });
}

void maxmin_backward(Common common, Array z0, Array y0, Array K, Array kept, Array moved, Maybe g_outputs,
                     Maybe g_total, Maybe g_last_z, Maybe g_last_y, InputGradients g, Maybe g_z0, Maybe g_y0,
                     Maybe g_K) {
    by_type(K, "K", [&](auto zero) {
        using T = decltype(zero);
        Rows rows;
        rows.kept = kept;
        rows.moved = moved;
        auto p = maxmin_problem<T>(common, g, z0, y0, K, rows);
        const Shape z{p.size.batch, p.states}, y{p.size.batch, p.size.units - p.states};
        p.g_outputs = checked<const T>(g_outputs, "g_outputs", {p.size.steps, y[0], y[1]});
        p.g_total = checked<const T>(g_total, "g_total", y);
        p.g_last_z = checked<const T>(g_last_z, "g_last_z", z);
        p.g_last_y = checked<const T>(g_last_y, "g_last_y", y);
        p.g_z0 = checked<T>(g_z0, "g_z0", z);
        p.g_y0 = checked<T>(g_y0, "g_y0", y);
        p.g_K = checked<T>(g_K, "g_K", {p.size.units, p.states});
        carry_out(kernels<T>().maxmin_backward, p, common);
    });
}

}  // namespace

void bind_maxmin(nb::module_& module) {
    using namespace nb::literals;
    module.def("maxmin_forward", &maxmin_forward, "common"_a, nb::kw_only(), "z0"_a, "y0"_a, "K"_a,
               "outputs"_a.none(), "total"_a.none(), "kept"_a.none(), "moved"_a.none(), "last_z"_a, "last_y"_a);
    module.def("maxmin_backward", &maxmin_backward, "common"_a, nb::kw_only(), "z0"_a, "y0"_a, "K"_a, "kept"_a,
               "moved"_a, "g_outputs"_a.none(), "g_total"_a.none(), "g_last_z"_a.none(), "g_last_y"_a.none(),
               "gradients"_a, "g_z0"_a.none(), "g_y0"_a.none(), "g_K"_a.none());
}

}  // namespace noisyrnn
