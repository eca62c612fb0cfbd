#include "base/os/memory.hpp"

#include "base/os/file.hpp"

#include <cinttypes>
#include <climits>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace LODE_NAMESPACE::os {
namespace {

void* map_pages(void* at, std::size_t bytes, int flags, int file, std::uint64_t offset) noexcept {
    void* const mapped =
        ::mmap(at, bytes, PROT_READ | PROT_WRITE, flags | (at == nullptr ? 0 : MAP_FIXED), file,
               static_cast<off_t>(offset));
    return mapped == MAP_FAILED ? nullptr : mapped;
}

void futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) noexcept {
    ::syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

/// The label of the memory file that a link below /proc names; empty if it names another.
std::string label_at(const std::string& link) {
    constexpr std::string_view before = "/memfd:";
    constexpr std::string_view after = " (deleted)";
    std::error_code none;
    const auto target = std::filesystem::read_symlink(link, none).string();
    if (!target.starts_with(before) || !target.ends_with(after)) return {};
    return target.substr(before.size(), target.size() - before.size() - after.size());
}

}  // namespace

void* map_zeros(std::size_t bytes, void* at) noexcept {
    return map_pages(at, bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void* map_file(int file, std::uint64_t offset, std::size_t bytes, void* at) noexcept {
    return map_pages(at, bytes, MAP_SHARED, file, offset);
}

void unmap(void* at, std::size_t bytes) noexcept {
    ::munmap(at, bytes);
}

bool discard_pages(void* at, std::size_t bytes) noexcept {
    return ::madvise(at, bytes, MADV_DONTNEED) == 0;
}

bool discard_part(int file, std::uint64_t offset, std::size_t bytes) noexcept {
    // Not by MADV_REMOVE, which QEMU's user mode answers with success without doing it.
    return ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(bytes)) == 0;
}

void leave_out_of_dumps(void* at, std::size_t bytes) noexcept {
    ::madvise(at, bytes, MADV_DONTDUMP);
}

bool has_memory(const void* at, std::size_t bytes) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    std::uintptr_t end = 0;
    if (__builtin_add_overflow(address, bytes, &end)) return false;
    const std::uintptr_t first = address / page_size() * page_size();
    return ::msync(reinterpret_cast<void*>(first), end - first, MS_ASYNC) == 0;
}

bool may_access(const void* at, std::size_t bytes, bool writes) {
    auto next = reinterpret_cast<std::uintptr_t>(at);
    std::uintptr_t end = 0;
    if (__builtin_add_overflow(next, bytes, &end)) return false;
    std::ifstream maps("/proc/self/maps");
    if (!maps) return true;
    for (std::string line; next < end && std::getline(maps, line);) {
        std::uintptr_t from = 0;
        std::uintptr_t to = 0;
        char read = 0;
        char write = 0;
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %c%c", &from, &to, &read,
                        &write) != 4 ||
            to <= next)
            continue;
        if (from > next || read != 'r' || (writes && write != 'w')) return false;
        next = to;
    }
    return next >= end;
}

Descriptor make_memory_file(const char* label, std::uint64_t bytes) noexcept {
    // A longer file than this limit allows would end the process with a signal.
    rlimit longest{};
    if (::getrlimit(RLIMIT_FSIZE, &longest) != 0 || longest.rlim_cur < bytes) return {};
    Descriptor file(::memfd_create(label, MFD_CLOEXEC));
    if (file && ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return {};
    return file;
}

std::string label_of_memory_file(int file) {
    return label_at(path_of(file));
}

Descriptor open_memory_file(ProcessId process, int file, std::string_view label) {
    const auto link = fmt::format("/proc/{}/fd/{}", process, file);
    if (label_at(link) != label) return {};
    Descriptor opened = open_file(link, Open::updating);
    // Between the two calls the process may have put another file there.
    return opened && label_of_memory_file(opened.get()) == label ? std::move(opened) : Descriptor();
}

void wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept {
    constexpr timespec longest{0, 100'000'000};
    futex(word, FUTEX_WAIT, seen, &longest);
}

void wake_waiters(const std::atomic<std::uint32_t>& word) noexcept {
    futex(word, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace LODE_NAMESPACE::os
