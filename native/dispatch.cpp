// Chooses among the instruction sets compiled in, by what the processor says it can do or by name.
#include <atomic>
#include <cstring>

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

std::atomic<const InstructionSet*> chosen{nullptr};

}  // namespace

InstructionSets instruction_sets() {
    InstructionSets found;
#ifdef NOISYRNN_WITH_AVX512
    // One after the other, because the compiler takes names only.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.push_back(&avx512::table);
#endif
#ifdef NOISYRNN_WITH_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(&avx2::table);
#endif
    found.push_back(&baseline::table);
    return found;
}

const InstructionSet& instruction_set() {
    const InstructionSet* now = chosen.load();
    if (now == nullptr) chosen.store(now = instruction_sets().front());
    return *now;
}

bool choose_instruction_set(const char* name) {
    for (const InstructionSet* one : instruction_sets())
        if (std::strcmp(one->name, name) == 0) {
            chosen.store(one);
            return true;
        }
    return false;
}

}  // namespace noisyrnn
