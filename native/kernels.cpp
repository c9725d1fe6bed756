// All kernels for one instruction set; this file is compiled once for each.
#include "maxmin_scan.hpp"
#include "modrelu_scan.hpp"
#include "noise_fill.hpp"
#include "oscillator_scan.hpp"
#include "peak.hpp"
#include "tanh_backward.hpp"
#include "tanh_forward.hpp"

#define NOISYRNN_TEXT_(x) #x
#define NOISYRNN_TEXT(x) NOISYRNN_TEXT_(x)

namespace noisyrnn {
namespace NOISYRNN_ISA {
namespace {

template <class J, class P, class... More>
Job* made(const P& problem, More... more) {
    return new J(problem, more...);
}

template <class J, class P>
Job* made_to_read_again(const P* problem, int workers) {
    return new J(problem, workers);
}

template <class T>
constexpr Kernels<T> kernels = {
    made<NoiseFill<T>, NoiseProblem<T>>,
    made<TanhForward<T>, TanhProblem<T>, int>,
    made<TanhBackward<T>, TanhProblem<T>, int>,
    made_to_read_again<TanhStep<T>, TanhProblem<T>>,
    made<OscillatorForward<T>, OscillatorProblem<T>, int>,
    made<OscillatorBackward<T>, OscillatorProblem<T>, int>,
    made<ModReluForward<T>, ModReluProblem<T>, int>,
    made<ModReluBackward<T>, ModReluProblem<T>, int>,
    made<MaxminForward<T>, MaxminProblem<T>, int>,
    made<MaxminBackward<T>, MaxminProblem<T>, int>,
};

}  // namespace

extern const InstructionSet table;
const InstructionSet table = {NOISYRNN_TEXT(NOISYRNN_ISA), kernels<float>, kernels<double>, multiply_adds};

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
