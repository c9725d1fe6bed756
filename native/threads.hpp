// A few threads that live as long as the process and survive a fork.
#pragma once

#include "problem.hpp"

namespace noisyrnn {

// Runs every slice of `job` on up to `threads` threads (the caller is one of them), then its end. Denormal numbers
// are flushed to zero while slices run, in these threads only. False if the job's caller did not want to go on.
bool run(Job& job, std::int64_t slices, int threads);

}  // namespace noisyrnn
