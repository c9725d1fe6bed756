// Drives every kernel with odd shapes, for the sanitizers (address, undefined behaviour, thread), and checks what needs
// no reference: all instruction sets of this processor agree, chunks and thread counts change nothing.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "problem.hpp"
#include "threads.hpp"

namespace {

using namespace noisyrnn;

int failures = 0;

void expect(bool right, const char* what, const Size& s) {
    if (right) return;
    ++failures;
    std::printf("wrong: %s (steps %ld, batch %ld, units %ld, inputs %ld)\n", what, static_cast<long>(s.steps),
                static_cast<long>(s.batch), static_cast<long>(s.units), static_cast<long>(s.inputs));
}

// Exactly as long as asked for, so that the sanitizer sees one number too many.
template <class T>
std::vector<T> numbers(std::int64_t count, double scale) {
    static std::uint64_t state = 1;
    std::vector<T> out(static_cast<std::size_t>(count));
    for (T& x : out) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x = static_cast<T>(scale * (static_cast<double>(state >> 11) * 0x1p-53 - 0.5));
    }
    return out;
}

void perform(Job* made, const Size& size, int threads) {
    const std::unique_ptr<Job> job(made);
    run(*job, size.batch > 0 ? slice_count(size) : 0, threads);
}

template <class T>
const Kernels<T>& kernels(std::size_t rank) {
    if constexpr (sizeof(T) == 4)
        return instruction_sets()[rank]->single;
    else
        return instruction_sets()[rank]->twice;
}

template <class T>
bool near(const std::vector<T>& a, const std::vector<T>& b) {
    double largest = 1e-3, error = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!std::isfinite(static_cast<double>(a[i]))) return false;
        largest = std::fmax(largest, std::fabs(static_cast<double>(b[i])));
        error = std::fmax(error, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    return error < largest * (sizeof(T) == 4 ? 1e-4 : 1e-11);
}

struct Setup {
    std::size_t rank;  // of the instruction set, the best first
    int threads;
    std::int64_t chunk;
    bool rebuilt;  // positions are found again from the velocities, which rounds in another way
};

constexpr Setup ways[] = {{0, 1, 0, false}, {0, 2, 0, false}, {0, 3, 2, false}, {0, 1, 0, true}};

template <class T>
using Results = std::vector<std::vector<T>>;

// The first way on the best instruction set is the measure: the others must give the same bits on each instruction set,
// and the same numbers on all.
template <class T, class F>
void compare(const char* what, const Size& size, F&& results) {
    const Results<T> best = results(ways[0]);
    for (std::size_t rank = 0; rank < instruction_sets().size(); ++rank) {
        Results<T> first;
        for (Setup setup : ways) {
            setup.rank = rank;
            const Results<T> other = results(setup);
            if (first.empty()) first = other;
            for (std::size_t i = 0; i < first.size(); ++i) {
                expect(setup.rebuilt || other[i] == first[i], what, size);
                expect(near(other[i], best[i]), what, size);
            }
        }
    }
}

template <class T>
void with_input(Input<T>& input, const Size& s, bool drive, Results<T>& own, Results<T>& gradients) {
    const std::int64_t all = s.steps * s.batch;
    own.push_back(numbers<T>(all * (drive ? s.units : s.inputs), 2));
    gradients.push_back(std::vector<T>(own.back().size()));
    if (drive) {
        input.drive = own.back().data();
        input.g_drive = gradients.back().data();
        return;
    }
    input.x = own.back().data();
    input.g_x = gradients.back().data();
    own.push_back(numbers<T>(s.units * s.inputs, 2));
    gradients.push_back(std::vector<T>(own.back().size()));
    input.U = own.back().data();
    input.g_U = gradients.back().data();
    own.push_back(numbers<T>(s.units, 1));
    gradients.push_back(std::vector<T>(own.back().size()));
    input.b = own.back().data();
    input.g_b = gradients.back().data();
}

