// Small matrix products with one operand packed into panels: the work of a recurrent step.
//
// Every element of a product is one chain of multiply-adds in the order of the inner index, whatever the tile it is
// computed in, so a sample's numbers do not depend on how many other samples stand beside it.
#pragma once

#include "buffers.hpp"
#include "simd.hpp"

namespace noisyrnn {
namespace NOISYRNN_ISA {

constexpr int block = 16;  // units handled together by the code behind a product; also a group of the noise

// A tile is as many rows of as many neighbouring panels as keep the multipliers busy: two vectors wide, so that an
// element that was loaded serves twice.
#if NOISYRNN_VECTOR_BYTES == 64
template <class T>
constexpr int panel_vectors = block / lanes<T>;
constexpr int tile_rows = 8;
#else
template <class T>
constexpr int panel_vectors = 2;
constexpr int tile_rows = 6;
#endif
template <class T>
constexpr int tile_panels = 2 / panel_vectors<T>;

template <class T>
constexpr int panel = panel_vectors<T>* lanes<T>;  // columns of a panel
template <class T>
constexpr int panels_in_block = block / panel<T>;

constexpr std::int64_t padded(std::int64_t units) { return (units + block - 1) / block * block; }

// Scratch array of T.
template <class T>
class Array {
public:
    Array() = default;
    explicit Array(std::int64_t count) : buffer_(static_cast<std::size_t>(count) * sizeof(T)) {}
    T* data() const { return static_cast<T*>(buffer_.data()); }
    T* zeroed(std::int64_t count) const {
        clear(data(), count);
        return data();
    }

private:
    Buffer buffer_;
};

// Columns [16 b, 16 b + 16) of a matrix with `depth` rows, as panels: to[panel][row][column].
// Element (k, j) is from[k * row_stride + j * column_stride] times scale[k]; what lies outside (rows, columns) is zero.
template <class T>
void pack_block(const T* from, std::int64_t row_stride, std::int64_t column_stride, const T* scale, std::int64_t rows,
                std::int64_t columns, std::int64_t depth, std::int64_t b, T* to, std::int64_t panel_stride) {
    for (int p = 0; p < panels_in_block<T>; ++p)
        for (std::int64_t k = 0; k < depth; ++k)
            for (int c = 0; c < panel<T>; ++c) {
                const std::int64_t j = b * block + p * panel<T> + c;
                const bool inside = k < rows && j < columns;
                T value = inside ? from[k * row_stride + j * column_stride] : T(0);
                if (inside && scale != nullptr) value *= scale[k];
                to[p * panel_stride + k * panel<T> + c] = value;
            }
}

template <class T, int M, int Q>
NOISYRNN_INLINE void multiply_add(Vec<T> (&sum)[M][Q * panel_vectors<T>], const T* a, std::int64_t a_row,
                                  const T* panels, std::int64_t panel_stride) {
    using V = Vec<T>;
    constexpr int N = panel_vectors<T>;
    V row[Q * N];
#pragma GCC unroll 16
    for (int j = 0; j < Q * N; ++j) row[j] = load<V>(panels + (j / N) * panel_stride + (j % N) * lanes<T>);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
        const V value = splat<V>(a[i * a_row]);
#pragma GCC unroll 16
        for (int j = 0; j < Q * N; ++j) sum[i][j] = value * row[j] + sum[i][j];
    }
}

// c[q][i][:] (+)= sum_k a[i * a_row + k * a_step] panel_q[k][:] for M rows and Q neighbouring panels.
template <class T, int M, int Q, bool Add>
NOISYRNN_INLINE void tile(std::int64_t depth, const T* a, std::int64_t a_row, std::int64_t a_step, const T* panels,
                          std::int64_t panel_stride, T* c, std::int64_t c_panel) {
    using V = Vec<T>;
    constexpr int N = panel_vectors<T>;
    V sum[M][Q * N];
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
        for (int j = 0; j < Q * N; ++j)
            sum[i][j] = Add ? load<V>(c + (j / N) * c_panel + i * panel<T> + (j % N) * lanes<T>) : V{};
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < depth; ++k)
        multiply_add<T, M, Q>(sum, a + k * a_step, a_row, panels + k * panel<T>, panel_stride);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 16
        for (int j = 0; j < Q * N; ++j)
            store(c + (j / N) * c_panel + i * panel<T> + (j % N) * lanes<T>, sum[i][j]);
}

// As `tile`, with the number of rows, at most tile_rows, known only at run time.
template <class T, int Q, bool Add, int M = tile_rows>
void any_tile(int rows, std::int64_t depth, const T* a, std::int64_t a_row, std::int64_t a_step, const T* panels,
              std::int64_t panel_stride, T* c, std::int64_t c_panel) {
    if constexpr (M > 0) {
        if (rows == M)
            tile<T, M, Q, Add>(depth, a, a_row, a_step, panels, panel_stride, c, c_panel);
        else
            any_tile<T, Q, Add, M - 1>(rows, depth, a, a_row, a_step, panels, panel_stride, c, c_panel);
    }
}

