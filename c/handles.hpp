// The objects that handles refer to, and what every function of the C interface does: check its
// pointers, catch exceptions, keep the thread's last error.
#pragma once

#include "base/try.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/lode.h>
#include <lode/runtime/device.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/library.hpp>
#include <lode/runtime/memory.hpp>
#include <lode/runtime/runtime.hpp>
#include <lode/runtime/stream.hpp>

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

struct lode_runtime {
    lode::Runtime runtime;
};
struct lode_device {
    lode::Device device;
};
struct lode_image {
    std::shared_ptr<const lode::Image> image;
    std::string arch;
};
struct lode_library {
    lode::Library library;
    lode::Device device;
};
struct lode_kernel {
    lode::UntypedKernel kernel;
    lode::Device device;
    /// Unset if neither the driver nor the PTX lists them.
    std::optional<std::vector<lode::ParameterSlot>> parameters;
};
struct lode_buffer {
    lode::DeviceBuffer<std::byte> memory;
};
struct lode_stream {
    lode::Device device;
    lode::Stream owned;  ///< Empty if the stream is the caller's.
    lode::StreamRef stream;
};
struct lode_event {
    lode::Event event;
};

namespace LODE_NAMESPACE::c {

/// Keeps an error as the thread's last one. Returns its status.
lode_status keep(Error error) noexcept;
/// The same if the memory for an error is exhausted.
lode_status keep_out_of_memory() noexcept;

/// Runs `work`, which returns a Status, as the body of a function.
template <class Work>
lode_status guarded(const Work& work) noexcept {
    try {
        Status done = work();
        return done ? LODE_OK : keep(std::move(done).error());
    } catch (const std::bad_alloc&) {
        return keep_out_of_memory();
    } catch (const std::exception& exception) {
        return keep(Error{Errc::driver_failed, exception.what()});
    } catch (...) {
        return keep(Error{Errc::driver_failed, "An exception of an unknown type was thrown."});
    }
}

/// invalid_argument, naming the first parameter that is NULL.
[[nodiscard]] Status require(std::initializer_list<std::pair<const char*, const void*>> parameters);

/// invalid_argument unless a structure's size is at least that of its first member and everything
/// beyond `known` bytes is zero.
[[nodiscard]] Status check_size(const char* type, const void* given, std::size_t size,
                                std::size_t known);

/// A structure as this library knows it: what the caller's lacks is zero; all of it for NULL.
template <class T>
[[nodiscard]] Result<T> read_struct(const char* type, const T* given) {
    static_assert(std::is_trivially_copyable_v<T>);
    T known{};
    if (given == nullptr) return known;
    std::size_t size = 0;
    std::memcpy(&size, given, sizeof size);
    LODE_TRY(check_size(type, given, size, sizeof(T)));
    std::memcpy(&known, given, size < sizeof(T) ? size : sizeof(T));
    return known;
}

lode_kernel* new_kernel(UntypedKernel kernel, Device device);

/// Writes as much of a structure as the caller's has.
template <class T>
[[nodiscard]] Status write_struct(const char* type, T values, T* to) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::size_t size = 0;
    std::memcpy(&size, to, sizeof size);
    LODE_TRY(check_size(type, nullptr, size, sizeof(T)));
    values.size = size;
    std::memcpy(to, &values, size < sizeof(T) ? size : sizeof(T));
    return {};
}

}  // namespace LODE_NAMESPACE::c