template <class T>
void test_tanh(Size s, Noise noise, bool linear, bool gated, bool drive, bool timed, bool ragged) {
    if (drive) s.inputs = 0;
    const std::int64_t one = s.batch * s.units, all = s.steps * one, square = s.units * s.units;
    Results<T> own, g_input;
    own.reserve(8);
    g_input.reserve(8);
    TanhProblem<T> base;
    base.size = s;
    base.noise = gated ? Noise::none : noise;
    base.additive = T(0.1);
    base.multiplicative = T(0.2);
    base.key = {123456789, 3, 5, 7};
    with_input(base.input, s, drive, own, g_input);
    const auto h0 = numbers<T>(one, 2), A = numbers<T>(square, 0.3), W = numbers<T>(square, 0.3);
    const auto gate = numbers<T>(all, 2), g_states = numbers<T>(all, 2), g_last = numbers<T>(one, 2);
    auto dt = numbers<T>(timed ? s.steps * s.batch : s.units, 0.05);
    for (T& x : dt) x = T(0.1) + x;
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(s.batch));
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<std::int64_t>(i) % (s.steps + 1);
    base.h0 = h0.data();
    base.A = linear && !gated ? A.data() : nullptr;
    base.W = W.data();
    base.gate = gated ? gate.data() : nullptr;
    (timed ? base.dt.time : base.dt.unit) = dt.data();
    base.dt.step_stride = s.batch;
    base.dt.sample_stride = 1;
    base.record.lengths = ragged ? lengths.data() : nullptr;
    compare<T>("tanh", s, [&](const Setup& setup) {
        const std::int64_t marks = setup.chunk > 0 ? ceil_div(s.steps, setup.chunk) : 0;
        std::vector<T> states(all), activations(all), checkpoints(marks * one), last(one), g_h0(one), g_A(square),
            g_W(square), g_gate(all), g_dt(dt.size());
        for (auto& g : g_input) std::fill(g.begin(), g.end(), T(0));
        TanhProblem<T> p = base;
        p.record.chunk = setup.chunk;
        p.record.last = last.data();
        if (setup.chunk > 0)
            p.record.checkpoints = checkpoints.data();
        else
            p.record.states = states.data(), p.record.activations = activations.data();
        perform(kernels<T>(setup.rank).tanh_forward(p, setup.threads), s, setup.threads);
        p.record.g_states = g_states.data();
        p.record.g_last = g_last.data();
        p.g_h0 = g_h0.data();
        p.g_A = p.A != nullptr ? g_A.data() : nullptr;
        p.g_W = g_W.data();
        p.g_gate = gated ? g_gate.data() : nullptr;
        (timed ? p.dt.g_time : p.dt.g_unit) = g_dt.data();
        perform(kernels<T>(setup.rank).tanh_backward(p, setup.threads), s, setup.threads);
        Results<T> results{last, g_h0, g_A, g_W, g_gate, g_dt};
        results.insert(results.end(), g_input.begin(), g_input.end());
        return results;
    });
}

template <class T>
void test_oscillator(Size s, bool drive, bool ragged) {
    if (drive) s.inputs = 0;
    const std::int64_t one = s.batch * s.units, all = s.steps * one, square = s.units * s.units;
    Results<T> own, g_input;
    own.reserve(8);
    g_input.reserve(8);
    OscillatorProblem<T> base;
    base.size = s;
    with_input(base.input, s, drive, own, g_input);
    const auto y0 = numbers<T>(one, 2), z0 = numbers<T>(one, 2), Wy = numbers<T>(square, 0.3);
    const auto Wz = numbers<T>(square, 0.3), g_all = numbers<T>(all, 2), g_one = numbers<T>(one, 2);
    const std::vector<T> keep(s.units, T(0.9)), push(s.units, T(0.1)), pull(s.units, T(0.05)), dt(s.units, T(0.1));
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(s.batch), s.steps / 2);
    base.y0 = y0.data();
    base.z0 = z0.data();
    base.Wy = Wy.data();
    base.Wz = Wz.data();
    base.keep = keep.data();
    base.push = push.data();
    base.pull = pull.data();
    base.dt = dt.data();
    base.y.lengths = base.z.lengths = ragged ? lengths.data() : nullptr;
    compare<T>("oscillator", s, [&](const Setup& setup) {
        const std::int64_t marks = setup.chunk > 0 ? ceil_div(s.steps, setup.chunk) : 0;
        std::vector<T> y(all), z(all), activations(all), y_marks(marks * one), z_marks(marks * one), last_y(one),
            last_z(one), g_y0(one), g_z0(one), g_Wy(square), g_Wz(square);
        for (auto& g : g_input) std::fill(g.begin(), g.end(), T(0));
        OscillatorProblem<T> p = base;
        p.y.chunk = p.z.chunk = setup.chunk;
        p.y.last = last_y.data();
        p.z.last = last_z.data();
        if (setup.chunk > 0)
            p.y.checkpoints = y_marks.data(), p.z.checkpoints = z_marks.data();
        else
            p.y.states = y.data(), p.z.states = z.data(), p.y.activations = activations.data();
        perform(kernels<T>(setup.rank).oscillator_forward(p, setup.threads), s, setup.threads);
        if (setup.rebuilt) p.y.states = nullptr;
        p.y.g_states = p.z.g_states = g_all.data();
        p.y.g_last = p.z.g_last = g_one.data();
        p.g_y0 = g_y0.data();
        p.g_z0 = g_z0.data();
        p.g_Wy = g_Wy.data();
        p.g_Wz = g_Wz.data();
        perform(kernels<T>(setup.rank).oscillator_backward(p, setup.threads), s, setup.threads);
        Results<T> results{last_y, last_z, g_y0, g_z0, g_Wy, g_Wz};
        results.insert(results.end(), g_input.begin(), g_input.end());
        return results;
    });
}

