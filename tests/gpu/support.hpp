// The machine's devices, and its driver's raw entry points to check lode against.
#pragma once

#include "tests/support/result.hpp"

#include <lode/lode.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

#include <cuda.h>
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <doctest/doctest.h>

namespace lode::test {

/// The machine's runtime, opened once; an error if there is no driver.
inline const Result<Runtime>& machine() {
    static const Result<Runtime> runtime = Runtime::open();
    return runtime;
}

inline Result<Device> find_device(int ordinal) {
    if (!machine()) return tl::unexpected<Error>(machine().error());
    return machine()->device(ordinal);
}

/// An entry point of the current driver, by its exported name.
template <class Function>
Function raw(const char* name) {
    void* const library =
        ::dlopen(machine().value().driver().origin().c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const symbol = library != nullptr ? ::dlsym(library, name) : nullptr;
    if (symbol == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
    return reinterpret_cast<Function>(symbol);
}

/// Compiles and loads the kernel "k" of a source, with its signature checked.
template <class Signature>
Kernel<Signature> load(const Device& device, std::string source,
                       const KernelOptions& options = {}) {
    return require(
        device.load<Signature>(Source::text(std::move(source), "test.cu"), "k", options));
}

}  // namespace lode::test

/// Ends the test case, with the reason, if the machine has no such device.
#define LODE_NEEDS_DEVICE(device, ordinal)                                    \
    const auto device##_found = ::lode::test::find_device(ordinal);           \
    if (!device##_found) {                                                    \
        std::printf("skipped: %s\n", device##_found.error().message.c_str()); \
        return;                                                               \
    }                                                                         \
    [[maybe_unused]] const ::lode::Device& device = *device##_found

/// Ends the test case, with the reason, if a condition isn't met.
#define LODE_NEEDS(condition, reason)           \
    if (!(condition)) {                         \
        std::printf("skipped: %s\n", (reason)); \
        return;                                 \
    }                                           \
    static_assert(true)
