// The module noisyrnn._native: checks every array, then hands plain pointers to the kernels.
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "buffers.hpp"
#include "threads.hpp"

namespace noisyrnn {

Size size_of(const Common& common, const Array& h0, const char* name) {
    const Shape state = sizes(h0, name, 2);
    if (common.drive.has_value() == common.x.has_value())
        refuse("A recurrence needs either a drive or an input x, and not both.");
    if (common.chunk < 0 || common.threads < 1) refuse("chunk must be at least 0 and threads at least 1.");
    const Shape sequence = common.drive.has_value() ? sizes(*common.drive, "drive", 3) : sizes(*common.x, "x", 3);
    Size size{sequence[0], state[0], state[1], common.x.has_value() ? sequence[2] : 0};
    if (common.x.has_value() && !common.U.has_value()) refuse("An input x needs the matrix U.");
    return size;
}

NoiseKey noise_key(const KeyNumbers& numbers, const Size& size) {
    const NoiseKey key{std::get<0>(numbers), std::get<1>(numbers), std::get<2>(numbers), std::get<3>(numbers)};
    constexpr std::uint64_t most = std::uint64_t{1} << 32;
    if (key.stream >= most >> 4) refuse("The key's stream must lie below 2**28.");
    if (key.sample > most || key.step > most || key.sample + static_cast<std::uint64_t>(size.batch) > most ||
        key.step + static_cast<std::uint64_t>(size.steps) > most)
        refuse("A key has noise for 2**32 samples and 2**32 steps, and here it would run past them: take a fresh key.");
    return key;
}

void check_lengths(const std::int64_t* lengths, const Size& size) {
    for (std::int64_t i = 0; lengths != nullptr && i < size.batch; ++i)
        if (lengths[i] < 0 || lengths[i] > size.steps)
            refuse("Lengths must lie between 0 and " + std::to_string(size.steps) + ", got " +
                   std::to_string(lengths[i]) + ".");
}

namespace {

// The interpreter ends a thread that asks for its lock too late, by unwinding, which functions in between would answer
// by ending the whole process with a scream. Such a thread waits here for the end instead.
template <class Locked>
void or_wait(Locked locked) noexcept {
    try {
        locked();
    } catch (...) {
        for (;;) pause();
    }
}

// Other Python threads run as long as this lives.
class Unlocked {
public:
    ~Unlocked() {
        or_wait([this] { PyEval_RestoreThread(state_); });
    }

private:
    PyThreadState* state_ = PyEval_SaveThread();
};

// Whether no signal handler has raised anything; what it raised is then Python's current error.
bool undisturbed() {
    PyGILState_STATE state{};
    or_wait([&state] { state = PyGILState_Ensure(); });
    const bool calm = PyErr_CheckSignals() == 0;
    PyGILState_Release(state);
    return calm;
}

}  // namespace

void carry_out(Job* made, const Size& size, int threads) {
    const std::unique_ptr<Job> job(made);
    job->go_on = undisturbed;
    bool done = false;
    {
        const Unlocked unlocked;
        done = run(*job, size.batch > 0 ? slice_count(size) : 0, threads);
    }
    if (!done) throw nb::python_error();
}

namespace {

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

// An array that may be left out.
auto maybe(const char* name) { return nb::arg(name).none() = nb::none(); }

}  // namespace
}  // namespace noisyrnn

NB_MODULE(_native, module) {
    using namespace noisyrnn;
    using namespace nb::literals;
    nb::set_leak_warnings(false);  // a thread that is still at work when the interpreter ends keeps what it works on
    module.doc() = "Scan kernels of noisyrnn; noisyrnn.rnn.native is their only user.";
    module.def("instruction_set", [] { return instruction_set().name; });
    module.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const InstructionSet* one : instruction_sets()) names.emplace_back(one->name);
        return names;
    });
    module.def("choose_instruction_set", [](const std::string& name) {
        if (!choose_instruction_set(name.c_str())) refuse("This processor, or this build, cannot run " + name + ".");
    }, "name"_a);
    module.def("multiply_adds", [](std::int64_t rounds) { return instruction_set().multiply_adds(rounds); }, "rounds"_a,
               nb::call_guard<nb::gil_scoped_release>());
    nb::class_<Common>(module, "Common")
        .def(
            "__init__",
            [](Common* self, Maybe drive, Maybe x, Maybe U, Maybe b, Maybe lengths, std::int64_t chunk, int threads) {
                new (self) Common{drive, x, U, b, lengths, chunk, threads};
            },
            nb::kw_only(), maybe("drive"), maybe("x"), maybe("U"), maybe("b"), maybe("lengths"), "chunk"_a = 0,
            "threads"_a = 1);
    nb::class_<InputGradients>(module, "InputGradients")
        .def(
            "__init__",
            [](InputGradients* self, Maybe drive, Maybe x, Maybe U, Maybe b) {
                new (self) InputGradients{drive, x, U, b};
            },
            nb::kw_only(), maybe("drive"), maybe("x"), maybe("U"), maybe("b"));
    nb::class_<Kept>(module, "Kept")
        .def(
            "__init__",
            [](Kept* self, Maybe states, Maybe activations, Maybe checkpoints, Maybe last, Maybe total, Maybe g_states,
               Maybe g_last, Maybe g_total) {
                new (self) Kept{states, activations, checkpoints, last, total, g_states, g_last, g_total};
            },
            nb::kw_only(), maybe("states"), maybe("activations"), maybe("checkpoints"), maybe("last"), maybe("total"),
            maybe("g_states"), maybe("g_last"), maybe("g_total"));
    module.def("empty", &empty, "shape"_a, "twice"_a);
    bind_noise(module);
    bind_tanh(module);
    bind_oscillator(module);
    bind_modrelu(module);
    bind_maxmin(module);
}