// Rows of the next tile: all it can hold, as long as four or more are left for the last one, whose chains
// of multiply-adds would wait for themselves.
constexpr std::int64_t tile_height(std::int64_t left) {
    if (left <= tile_rows) return left;
    return left >= tile_rows + 4 ? tile_rows : (left + 1) / 2;
}

// All rows of Q neighbouring panels.
template <class T, int Q, bool Add>
void column_of_tiles(std::int64_t rows, std::int64_t depth, const T* a, std::int64_t a_row, const T* panels, T* c) {
    for (std::int64_t first = 0; first < rows;) {
        const std::int64_t height = tile_height(rows - first);
        any_tile<T, Q, Add>(static_cast<int>(height), depth, a + first * a_row, a_row, 1, panels, depth * panel<T>,
                            c + first * panel<T>, rows * panel<T>);
        first += height;
    }
}

// Columns of tiles of two or three rows, Q panels wide.
template <class T, int M, int Q, bool Add>
void wide_tiles(std::int64_t depth, const T* a, std::int64_t a_row, const T* panels, std::int64_t count, T* c,
                std::int64_t& p) {
    const std::int64_t stride = depth * panel<T>, c_panel = M * panel<T>;
    for (; p + Q <= count; p += Q)
        tile<T, M, Q, Add>(depth, a, a_row, 1, panels + p * stride, stride, c + p * c_panel, c_panel);
}

constexpr std::int64_t near_bytes = 40 << 10;  // of weights that are still in the nearest cache after their use

// One row times `count` panels, in tiles of eight vectors, as many chains as keep two multipliers busy, visited from
// the last to the first if `turned`. A recurrence that turns at every step begins with what it used last. Where half a
// tile is all that the cache can hold, it ends with two halves: the next step's first tile finds one of them there, and
// works on it while the other one comes.
template <class T, bool Add>
void row_product(std::int64_t depth, const T* a, const T* panels, std::int64_t count, T* c, bool turned) {
    constexpr int N = panel_vectors<T>;
    const std::int64_t stride = depth * panel<T>, vector_bytes = depth * NOISYRNN_VECTOR_BYTES;
    const bool halved = 4 * vector_bytes <= near_bytes && near_bytes < 8 * vector_bytes;
    std::int64_t left = count;
    const auto tiles = [&](auto width, std::int64_t more) {
        constexpr int Q = decltype(width)::value;
        for (; left >= Q + more; left -= Q) {
            const std::int64_t p = turned ? left - Q : count - left;
            tile<T, 1, Q, Add>(depth, a, 0, 1, panels + p * stride, stride, c + p * panel<T>, panel<T>);
        }
    };
    tiles(std::integral_constant<int, 8 / N>{}, halved ? 1 : 0);
    tiles(std::integral_constant<int, 4 / N>{}, 0);
    tiles(std::integral_constant<int, 2 / N>{}, 0);
    tiles(std::integral_constant<int, 1>{}, 0);
}

// c[panel][rows][columns of a panel] (+)= a (rows x depth) times `count` panels. Few rows take several panels at a
// time, because a chain of multiply-adds alone would wait for itself. One row may begin with the last panels: `turned`.
template <class T, bool Add>
void product(std::int64_t rows, std::int64_t depth, const T* a, std::int64_t a_row, const T* panels,
             std::int64_t count, T* c, bool turned = false) {
    constexpr int N = panel_vectors<T>;
    const std::int64_t stride = depth * panel<T>, c_panel = rows * panel<T>;
    std::int64_t p = 0;
    if (rows == 1) {
        return row_product<T, Add>(depth, a, panels, count, c, turned);
    } else if (rows == 2) {
        wide_tiles<T, 2, 4 / N, Add>(depth, a, a_row, panels, count, c, p);
    } else if (rows == 3) {
        wide_tiles<T, 3, 4 / N, Add>(depth, a, a_row, panels, count, c, p);
    } else if constexpr (tile_panels<T> > 1) {
        for (; p + tile_panels<T> <= count; p += tile_panels<T>)
            column_of_tiles<T, tile_panels<T>, Add>(rows, depth, a, a_row, panels + p * stride, c + p * c_panel);
    }
    for (; p < count; ++p) column_of_tiles<T, 1, Add>(rows, depth, a, a_row, panels + p * stride, c + p * c_panel);
}

// Blocks multiplied together: where rows are few, and where a tile is wider than a block.
constexpr std::int64_t blocks_at_once = 8, few_rows = 4;
template <class T>
constexpr std::int64_t blocks_together(std::int64_t rows) {
    return rows < few_rows ? blocks_at_once : tile_panels<T>;
}

// Calls f(first, count) for the groups of `at_once` blocks, beginning with the last if `turned`.
template <class F>
NOISYRNN_INLINE void groups_of_blocks(std::int64_t blocks, std::int64_t at_once, bool turned, F&& f) {
    const std::int64_t last = (blocks - 1) / at_once * at_once;
    for (std::int64_t i = 0; i <= last; i += at_once) {
        const std::int64_t first = turned ? last - i : i;
        f(first, blocks - first < at_once ? blocks - first : at_once);
    }
}