template <class T>
void test_modrelu(Size s, bool drive, bool ragged) {
    if (drive) s.inputs = 0;
    const std::int64_t one = s.batch * s.units, all = s.steps * one, square = s.units * s.units;
    Results<T> own, g_input;
    own.reserve(8);
    g_input.reserve(8);
    ModReluProblem<T> base;
    base.size = s;
    with_input(base.input, s, drive, own, g_input);
    const auto h0 = numbers<T>(one, 2), Q = numbers<T>(square, 0.3), bias = numbers<T>(s.units, 0.1);
    const auto g_all = numbers<T>(all, 2), g_one = numbers<T>(one, 2);
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(s.batch), s.steps / 2);
    base.h0 = h0.data();
    base.Q = Q.data();
    base.bias = bias.data();
    base.record.lengths = ragged ? lengths.data() : nullptr;
    compare<T>("modrelu", s, [&](const Setup& setup) {
        const std::int64_t marks = setup.chunk > 0 ? ceil_div(s.steps, setup.chunk) : 0;
        std::vector<T> states(all), checkpoints(marks * one), last(one), g_h0(one), g_Q(square), g_bias(s.units);
        for (auto& g : g_input) std::fill(g.begin(), g.end(), T(0));
        ModReluProblem<T> p = base;
        p.record.chunk = setup.chunk;
        p.record.last = last.data();
        if (setup.chunk > 0)
            p.record.checkpoints = checkpoints.data();
        else
            p.record.states = states.data();
        perform(kernels<T>(setup.rank).modrelu_forward(p, setup.threads), s, setup.threads);
        p.record.g_states = g_all.data();
        p.record.g_last = g_one.data();
        p.g_h0 = g_h0.data();
        p.g_Q = g_Q.data();
        p.g_bias = g_bias.data();
        perform(kernels<T>(setup.rank).modrelu_backward(p, setup.threads), s, setup.threads);
        Results<T> results{last, g_h0, g_Q, g_bias};
        results.insert(results.end(), g_input.begin(), g_input.end());
        return results;
    });
}

template <class T>
void test_maxmin(Size s, bool drive, bool ragged) {
    s.units += s.units % 2;
    if (drive) s.inputs = 0;
    const std::int64_t n = s.units / 2 + (s.units > 2 ? 1 : 0), p = s.units - n, T_B = s.steps * s.batch;
    Results<T> own, g_input;
    own.reserve(8);
    g_input.reserve(8);
    MaxminProblem<T> base;
    base.size = s;
    base.states = n;
    with_input(base.input, s, drive, own, g_input);
    const auto z0 = numbers<T>(s.batch * n, 2), y0 = numbers<T>(s.batch * p, 2), K = numbers<T>(s.units * n, 0.3);
    const auto g_z = numbers<T>(s.batch * n, 2), g_y = numbers<T>(s.batch * p, 2), g_all = numbers<T>(T_B * p, 2);
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(s.batch), s.steps / 2);
    base.z0 = z0.data();
    base.y0 = y0.data();
    base.K = K.data();
    base.lengths = ragged ? lengths.data() : nullptr;
    compare<T>("maxmin", s, [&](const Setup& setup) {
        std::vector<T> outputs(T_B * p), total(s.batch * p), kept(T_B * n), last_z(s.batch * n), last_y(s.batch * p);
        std::vector<T> g_z0(s.batch * n), g_y0(s.batch * p), g_K(s.units * n);
        std::vector<std::uint8_t> moved(T_B * ceil_div(s.units, 16));
        for (auto& g : g_input) std::fill(g.begin(), g.end(), T(0));
        MaxminProblem<T> q = base;
        q.outputs = outputs.data();
        q.total = total.data();
        q.kept = kept.data();
        q.moved = moved.data();
        q.last_z = last_z.data();
        q.last_y = last_y.data();
        perform(kernels<T>(setup.rank).maxmin_forward(q, setup.threads), s, setup.threads);
        q.g_outputs = g_all.data();
        q.g_total = g_y.data();
        q.g_last_z = g_z.data();
        q.g_last_y = g_y.data();
        q.g_z0 = g_z0.data();
        q.g_y0 = g_y0.data();
        q.g_K = g_K.data();
        perform(kernels<T>(setup.rank).maxmin_backward(q, setup.threads), s, setup.threads);
        Results<T> results{outputs, total, last_z, last_y, g_z0, g_y0, g_K};
        results.insert(results.end(), g_input.begin(), g_input.end());
        return results;
    });
}

