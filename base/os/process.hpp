// This process, and the machine that it runs on.
#pragma once

#include <lode/base/api.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::os {

using ProcessId = int;
[[nodiscard]] ProcessId process_id() noexcept;
/// Whether a process of this machine is running.
[[nodiscard]] bool is_running(ProcessId process) noexcept;

/// Calls `in_child` in each child that fork() makes from now on.
void after_fork(void (*in_child)()) noexcept;

/// The environment, as "NAME=value".
[[nodiscard]] std::vector<std::string> environment_lines();

/// The program's file; empty if it can't be determined.
[[nodiscard]] std::filesystem::path executable_path();

/// In bytes; 0 if the system doesn't know it.
[[nodiscard]] std::uint64_t page_size() noexcept;
[[nodiscard]] std::uint64_t free_memory() noexcept;
[[nodiscard]] std::uint64_t all_memory() noexcept;

/// Identifies the start of the system; empty if it isn't known.
[[nodiscard]] std::string boot_id();

}  // namespace LODE_NAMESPACE::os
