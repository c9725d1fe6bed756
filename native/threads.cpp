#include "threads.hpp"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace noisyrnn {
namespace {

class DenormalsFlushed {
public:
#if defined(__SSE2__)
    DenormalsFlushed() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(saved_ | 0x8040u); }
    ~DenormalsFlushed() { __builtin_ia32_ldmxcsr(saved_); }

private:
    unsigned saved_;
#elif defined(__aarch64__)
    DenormalsFlushed() {
        asm volatile("mrs %0, fpcr" : "=r"(saved_));
        asm volatile("msr fpcr, %0" ::"r"(saved_ | (std::uint64_t{1} << 24)));
    }
    ~DenormalsFlushed() { asm volatile("msr fpcr, %0" ::"r"(saved_)); }

private:
    std::uint64_t saved_;
#endif
};

struct Work {
    Job* job = nullptr;
    std::int64_t slices = 0;
    std::atomic<std::int64_t> next{0};

    void take_part(int worker) {
        DenormalsFlushed flushed;
        for (std::int64_t slice; (slice = next.fetch_add(1)) < slices;) job->run(slice, worker);
    }
};

class Pool {
public:
    // False where another thread of the program is using the pool: the caller then works alone.
    bool run(Work& work, int helpers) {
        std::unique_lock<std::mutex> owner(owner_, std::try_to_lock);
        if (!owner.owns_lock()) return false;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            while (static_cast<int>(threads_.size()) < helpers) {
                const int worker = static_cast<int>(threads_.size()) + 1;
                threads_.emplace_back([this, worker] { serve(worker); });
            }
            work_ = &work;
            wanted_ = helpers;
            busy_ = helpers;
            ++round_;
        }
        started_.notify_all();
        work.take_part(0);
        std::unique_lock<std::mutex> lock(mutex_);
        finished_.wait(lock, [this] { return busy_ == 0; });
        return true;
    }

private:
    void serve(int worker) {
        std::uint64_t seen = 0;
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            started_.wait(lock, [&] { return round_ != seen; });
            seen = round_;
            if (worker > wanted_) continue;
            Work* work = work_;
            lock.unlock();
            work->take_part(worker);
            lock.lock();
            if (--busy_ == 0) finished_.notify_one();
        }
    }

    std::mutex owner_, mutex_;
    std::condition_variable started_, finished_;
    std::vector<std::thread> threads_;
    Work* work_ = nullptr;
    int wanted_ = 0, busy_ = 0;
    std::uint64_t round_ = 0;
};

std::atomic<Pool*> current{nullptr};

Pool& pool() {
    // A child of fork() has none of its parent's threads: it forgets the old pool, whose locks may be held for ever,
    // and makes its own. Pools are never destroyed, so no thread is joined while the process ends.
    static const bool registered = [] {
        pthread_atfork(nullptr, nullptr, [] { current.store(nullptr); });
        return true;
    }();
    static_cast<void>(registered);
    Pool* found = current.load();
    if (found == nullptr) {
        Pool* made = new Pool;
        if (current.compare_exchange_strong(found, made))
            found = made;
        else
            delete made;
    }
    return *found;
}

}  // namespace

void run(Job& job, std::int64_t slices, int threads) {
    Work work;
    work.job = &job;
    work.slices = slices;
    const std::int64_t most = threads < slices ? threads : slices;
    if (most <= 1 || !pool().run(work, static_cast<int>(most) - 1)) work.take_part(0);
    job.finish();
}

}  // namespace noisyrnn
