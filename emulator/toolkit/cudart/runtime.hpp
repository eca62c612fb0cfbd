// What all functions of the runtime API share: the thread's device and context, its last error, and
// calls of the driver.
#pragma once

// Declares the entry points of both APIs; LODE_PER_THREAD_STREAM compiles a source a second time,
// for the functions that a program with --default-stream per-thread calls.
#ifdef LODE_PER_THREAD_STREAM
// NOLINTNEXTLINE(readability-identifier-naming): the headers read it.
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#endif
// The programs' version of CUDA, of which the headers may be the next one.
#if LODE_CUDA_MAJOR == 12
#include "emulator/toolkit/cudart/version12.hpp"
#endif
#include <bit>
#include <cstddef>
#include <cstring>
#include <exception>
#include <type_traits>

#include <cuda.h>
#include <cuda_runtime_api.h>

/// Begins the definition of a function of the runtime API, which cuda_runtime_api.h declares.
#define LODE_RUNTIME extern "C" cudaError_t CUDARTAPI

/// Declares a function under another symbol than its name, for those that the headers declare
/// otherwise.
#define LODE_SYMBOL(name) __asm__(name)

namespace lode::emulator::cudart {

/// The version that the library reports.
constexpr int runtime_version = LODE_CUDA_MAJOR == 12 ? 12090 : CUDART_VERSION;

/// The runtime API's errors are numbered as the driver's.
constexpr cudaError_t error_of(CUresult result) noexcept {
    return static_cast<cudaError_t>(result);
}

/// Keeps an error as the thread's last one; returns it.
cudaError_t remember(cudaError_t error) noexcept;
inline cudaError_t remember(CUresult result) noexcept {
    return remember(error_of(result));
}
/// The thread's last error; `clear` resets it.
cudaError_t last_error(bool clear) noexcept;

/// Initialises the driver, once.
CUresult initialise() noexcept;
/// Makes the primary context of the thread's device current, unless the thread has a context.
CUresult open_context() noexcept;
/// The number of devices; 0 with an error.
CUresult count_devices(int& count) noexcept;
/// CUDA_ERROR_INVALID_DEVICE unless there is such a device.
CUresult check_device(int device) noexcept;
/// The device of the current context; the device that the thread has chosen if there is none.
int current_device() noexcept;
/// Chooses the thread's device and makes its primary context current.
CUresult choose_device(int device) noexcept;
/// The primary context of a device.
CUresult primary_context(int device, CUcontext& context) noexcept;
/// Destroys everything in the primary context of the thread's device.
CUresult reset_device() noexcept;
/// An attribute of a device; 0 if it can't be read.
int attribute(CUdevice_attribute which, int device) noexcept;

/// A parameter of the runtime API as that of the driver: handles, structures of the same layout,
/// addresses, enumerators of the same value.
template <class To, class From>
To as(From value) noexcept {
    if constexpr (std::is_pointer_v<To> && std::is_pointer_v<From>) {
        if constexpr (std::is_function_v<std::remove_pointer_t<From>>) {
            return reinterpret_cast<To>(value);
        } else {
            return static_cast<To>(const_cast<void*>(static_cast<const void*>(value)));
        }
    } else if constexpr (std::is_pointer_v<From> || std::is_pointer_v<To>) {
        return reinterpret_cast<To>(value);
    } else if constexpr (std::is_class_v<From>) {
        static_assert(sizeof(To) == sizeof(From));
        return std::bit_cast<To>(value);
    } else {
        return static_cast<To>(value);
    }
}

/// The size of a structure as the programs know it. CUDA 13 has made some longer.
template <class T>
constexpr std::size_t program_bytes = sizeof(T);
#if LODE_CUDA_MAJOR == 12
template <>
inline constexpr std::size_t program_bytes<cudaPointerAttributes> = 24;
template <>
inline constexpr std::size_t program_bytes<cudaResourceDesc> = 64;
template <>
inline constexpr std::size_t program_bytes<cudaResourceViewDesc> = 48;
#endif

/// A program's structure; the fields that it doesn't know are 0.
template <class T>
T from_program(const T* given) noexcept {
    T value{};
    std::memcpy(&value, given, program_bytes<T>);
    return value;
}

/// Copies the fields that the program knows to its structure.
template <class T>
void to_program(T* target, const T& value) noexcept {
    std::memcpy(target, &value, program_bytes<T>);
}

/// An address on the device.
inline CUdeviceptr address(const void* pointer) noexcept {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

/// Calls a function of the driver that has the same parameters.
template <class... To, class... From>
cudaError_t forward(CUresult (*function)(To...), From... values) noexcept {
    static_assert(sizeof...(To) == sizeof...(From));
    if (const CUresult state = open_context(); state != CUDA_SUCCESS) return remember(state);
    return remember(function(as<To>(values)...));
}

/// Runs the body of a function that needs a context: CUresult or cudaError_t body(). No exception
/// leaves the library.
template <class Body>
cudaError_t run(Body&& body) noexcept {
    if (const CUresult state = open_context(); state != CUDA_SUCCESS) return remember(state);
    try {
        return remember(body());
    } catch (const std::exception&) {
        return remember(cudaErrorMemoryAllocation);
    }
}

}  // namespace lode::emulator::cudart
