// Memory of the operating system: pages of this process, and files whose pages are memory.
#pragma once

#include "base/os/descriptor.hpp"
#include "base/os/process.hpp"

#include <lode/base/api.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE::os {

/// Maps zeros, which take memory only where they are written: at `at`, in the place of what is
/// there, or anywhere. nullptr if the system refuses.
[[nodiscard]] void* map_zeros(std::size_t bytes, void* at = nullptr) noexcept;
/// The same with part of a file, whose pages all its mappings share.
[[nodiscard]] void* map_file(int file, std::uint64_t offset, std::size_t bytes,
                             void* at = nullptr) noexcept;
void unmap(void* at, std::size_t bytes) noexcept;
/// Gives whole pages of map_zeros() back to the system: they read as zeros. False if it refuses.
bool discard_pages(void* at, std::size_t bytes) noexcept;
/// The same for part of a file.
[[nodiscard]] bool discard_part(int file, std::uint64_t offset, std::size_t bytes) noexcept;
/// Keeps pages out of core dumps, for which the kernel would fill the holes of a file.
void leave_out_of_dumps(void* at, std::size_t bytes) noexcept;
/// Whether the process has memory at all of these addresses.
[[nodiscard]] bool has_memory(const void* at, std::size_t bytes) noexcept;
/// Whether all of it can be read and, if `writes`, written; true if the system doesn't tell.
[[nodiscard]] bool may_access(const void* at, std::size_t bytes, bool writes);

/// Makes a file of zeros in memory, in no folder. The system lists it under `label`. Invalid if the
/// system refuses, or if files of this size aren't allowed.
[[nodiscard]] Descriptor make_memory_file(const char* label, std::uint64_t bytes) noexcept;
/// The label of a memory file; empty for other files. Opens nothing: that could block or have
/// effects.
[[nodiscard]] std::string label_of_memory_file(int file);
/// Opens, for reading and writing, a memory file that a process of this user has open. Invalid if
/// it has closed the file or has another one under this number.
[[nodiscard]] Descriptor open_memory_file(ProcessId process, int file, std::string_view label);

/// Waits while a word that processes share has the value that was seen; at most 100 ms.
void wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept;
/// Wakes every waiter in every process.
void wake_waiters(const std::atomic<std::uint32_t>& word) noexcept;

}  // namespace LODE_NAMESPACE::os
