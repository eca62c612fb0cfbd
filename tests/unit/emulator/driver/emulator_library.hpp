// The emulator as a program meets it: opened with dlopen, called through cuGetProcAddress_v2.
#pragma once

#include "emulator/driver/control.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cudaTypedefs.h>
#include <doctest/doctest.h>

namespace lode::emulator_test {

/// A symbol of the library; fails the test when it has none.
void* library_symbol(const char* name);

/// An entry point by name and version; fails the test when the driver hasn't it.
void* entry_point(const char* name, int version, cuuint64_t flags = 0);

template <class Function>
Function* control(const char* name) {
    return reinterpret_cast<Function*>(library_symbol(name));
}

/// A machine with these devices, as if the process had just started; cuInit has been called unless
/// `initialise` is false. The destructor resets again, so nothing outlives a test.
class Machine {
public:
    explicit Machine(const char* devices = "sm_90", bool initialise = true);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// Lines of the emulator's log so far.
    [[nodiscard]] std::string log() const;
    [[nodiscard]] long live(lode_emulator_kind kind) const;
    /// The report of the last fault, forgotten.
    [[nodiscard]] std::string take_report() const;

private:
    std::string log_;
};

/// A primary context that is current for a while.
class Current {
public:
    explicit Current(CUdevice device = 0);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    [[nodiscard]] CUcontext native() const noexcept { return context_; }

private:
    CUdevice device_;
    CUcontext context_ = nullptr;
};

/// PTX of one kernel, store(u64 to, u32 value), and a variable "table" of 64 bytes.
extern const char* const store_ptx;

/// PTX of a kernel with the parameters of a packing example: int, float4, char, float, pointer,
/// float2.
extern const char* const packing_ptx;

}  // namespace lode::emulator_test

/// Calls an entry point: CU(cuMemAlloc, 3020)(&address, 16).
#define CU(name, version) \
    (reinterpret_cast<PFN_##name##_v##version>(::lode::emulator_test::entry_point(#name, version)))
