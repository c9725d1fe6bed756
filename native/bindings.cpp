// The module noisyrnn._native: checks every array, then hands plain pointers to the kernels.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "buffers.hpp"
#include "problem.hpp"
#include "threads.hpp"

namespace nb = nanobind;

namespace noisyrnn {
namespace {

using Array = nb::ndarray<>;
using Maybe = std::optional<Array>;
using Shape = std::vector<std::int64_t>;
using KeyNumbers = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

std::string text(const Shape& shape) {
    std::string out = "(";
    for (std::size_t i = 0; i < shape.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return out + ")";
}

[[noreturn]] void refuse(const std::string& sentence) { throw nb::value_error(sentence.c_str()); }

Shape shape_of(const Array& array) {
    Shape shape;
    for (std::size_t i = 0; i < array.ndim(); ++i) shape.push_back(static_cast<std::int64_t>(array.shape(i)));
    return shape;
}

// The array's address, after checking that a kernel may read or write it as contiguous numbers of type T.
template <class T>
T* checked(const Array& array, const char* name, const Shape& shape) {
    using Plain = std::remove_const_t<T>;
    const std::string who = std::string("The array ") + name;
    if (array.device_type() != nb::device::cpu::value) refuse(who + " must be in the memory of the CPU.");
    if (array.dtype() != nb::dtype<Plain>())
        refuse(who + " must have the type " +
               (std::is_same_v<Plain, float>    ? "float32"
                : std::is_same_v<Plain, double> ? "float64"
                                                : "int64") +
               " like the others of this call.");
    if (shape_of(array) != shape) refuse(who + " must have the shape " + text(shape) + ", not " + text(shape_of(array)) + ".");
    std::int64_t expected = 1;
    bool empty = false;
    for (std::size_t i = shape.size(); i-- > 0;) {
        if (shape[i] == 0) empty = true;
        if (shape[i] > 1 && array.stride(i) != expected && !empty) refuse(who + " must be contiguous.");
        expected *= shape[i] > 0 ? shape[i] : 1;
    }
    auto* data = static_cast<T*>(array.data());
    if (reinterpret_cast<std::uintptr_t>(data) % alignof(Plain) != 0)
        refuse(who + " must be aligned to the size of its numbers.");
    return data;
}

template <class T>
T* checked(const Maybe& array, const char* name, const Shape& shape) {
    return array.has_value() ? checked<T>(*array, name, shape) : nullptr;
}

// Sizes of an array that others are compared with; a wrong number of axes is refused here.
Shape sizes(const Array& array, const char* name, std::size_t axes) {
    if (array.ndim() != axes)
        refuse(std::string("The array ") + name + " must have " + std::to_string(axes) + " axes, not " +
               std::to_string(array.ndim()) + ".");
    return shape_of(array);
}

// Counters may not run past 2^64: the contract has no numbers there.
NoiseKey noise_key(const KeyNumbers& numbers, const Size& size) {
    const NoiseKey key{std::get<0>(numbers), std::get<1>(numbers), std::get<2>(numbers), std::get<3>(numbers)};
    __extension__ using Wide = unsigned __int128;
    const Wide most = std::numeric_limits<std::uint64_t>::max();
    const Wide blocks = (Wide(key.step) + Wide(size.steps)) * Wide(2 * ((size.units + 15) / 16));
    if (blocks >= most || Wide(key.sample) + Wide(size.batch) > most)
        refuse("The key's sample or step is so large that its counter would run past 2**64.");
    return key;
}

// Calls f with a value of the common number type, float or double.
template <class F>
void by_type(const Array& array, const char* name, F&& f) {
    if (array.dtype() == nb::dtype<float>())
        f(float{});
    else if (array.dtype() == nb::dtype<double>())
        f(double{});
    else
        refuse(std::string("The array ") + name + " must have the type float32 or float64.");
}

template <class T>
const Kernels<T>& kernels(bool plain) {
    if constexpr (std::is_same_v<T, float>)
        return instruction_set(plain).single;
    else
        return instruction_set(plain).twice;
}

void carry_out(Job* made, std::int64_t batch, int threads) {
    const std::unique_ptr<Job> job(made);
    const nb::gil_scoped_release unlocked;
    run(*job, batch > 0 ? slice_count(batch) : 0, threads);
}

void check_lengths(const std::int64_t* lengths, const Size& size) {
    for (std::int64_t i = 0; lengths != nullptr && i < size.batch; ++i)
        if (lengths[i] < 0 || lengths[i] > size.steps)
            refuse("Lengths must lie between 0 and " + std::to_string(size.steps) + ", got " +
                   std::to_string(lengths[i]) + ".");
}

// Arguments that every recurrence has.
struct Common {
    Maybe drive, x, U, b, lengths;
    std::int64_t chunk;
    int threads;
    bool plain;
};

// Gradients of the input that are wanted.
struct InputGradients {
    Maybe drive, x, U, b;
};

Size size_of(const Common& common, const Shape& state) {
    if (common.drive.has_value() == common.x.has_value())
        refuse("A recurrence needs either a drive or an input x, and not both.");
    if (common.chunk < 0 || common.threads < 1) refuse("chunk must be at least 0 and threads at least 1.");
    const Shape sequence = common.drive.has_value() ? sizes(*common.drive, "drive", 3) : sizes(*common.x, "x", 3);
    Size size{sequence[0], state[0], state[1], common.x.has_value() ? sequence[2] : 0};
    if (common.x.has_value() && !common.U.has_value()) refuse("An input x needs the matrix U.");
    return size;
}

template <class T>
Input<T> input_of(const Common& common, const InputGradients& g, const Size& s) {
    Input<T> input;
    input.drive = checked<const T>(common.drive, "drive", {s.steps, s.batch, s.units});
    input.x = checked<const T>(common.x, "x", {s.steps, s.batch, s.inputs});
    input.U = checked<const T>(common.U, "U", {s.units, s.inputs});
    input.b = checked<const T>(common.b, "b", {s.units});
    input.g_drive = checked<T>(g.drive, "g_drive", {s.steps, s.batch, s.units});
    input.g_x = checked<T>(g.x, "g_x", {s.steps, s.batch, s.inputs});
    input.g_U = checked<T>(g.U, "g_U", {s.units, s.inputs});
    input.g_b = checked<T>(g.b, "g_b", {s.units});
    return input;
}

// Where the states of one recurrence are kept.
struct Kept {
    Maybe states, activations, checkpoints, last, g_states, g_last;
};

template <class T>
Record<T> record_of(const Common& common, const Kept& kept, const Size& s) {
    const Shape all{s.steps, s.batch, s.units}, one{s.batch, s.units};
    Record<T> record;
    record.lengths = checked<const std::int64_t>(common.lengths, "lengths", {s.batch});
    check_lengths(record.lengths, s);
    record.chunk = common.chunk;
    record.states = checked<T>(kept.states, "states", all);
    record.activations = checked<T>(kept.activations, "activations", all);
    if (kept.checkpoints.has_value() && common.chunk == 0) refuse("Checkpoints need a chunk of at least 1 step.");
    if (kept.checkpoints.has_value())
        record.checkpoints = checked<T>(kept.checkpoints, "checkpoints",
                                        {ceil_div(s.steps, common.chunk), s.batch, s.units});
    record.last = checked<T>(kept.last, "last", one);
    record.g_states = checked<const T>(kept.g_states, "g_states", all);
    record.g_last = checked<const T>(kept.g_last, "g_last", one);
    return record;
}

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

// Without states and activations, or checkpoints, there is nothing to go back through.
template <class T>
void check_backward(const Record<T>& record, bool activations, const Size& s) {
    const bool whole = record.states != nullptr && (record.activations != nullptr || !activations);
    if (s.steps > 0 && s.batch > 0 && !(record.chunk > 0 ? record.checkpoints != nullptr : whole))
        refuse("A backward pass needs the states and activations of the forward pass, or its checkpoints.");
}

template <class T>
TanhProblem<T> tanh_problem(const Common& common, const Kept& kept, const InputGradients& g, const Array& h0,
                            const Maybe& A, const Array& W, const Maybe& gate, const Array& dt, int noise,
                            double additive, double multiplicative, const KeyNumbers& key) {
    const Size size = size_of(common, sizes(h0, "h0", 2));
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
        carry_out(kernels<T>(common.plain).tanh_forward(p, common.threads), p.size.batch, common.threads);
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
        carry_out(kernels<T>(common.plain).tanh_backward(p, common.threads), p.size.batch, common.threads);
    });
}

template <class T>
OscillatorProblem<T> oscillator_problem(const Common& common, const Kept& y, const Kept& z, const InputGradients& g,
                                        const Array& y0, const Array& z0, const Array& Wy, const Array& Wz,
                                        const Array& coefficients) {
    const Size size = size_of(common, sizes(y0, "y0", 2));
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
        carry_out(kernels<T>(common.plain).oscillator_forward(p, common.threads), p.size.batch, common.threads);
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
        check_backward(p.y, true, p.size);
        check_backward(p.z, false, p.size);
        carry_out(kernels<T>(common.plain).oscillator_backward(p, common.threads), p.size.batch, common.threads);
    });
}

