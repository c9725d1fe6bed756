// What a kernel is asked to do: plain sizes and pointers, the same for every instruction set.
//
// Arrays are contiguous, time first: (steps, batch, units). A null pointer means that a term is absent or a result
// is not wanted. Whoever fills these structures has checked shapes, types and alignment.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace noisyrnn {

// What noise is for, a part of its counter: normal numbers, and uniform ones for two purposes.
enum class Channel { gaussian = 0, uniform = 1, dropout = 2 };
constexpr int channels = 3;

struct NoiseKey {
    std::uint64_t value = 0, stream = 0, sample = 0, step = 0;
};

struct Size {
    std::int64_t steps = 0, batch = 0, units = 0, inputs = 0;
};

// A run of consecutive samples that one thread takes through the whole sequence. The partition depends on the sizes
// alone, so that sums over slices do not depend on the number of threads. Wide weights leave the near cache between one
// slice's step and the next, so that more rows have to share them.
struct Slice {
    std::int64_t first, rows;
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr std::int64_t slice_count(const Size& size) {
    const std::int64_t few = size.units > 384 ? 4 : 8;
    const std::int64_t coarse = ceil_div(size.batch, 32), fine = ceil_div(size.batch, 8);
    const std::int64_t wanted = fine < few ? fine : (coarse > few ? coarse : few);
    return wanted < 32 ? wanted : 32;
}

constexpr Slice slice_at(const Size& size, std::int64_t index) {
    const std::int64_t count = slice_count(size), rows = size.batch / count, longer = size.batch % count;
    return {index * rows + (index < longer ? index : longer), rows + (index < longer ? 1 : 0)};
}

// Input of a recurrence: a drive u (steps, batch, units), or x (steps, batch, inputs) with U (units, inputs), b (units).
template <class T>
struct Input {
    const T *drive = nullptr, *x = nullptr, *U = nullptr, *b = nullptr;
    T *g_drive = nullptr, *g_x = nullptr, *g_U = nullptr, *g_b = nullptr;
};

// Step sizes: one for each unit, or one for each step and sample (a zero stride where it does not vary).
template <class T>
struct StepSize {
    const T *unit = nullptr, *time = nullptr;
    std::int64_t step_stride = 0, sample_stride = 0;
    T *g_unit = nullptr, *g_time = nullptr;  // g_time is (steps, batch) whatever the strides
};

// Where states go and gradients come from. With `chunk` steps between checkpoints nothing else has to be kept. `total`
// (batch, units) is the sum of the states over each sample's valid steps, zero before the first.
template <class T>
struct Record {
    const std::int64_t* lengths = nullptr;
    std::int64_t chunk = 0;
    T *states = nullptr, *activations = nullptr, *checkpoints = nullptr, *last = nullptr, *total = nullptr;
    const T *g_states = nullptr, *g_last = nullptr, *g_total = nullptr;

