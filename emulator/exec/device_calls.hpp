// DeviceCalls: what the threads of one grid have of CUDA's device runtime. Private to
// emulator/exec.
#pragma once

#include "emulator/exec/device_runtime.hpp"
#include "emulator/isa/op.hpp"
#include "emulator/memory/memory.hpp"

#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace lode::emulator::exec {

/// A buffer for a launch's parameters, which a thread fills.
struct ParameterBuffer {
    std::string_view kernel;  ///< Empty if the launch names it.
    GridShape shape;
    u64 bytes = 0;
};

/// Streams and events have no state: a grid's work runs in the order in which it was queued, which
/// is an order that all of them allow.
struct DeviceCalls {
    DeviceCalls() = default;
    ~DeviceCalls();
    DeviceCalls(const DeviceCalls&) = delete;
    DeviceCalls& operator=(const DeviceCalls&) = delete;

    /// Memory that lives as long as the grid; 0 if there is none.
    u64 allocate(Memory& memory, u64 bytes, std::string_view label, int owner);

    std::mutex mutex;                                  ///< Guards all members.
    std::unordered_map<u64, ParameterBuffer> buffers;  ///< By address.
    std::unordered_map<u64, DeviceError> last_errors;  ///< By thread in the grid, if there is one.
    std::unordered_set<u64> streams, events;
    std::unordered_map<std::string, u64> texts;  ///< Addresses of the texts of errors.
    u64 last_handle = 0x100;

private:
    Memory* memory_ = nullptr;
    std::vector<u64> allocations_;
};

}  // namespace lode::emulator::exec
