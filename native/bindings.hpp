// What the bindings of all recurrences have in common: arguments from Python in, a kernel's problem out.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <tuple>

#include "arrays.hpp"
#include "problem.hpp"

namespace noisyrnn {

using KeyNumbers = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

// Arguments that every recurrence has.
struct Common {
    Maybe drive, x, U, b, lengths;
    std::int64_t chunk;
    int threads;
};

// Gradients of the input that are wanted.
struct InputGradients {
    Maybe drive, x, U, b;
};

// Where the states of one recurrence are kept.
struct Kept {
    Maybe states, activations, checkpoints, last, total, g_states, g_last, g_total;
};

// Sizes of a recurrence; refuses a sequence that is neither a drive nor an input with its matrix.
Size size_of(const Common& common, const Array& state, const char* name);

// Refuses counters past 2^32: the contract has no numbers there.
NoiseKey noise_key(const KeyNumbers& numbers, const Size& size);

void check_lengths(const std::int64_t* lengths, const Size& size);

// Runs the job and deletes it; Python may go on meanwhile.
void carry_out(Job* job, const Size& size, int threads);

template <class T>
const Kernels<T>& kernels() {
    if constexpr (std::is_same_v<T, float>)
        return instruction_set().single;
    else
        return instruction_set().twice;
}

template <class P>
void carry_out(Job* (*kernel)(const P&, int), const P& problem, const Common& common) {
    carry_out(kernel(problem, common.threads), problem.size, common.threads);
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

template <class T>
Record<T> record_of(const Common& common, const Kept& kept, const Size& s) {
    const Shape all{s.steps, s.batch, s.units}, one{s.batch, s.units};
    Record<T> record;
    record.lengths = checked<const std::int64_t>(common.lengths, "lengths", {s.batch});
    check_lengths(record.lengths, s);
    record.chunk = common.chunk < s.steps || s.steps == 0 ? common.chunk : s.steps;  // room is taken for a whole chunk
    record.states = checked<T>(kept.states, "states", all);
    record.activations = checked<T>(kept.activations, "activations", all);
    if (kept.checkpoints.has_value() && common.chunk == 0) refuse("Checkpoints need a chunk of at least 1 step.");
    if (kept.checkpoints.has_value())
        record.checkpoints = checked<T>(kept.checkpoints, "checkpoints",
                                        {ceil_div(s.steps, common.chunk), s.batch, s.units});
    record.last = checked<T>(kept.last, "last", one);
    record.total = checked<T>(kept.total, "total", one);
    record.g_total = checked<const T>(kept.g_total, "g_total", one);
    record.g_states = checked<const T>(kept.g_states, "g_states", all);
    record.g_last = checked<const T>(kept.g_last, "g_last", one);
    return record;
}

// Without states and activations, or checkpoints, there is nothing to go back through.
template <class T>
void check_backward(const Record<T>& record, bool activations, const Size& s, bool rebuilt = false) {
    const bool states = record.states != nullptr || (rebuilt && record.last != nullptr);
    const bool whole = states && (record.activations != nullptr || !activations);
    if (s.steps > 0 && s.batch > 0 && !(record.chunk > 0 ? record.checkpoints != nullptr : whole))
        refuse("A backward pass needs the states and activations of the forward pass, or its checkpoints.");
}

// Each adds the functions of its kernels to the module.
void bind_noise(nb::module_& module);
void bind_tanh(nb::module_& module);
void bind_oscillator(nb::module_& module);
void bind_modrelu(nb::module_& module);
void bind_maxmin(nb::module_& module);

}  // namespace noisyrnn