// Place of row r, vector l of part q in the products of a block.
template <class T>
NOISYRNN_INLINE std::int64_t product_at(std::int64_t rows, int q, std::int64_t r, int l) {
    constexpr int in_panel = panel_vectors<T>;
    return ((q * panels_in_block<T> + l / in_panel) * rows + r) * panel<T> + (l % in_panel) * lanes<T>;
}

// Adds part q of the products of block b to padded rows.
template <class T>
void add_product(T* to, std::int64_t width, std::int64_t b, const T* c, int q, std::int64_t rows) {
    for (std::int64_t r = 0; r < rows; ++r)
        for (int l = 0; l < block / lanes<T>; ++l) {
            T* at = to + r * width + b * block + l * lanes<T>;
            store(at, load<Vec<T>>(at) + load<Vec<T>>(c + product_at<T>(rows, q, r, l)));
        }
}

// Sum over steps of G^T H for one slice: factors are collected for a number of steps, then multiplied at once.
//
// G rows (width) are written in place by the caller and serve as operand of the backward product as well; H rows are
// copied into panels. The sum is kept as [panel of H][row of G][column].
template <class T>
class OuterSum {
public:
    OuterSum() = default;
    OuterSum(std::int64_t most_rows, std::int64_t g_width, std::int64_t h_width)
        : depth_(2 * most_rows > depth_aim ? 2 * most_rows : depth_aim),
          g_width_(g_width),
          // A row length that is no power of two keeps rows out of each other's cache sets.
          g_row_(g_width + block),
          h_panels_(h_width / panel<T>),
          g_(depth_ * g_row_),
          h_(depth_ * h_width) {}

    static std::int64_t size(std::int64_t g_width, std::int64_t h_width) { return g_width * h_width; }

    // A new slice; without a place for the sum only G is kept, for the backward product.
    void begin(std::int64_t rows, T* sum) {
        rows_ = rows;
        slots_ = depth_ / rows;
        slot_ = 0;
        sum_ = sum;
        if (sum_ != nullptr) clear(sum_, size(g_width_, h_panels_ * panel<T>));
    }

    // Factors of the step at hand: row i of G is at g() + i * g_row(). Those of the step before it in the order of
    // work stay readable meanwhile: there are always two places at least.
    T* g() const { return g_.data() + slot_ * rows_ * g_row_; }
    std::int64_t g_row() const { return g_row_; }

    // `units` columns of H of the step at hand, from column `first` (a multiple of the block) on.
    void put_h(const T* h, std::int64_t h_row, std::int64_t units, std::int64_t first = 0) {
        if (sum_ == nullptr) return;
        for (std::int64_t j = 0; j < padded(units); j += panel<T>) {
            T* to = h_.data() + ((first + j) / panel<T> * depth_ + slot_ * rows_) * panel<T>;
            if (j + panel<T> <= units)
                for (std::int64_t i = 0; i < rows_; ++i)
                    for (int l = 0; l < panel<T>; l += lanes<T>)
                        store(to + i * panel<T> + l, load<Vec<T>>(h + i * h_row + j + l));
            else
                for (std::int64_t i = 0; i < rows_; ++i)
                    for (int l = 0; l < panel<T>; ++l)
                        to[i * panel<T> + l] = j + l < units ? h[i * h_row + j + l] : T(0);
        }
    }

    // The step at hand is complete.
    void next_step() {
        if (++slot_ == slots_) flush();
    }

    void flush() {
        constexpr int Q = tile_panels<T>;
        std::int64_t p = 0;
        for (; p + Q <= h_panels_ && sum_ != nullptr; p += Q) add_products<Q>(p);
        for (; p < h_panels_ && sum_ != nullptr; ++p) add_products<1>(p);
        slot_ = 0;
    }

private:
    template <int Q>
    void add_products(std::int64_t p) {
        for (std::int64_t i = 0; i < g_width_; i += tile_rows) {
            const std::int64_t height = g_width_ - i < tile_rows ? g_width_ - i : tile_rows;
            any_tile<T, Q, true>(static_cast<int>(height), slot_ * rows_, g_.data() + i, 1, g_row_,
                                 h_.data() + p * depth_ * panel<T>, depth_ * panel<T>,
                                 sum_ + (p * g_width_ + i) * panel<T>, g_width_ * panel<T>);
        }
    }

    static constexpr std::int64_t depth_aim = 128;

    std::int64_t depth_ = 0, g_width_ = 0, g_row_ = 0, h_panels_ = 0;
    std::int64_t rows_ = 0, slots_ = 0, slot_ = 0;
    Array<T> g_, h_;
    T* sum_ = nullptr;
};

// Element (i, j) of a sum kept by OuterSum, added up over slices in their order.
template <class T>
T summed(const T* sums, std::int64_t slices, std::int64_t slice_stride, std::int64_t g_width, std::int64_t i,
         std::int64_t j) {
    const std::int64_t at = (j / panel<T> * g_width + i) * panel<T> + j % panel<T>;
    T sum = 0;
    for (std::int64_t s = 0; s < slices; ++s) sum += sums[s * slice_stride + at];
    return sum;
}

}  // namespace NOISYRNN_ISA
}  // namespace noisyrnn