template <class T>
ModReluProblem<T> modrelu_problem(const Common& common, const Kept& kept, const InputGradients& g, const Array& h0,
                                  const Array& Q, const Array& bias) {
    const Size size = size_of(common, sizes(h0, "h0", 2));
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
        carry_out(kernels<T>(common.plain).modrelu_forward(p, common.threads), p.size.batch, common.threads);
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
        carry_out(kernels<T>(common.plain).modrelu_backward(p, common.threads), p.size.batch, common.threads);
    });
}

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

// An uninitialised array of float32 or float64 whose memory returns to the cache when its last user is gone.
nb::ndarray<nb::device::cpu> empty(const Shape& shape, bool twice) {
    std::size_t bytes = twice ? sizeof(double) : sizeof(float);
    std::vector<std::size_t> extents;
    for (const std::int64_t extent : shape) {
        if (extent < 0) refuse("An array has no negative extent.");
        extents.push_back(static_cast<std::size_t>(extent));
        if (__builtin_mul_overflow(bytes, extents.back(), &bytes)) refuse("An array of that size does not fit in memory.");
    }
    auto* memory = new Buffer(bytes);
    nb::capsule owner(memory, [](void* p) noexcept { delete static_cast<Buffer*>(p); });
    return nb::ndarray<nb::device::cpu>(memory->data(), extents.size(), extents.data(), owner, nullptr,
                                        twice ? nb::dtype<double>() : nb::dtype<float>());
}

}  // namespace
}  // namespace noisyrnn

