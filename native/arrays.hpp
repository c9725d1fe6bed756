// Arrays from Python: each is checked once, and from then on it is a plain pointer.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace noisyrnn {

namespace nb = nanobind;

using Array = nb::ndarray<>;
using Maybe = std::optional<Array>;
using Shape = std::vector<std::int64_t>;

inline std::string text(const Shape& shape) {
    std::string out = "(";
    for (std::size_t i = 0; i < shape.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return out + ")";
}

[[noreturn]] inline void refuse(const std::string& sentence) { throw nb::value_error(sentence.c_str()); }

inline Shape shape_of(const Array& array) {
    Shape shape;
    for (std::size_t i = 0; i < array.ndim(); ++i) shape.push_back(static_cast<std::int64_t>(array.shape(i)));
    return shape;
}

// The array's address, after checking that a kernel may read or write it as contiguous numbers of type T.
template <class T>
T* checked(const Array& array, const char* name, const Shape& shape) {
    using Plain = std::remove_const_t<T>;
    const std::string who = std::string("The array ") + name;
    if (array.device_type() != nb::device::cpu::value) refuse(who + " must be in the memory of the CPU.");
    if (array.dtype() != nb::dtype<Plain>())
        refuse(who + " must have the type " +
               (std::is_same_v<Plain, float>    ? "float32"
                : std::is_same_v<Plain, double> ? "float64"
                : std::is_same_v<Plain, std::uint8_t> ? "uint8"
                                                : "int64") +
               " like the others of this call.");
    if (shape_of(array) != shape) refuse(who + " must have the shape " + text(shape) + ", not " + text(shape_of(array)) + ".");
    std::int64_t expected = 1;
    bool empty = false;  // an array of nothing may have any strides
    for (const std::int64_t extent : shape) empty = empty || extent == 0;
    for (std::size_t i = shape.size(); i-- > 0 && !empty;) {
        if (shape[i] > 1 && array.stride(i) != expected) refuse(who + " must be contiguous.");
        expected *= shape[i];
    }
    auto* data = static_cast<T*>(array.data());
    if (reinterpret_cast<std::uintptr_t>(data) % alignof(Plain) != 0)
        refuse(who + " must be aligned to the size of its numbers.");
    return data;
}

template <class T>
T* checked(const Maybe& array, const char* name, const Shape& shape) {
    return array.has_value() ? checked<T>(*array, name, shape) : nullptr;
}

// Sizes of an array that others are compared with; a wrong number of axes is refused here.
inline Shape sizes(const Array& array, const char* name, std::size_t axes) {
    if (array.ndim() != axes)
        refuse(std::string("The array ") + name + " must have " + std::to_string(axes) + " axes, not " +
               std::to_string(array.ndim()) + ".");
    return shape_of(array);
}

// Calls f with a value of the common number type, float or double.
template <class F>
void by_type(const Array& array, const char* name, F&& f) {
    if (array.dtype() == nb::dtype<float>())
        f(float{});
    else if (array.dtype() == nb::dtype<double>())
        f(double{});
    else
        refuse(std::string("The array ") + name + " must have the type float32 or float64.");
}

}  // namespace noisyrnn
