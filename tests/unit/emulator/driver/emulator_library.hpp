// The emulator as a program uses it: opened with dlopen, called through cuGetProcAddress_v2.
#pragma once

#include "base/cuda_additions.hpp"
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

/// A symbol of the library; fails the test if it doesn't exist.
void* library_symbol(const char* name);

/// An entry point by name and version; fails the test if it doesn't exist.
void* entry_point(const char* name, int version, cuuint64_t flags = 0);

template <class Function>
Function* control(const char* name) {
    return reinterpret_cast<Function*>(library_symbol(name));
}

/// A machine with these devices, as if the process had just started. Calls cuInit unless
/// `initialise` is false. The destructor resets the emulator, so that no state outlives a test.
class Machine {
public:
    explicit Machine(const char* devices = "sm_90", bool initialise = true);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// The emulator's log so far.
    [[nodiscard]] std::string log() const;
    [[nodiscard]] long live(lode_emulator_kind kind) const;
    /// Returns the report of the last fault and clears it.
    [[nodiscard]] std::string take_report() const;

private:
    std::string log_;
};

/// Retains a device's primary context and makes it current; the destructor undoes both.
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

/// Resets a device's retained primary context and opens it again.
void reset_and_reopen(CUdevice device = 0);

/// PTX of a kernel store(u64 to, u32 value) and a 64-byte variable "table".
extern const char* const store_ptx;

/// PTX of a kernel that tests parameter packing: int, float4, char, float, pointer, float2.
extern const char* const packing_ptx;

}  // namespace lode::emulator_test

/// Calls an entry point: CU(cuMemAlloc, 3020)(&address, 16).
#define CU(name, version) \
    (reinterpret_cast<PFN_##name##_v##version>(::lode::emulator_test::entry_point(#name, version)))