NB_MODULE(_native, module) {
    using namespace noisyrnn;
    using namespace nb::literals;
    module.doc() = "Scan kernels of noisyrnn; noisyrnn.rnn.native is their only user.";
    module.attr("instruction_set") = instruction_set().name;
    nb::class_<Common>(module, "Common")
        .def(
            "__init__",
            [](Common* self, Maybe drive, Maybe x, Maybe U, Maybe b, Maybe lengths, std::int64_t chunk, int threads,
               bool plain) { new (self) Common{drive, x, U, b, lengths, chunk, threads, plain}; },
            nb::kw_only(), "drive"_a.none() = nb::none(), "x"_a.none() = nb::none(), "U"_a.none() = nb::none(),
            "b"_a.none() = nb::none(), "lengths"_a.none() = nb::none(), "chunk"_a = 0, "threads"_a = 1,
            "plain"_a = false);
    nb::class_<InputGradients>(module, "InputGradients")
        .def(
            "__init__",
            [](InputGradients* self, Maybe drive, Maybe x, Maybe U, Maybe b) {
                new (self) InputGradients{drive, x, U, b};
            },
            nb::kw_only(), "drive"_a.none() = nb::none(), "x"_a.none() = nb::none(), "U"_a.none() = nb::none(),
            "b"_a.none() = nb::none());
    nb::class_<Kept>(module, "Kept")
        .def(
            "__init__",
            [](Kept* self, Maybe states, Maybe activations, Maybe checkpoints, Maybe last, Maybe g_states,
               Maybe g_last) { new (self) Kept{states, activations, checkpoints, last, g_states, g_last}; },
            nb::kw_only(), "states"_a.none() = nb::none(), "activations"_a.none() = nb::none(),
            "checkpoints"_a.none() = nb::none(), "last"_a.none() = nb::none(), "g_states"_a.none() = nb::none(),
            "g_last"_a.none() = nb::none());
    module.def("empty", &empty, "shape"_a, "twice"_a);
    module.def("fill", &fill, "out"_a, "key"_a, "gaussian"_a, "threads"_a, "plain"_a = false);
    module.def("tanh_forward", &tanh_forward, "common"_a, nb::kw_only(), "h0"_a, "A"_a.none(), "W"_a, "gate"_a.none(),
               "dt"_a, "noise"_a, "additive"_a, "multiplicative"_a, "key"_a, "kept"_a);
    module.def("tanh_backward", &tanh_backward, "common"_a, nb::kw_only(), "h0"_a, "A"_a.none(), "W"_a,
               "gate"_a.none(), "dt"_a, "noise"_a, "additive"_a, "multiplicative"_a, "key"_a, "kept"_a,
               "gradients"_a, "g_h0"_a.none(), "g_A"_a.none(), "g_W"_a.none(), "g_gate"_a.none(), "g_dt"_a.none());
    module.def("oscillator_forward", &oscillator_forward, "common"_a, nb::kw_only(), "y0"_a, "z0"_a, "Wy"_a, "Wz"_a,
               "coefficients"_a, "y"_a, "z"_a);
    module.def("oscillator_backward", &oscillator_backward, "common"_a, nb::kw_only(), "y0"_a, "z0"_a, "Wy"_a,
               "Wz"_a, "coefficients"_a, "y"_a, "z"_a, "gradients"_a, "g_y0"_a.none(), "g_z0"_a.none(),
               "g_Wy"_a.none(), "g_Wz"_a.none());
    module.def("modrelu_forward", &modrelu_forward, "common"_a, nb::kw_only(), "h0"_a, "Q"_a, "bias"_a, "kept"_a);
    module.def("modrelu_backward", &modrelu_backward, "common"_a, nb::kw_only(), "h0"_a, "Q"_a, "bias"_a, "kept"_a,
               "gradients"_a, "g_h0"_a.none(), "g_Q"_a.none(), "g_bias"_a.none());
}
