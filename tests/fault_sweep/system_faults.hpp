// Makes system calls and allocations of one thread fail, and no others: not those of the processes
// that it starts.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>

namespace lode::test {

/// What fails: calls of one kind, from the first-th on, `count` in a row.
struct SystemFault {
    std::string_view kind;  ///< A row of fault_kinds, or "malloc".
    int error = 0;          ///< What the system call answers; an allocation gives nullptr.
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t count = 1;
};

/// What happened in a run.
struct FaultRun {
    bool is_possible = false;  ///< Whether the system lets a process intercept its own calls.
    std::uint64_t calls = 0;   ///< Calls of the kind, while faults were on.
    std::uint64_t failed = 0;  ///< How many of these failed.
};

/// Runs `work` in a new thread, and switches faults on and off as it says; they are off at first.
FaultRun run_with(
    const SystemFault& fault,
    const std::function<void(const std::function<void(bool is_on)>& set_faults)>& work);

}  // namespace lode::test