template <class T>
void test_noise(const Size& s) {
    for (const Channel channel : {Channel::gaussian, Channel::uniform, Channel::dropout})
        compare<T>("noise", s, [&](const Setup& setup) {
            std::vector<T> out(s.steps * s.batch * s.units);
            NoiseProblem<T> p;
            p.size = s;
            p.key = {1, 2, 3, 4};
            p.channel = channel;
            p.out = out.data();
            perform(kernels<T>(setup.rank).noise(p), s, setup.threads);
            return Results<T>{out};
        });
}

template <class T>
void test_all(const Size& s) {
    test_noise<T>(s);
    for (const bool drive : {false, true})
        for (const bool ragged : {false, true}) {
            for (const Noise noise : {Noise::none, Noise::ito, Noise::released})
                for (const bool linear : {true, false})
                    for (const bool timed : {true, false}) test_tanh<T>(s, noise, linear, false, drive, timed, ragged);
            test_tanh<T>(s, Noise::none, false, true, drive, ragged, ragged);
            test_oscillator<T>(s, drive, ragged);
            test_modrelu<T>(s, drive, ragged);
            test_maxmin<T>(s, drive, ragged);
        }
}

// A job that would never end.
class Endless final : public Job {
public:
    void run(std::int64_t, int worker) override {
        for (;;) look_up(worker);
    }
    void finish() override { ++failures; }
};

void test_leaving_off() {
    for (const int threads : {1, 3}) {
        static int asked;
        asked = 0;
        Endless job;
        job.go_on = [] { return ++asked < 3; };
        expect(!run(job, 4, threads) && asked == 3, "a job was not left off", {});
    }
}

// Several threads of the program at once: one has the pool, the others work alone.
void test_callers_at_once() {
    const Size s{50, 40, 16, 0};
    std::vector<std::vector<double>> out(4, std::vector<double>(s.steps * s.batch * s.units));
    std::vector<std::thread> callers;
    for (auto& numbers : out)
        callers.emplace_back([&s, &numbers] {
            NoiseProblem<double> p;
            p.size = s;
            p.key = {1, 2, 3, 4};
            p.out = numbers.data();
            for (int again = 0; again < 20; ++again) perform(kernels<double>(0).noise(p), s, 3);
        });
    for (auto& caller : callers) caller.join();
    for (const auto& numbers : out) expect(numbers == out[0], "callers disturb each other", s);
}

}  // namespace

int main() {
    test_leaving_off();
    test_callers_at_once();
    const Size shapes[] = {{0, 3, 5, 1}, {4, 0, 5, 1},  {4, 3, 0, 1},  {3, 4, 5, 0},  {1, 1, 1, 1},   {2, 33, 7, 2}, {5, 2, 16, 1},
                           {3, 3, 17, 3}, {7, 1, 33, 1}, {3, 65, 31, 1}, {2, 5, 129, 1}, {3, 300, 3, 1}};
    for (const Size& shape : shapes) {
        test_all<float>(shape);
        test_all<double>(shape);
    }
    std::printf(failures == 0 ? "kernels: all right (%s)\n" : "kernels: failures (%s)\n", instruction_set().name);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
