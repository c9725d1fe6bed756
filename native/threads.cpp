#include "threads.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace noisyrnn {
namespace {

constexpr auto glance = std::chrono::milliseconds(100);  // between two questions whether to go on

// Whether denormal numbers are flushed to zero in this thread, as long as this lives.
class Denormals {
public:
#if defined(__SSE2__)
    explicit Denormals(bool flushed) : saved_(__builtin_ia32_stmxcsr()) {
        __builtin_ia32_ldmxcsr(flushed ? saved_ | 0x8040u : saved_ & ~0x8040u);
    }
    ~Denormals() { __builtin_ia32_ldmxcsr(saved_); }

private:
    unsigned saved_;
#elif defined(__aarch64__)
    explicit Denormals(bool flushed) {
        constexpr std::uint64_t bit = std::uint64_t{1} << 24;
        asm volatile("mrs %0, fpcr" : "=r"(saved_));
        asm volatile("msr fpcr, %0" ::"r"(flushed ? saved_ | bit : saved_ & ~bit));
    }
    ~Denormals() { asm volatile("msr fpcr, %0" ::"r"(saved_)); }

private:
    std::uint64_t saved_;
#else
    explicit Denormals(bool) {}
#endif
};

struct Work {
    Job* job = nullptr;
    std::int64_t slices = 0;
    std::atomic<std::int64_t> next{0};

    void take_part(int worker) {
        const Denormals flushed(true);
        try {
            for (std::int64_t slice; (slice = next.fetch_add(1)) < slices;) job->run(slice, worker);
        } catch (const LeftOff&) {
            next.store(slices);
        }
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
            try {
                while (static_cast<int>(threads_.size()) < helpers) {
                    const int worker = static_cast<int>(threads_.size()) + 1;
                    threads_.emplace_back([this, worker] { serve(worker); });
                }
            } catch (const std::system_error&) {
                helpers = static_cast<int>(threads_.size());  // the system gives no more: fewer do it, too
            }
            work_ = &work;
            wanted_ = helpers;
            busy_ = helpers;
            ++round_;
        }
        started_.notify_all();
        work.take_part(0);
        std::unique_lock<std::mutex> lock(mutex_);
        while (!finished_.wait_for(lock, glance, [this] { return busy_ == 0; })) {
            lock.unlock();  // the answer may take its time
            work.job->ask();
            lock.lock();
        }
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

void Job::ask() {
    if (go_on == nullptr) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - asked_ < glance) return;
    asked_ = now;
    const Denormals kept(false);  // whoever is asked may compute
    if (!go_on()) left_off_.store(true, std::memory_order_relaxed);
}

bool run(Job& job, std::int64_t slices, int threads) {
    Work work;
    work.job = &job;
    work.slices = slices;
    const std::int64_t most = threads < slices ? threads : slices;
    if (most <= 1 || !pool().run(work, static_cast<int>(most) - 1)) work.take_part(0);
    if (job.left_off()) return false;
    job.finish();
    return true;
}

}  // namespace noisyrnn
