// Scratch memory that is kept between calls: fresh pages cost a fault each, and a long sequence has many.
#pragma once

#include <cstddef>

namespace noisyrnn {

// Uninitialised memory, aligned to 64 bytes, from a bounded process-wide cache.
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(std::size_t bytes);
    ~Buffer();
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    void* data() const { return data_; }

private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace noisyrnn
