#include "buffers.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace noisyrnn {
namespace {

#ifdef NOISYRNN_UNCACHED  // so that a sanitizer sees where a buffer ends
constexpr std::size_t most_bytes = 0;
#else
constexpr std::size_t most_bytes = std::size_t{1} << 30;
#endif
constexpr std::size_t most_blocks = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

struct Block {
    void* data;
    std::size_t bytes;
};

class Cache {
public:
    Block take(std::size_t bytes) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            auto best = free_.end();
            for (auto it = free_.begin(); it != free_.end(); ++it)
                if (it->bytes >= bytes && it->bytes <= 2 * bytes && (best == free_.end() || it->bytes < best->bytes))
                    best = it;
            if (best != free_.end()) {
                const Block block = *best;
                free_.erase(best);
                held_ -= block.bytes;
                return block;
            }
        }
        const std::size_t align = bytes >= 2 * huge_page ? huge_page : 64;
        void* data = nullptr;
        if (posix_memalign(&data, align, bytes) != 0) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
        if (align == huge_page) madvise(data, bytes, MADV_HUGEPAGE);
#endif
        return {data, bytes};
    }

    void give_back(Block block) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        if (block.bytes > most_bytes) {
            std::free(block.data);
            return;
        }
        // Oldest first: what was not wanted for longest is least likely to be wanted again.
        while (held_ + block.bytes > most_bytes || free_.size() >= most_blocks) {
            std::free(free_.front().data);
            held_ -= free_.front().bytes;
            free_.erase(free_.begin());
        }
        free_.push_back(block);
        held_ += block.bytes;
    }

    std::mutex& mutex() { return mutex_; }

    Cache() { free_.reserve(most_blocks + 1); }

private:
    std::mutex mutex_;
    std::vector<Block> free_;
    std::size_t held_ = 0;
};

Cache& cache() {
    // Never destroyed: arrays handed to Python may outlive every static object. A fork must not copy a held lock.
    static Cache* one = [] {
        Cache* made = new Cache;
        pthread_atfork([] { cache().mutex().lock(); }, [] { cache().mutex().unlock(); },
                       [] { cache().mutex().unlock(); });
        return made;
    }();
    return *one;
}

}  // namespace

Buffer::Buffer(std::size_t bytes) {
    const Block block = cache().take(std::max<std::size_t>(bytes, 1));
    data_ = block.data;
    bytes_ = block.bytes;
}

Buffer::~Buffer() {
    if (data_ != nullptr) cache().give_back({data_, bytes_});
}

Buffer::Buffer(Buffer&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

}  // namespace noisyrnn