    bool held(std::int64_t sample, std::int64_t t) const { return lengths != nullptr && t >= lengths[sample]; }
};

enum class Noise { none, ito, released };

// h' = h + dt f + noise, f = h A^T + tanh(h W^T + u); without A the linear term is absent.
template <class T>
struct TanhProblem {
    Size size;
    Noise noise = Noise::none;
    T additive = 0, multiplicative = 0;
    NoiseKey key;
    const T *h0 = nullptr, *A = nullptr, *W = nullptr;
    T *g_h0 = nullptr, *g_A = nullptr, *g_W = nullptr;
    Input<T> input;
    const T* gate = nullptr;  // drive v of a gate sigmoid(h W^T + v) on the activation
    T* g_gate = nullptr;
    StepSize<T> dt;
    Record<T> record;
};

// z' = keep z + push tanh(y Wy^T + z Wz^T + u) - pull y,  y' = y + dt z'
template <class T>
struct OscillatorProblem {
    Size size;
    const T *y0 = nullptr, *z0 = nullptr, *Wy = nullptr, *Wz = nullptr;
    const T *keep = nullptr, *push = nullptr, *pull = nullptr, *dt = nullptr;  // (units)
    T *g_y0 = nullptr, *g_z0 = nullptr, *g_Wy = nullptr, *g_Wz = nullptr;
    Input<T> input;
    Record<T> y, z;  // lengths, chunk and activations are those of y
};

// h' = sign(v) max(|v| + bias, 0),  v = h Q^T + u
template <class T>
struct ModReluProblem {
    Size size;
    const T *h0 = nullptr, *Q = nullptr, *bias = nullptr;
    T *g_h0 = nullptr, *g_Q = nullptr, *g_bias = nullptr;
    Input<T> input;
    Record<T> record;
};

// [z'; y] = maxmin(z K^T + u): size.units rows of K, of which the first `states` are z'. Backwards `kept` and `moved`
// (one bit for each pair, a byte for each block of sixteen units) must be there.
template <class T>
struct MaxminProblem {
    Size size;
    std::int64_t states = 0;
    const T *z0 = nullptr, *y0 = nullptr, *K = nullptr;
    const std::int64_t* lengths = nullptr;
    T *outputs = nullptr, *total = nullptr, *kept = nullptr, *last_z = nullptr, *last_y = nullptr;
    std::uint8_t* moved = nullptr;
    const T *g_outputs = nullptr, *g_total = nullptr, *g_last_z = nullptr, *g_last_y = nullptr;
    T *g_z0 = nullptr, *g_y0 = nullptr, *g_K = nullptr;
    Input<T> input;

    bool held(std::int64_t sample, std::int64_t t) const { return lengths != nullptr && t >= lengths[sample]; }
};

template <class T>
struct NoiseProblem {
    Size size;
    NoiseKey key;
    Channel channel = Channel::gaussian;
    T* out = nullptr;
};

// Thrown out of a slice whose result is no longer wanted.
struct LeftOff {};

// A computation cut into slices that may run in any order on any thread, and a serial end.
class Job {
public:
    virtual ~Job() = default;
    virtual void run(std::int64_t slice, int worker) = 0;
    virtual void finish() {}

    // Called by every slice at every step: leaves it once the caller, who is worker 0, wants to leave off.
    void look_up(int worker) {
        if (worker == 0 && (++looks_ & 15) == 0) ask();
        if (left_off_.load(std::memory_order_relaxed)) throw LeftOff{};
    }
    // Asks the caller whether to go on, a few times a second.
    void ask();

    bool (*go_on)() = nullptr;
    bool left_off() const { return left_off_.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> left_off_{false};
    unsigned looks_ = 0;
    std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

// Entry points of one instruction set; a job takes scratch memory for `workers` threads when it is made.
template <class T>
struct Kernels {
    Job* (*noise)(const NoiseProblem<T>&);
    Job* (*tanh_forward)(const TanhProblem<T>&, int workers);
    Job* (*tanh_backward)(const TanhProblem<T>&, int workers);
    Job* (*tanh_step)(const TanhProblem<T>*, int workers);  // reads the problem again whenever it runs
    Job* (*oscillator_forward)(const OscillatorProblem<T>&, int workers);
    Job* (*oscillator_backward)(const OscillatorProblem<T>&, int workers);
    Job* (*modrelu_forward)(const ModReluProblem<T>&, int workers);
    Job* (*modrelu_backward)(const ModReluProblem<T>&, int workers);
    Job* (*maxmin_forward)(const MaxminProblem<T>&, int workers);
    Job* (*maxmin_backward)(const MaxminProblem<T>&, int workers);
};

struct InstructionSet {
    const char* name;
    Kernels<float> single;
    Kernels<double> twice;
    double (*multiply_adds)(std::int64_t rounds);  // operations done, for the benchmark to time
};

// Those compiled in that this processor can run, best first; the last runs anywhere.
using InstructionSets = std::vector<const InstructionSet*>;
InstructionSets instruction_sets();

// The one in use, the best unless another was chosen; choosing one that cannot run here does nothing and says so.
const InstructionSet& instruction_set();
bool choose_instruction_set(const char* name);

}  // namespace noisyrnn
