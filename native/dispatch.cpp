// Chooses among the instruction sets compiled in, once, by what the processor says it can do.
#include "problem.hpp"

namespace noisyrnn {

#define NOISYRNN_DECLARE(isa) \
    namespace isa {           \
    extern const InstructionSet table; \
    }
NOISYRNN_DECLARE(baseline)
#ifdef NOISYRNN_WITH_AVX2
NOISYRNN_DECLARE(avx2)
#endif
#ifdef NOISYRNN_WITH_AVX512
NOISYRNN_DECLARE(avx512)
#endif
#undef NOISYRNN_DECLARE

namespace {

const InstructionSet& best() {
#ifdef NOISYRNN_WITH_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2"))
        return avx512::table;
#endif
#ifdef NOISYRNN_WITH_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return avx2::table;
#endif
    return baseline::table;
}

}  // namespace

const InstructionSet& instruction_set(bool plain) {
    static const InstructionSet& chosen = best();
    return plain ? baseline::table : chosen;
}

}  // namespace noisyrnn
