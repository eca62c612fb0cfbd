#include "base/os/memory.hpp"

#include "base/os/process.hpp"

#include <climits>
#include <ctime>

#include <fcntl.h>
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

Descriptor make_memory_file(const char* label, std::uint64_t bytes) noexcept {
    // A longer file than this limit allows would end the process with a signal.
    rlimit longest{};
    if (::getrlimit(RLIMIT_FSIZE, &longest) != 0 || longest.rlim_cur < bytes) return {};
    Descriptor file(::memfd_create(label, MFD_CLOEXEC));
    if (file && ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return {};
    return file;
}

void wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept {
    constexpr timespec longest{0, 100'000'000};
    futex(word, FUTEX_WAIT, seen, &longest);
}

void wake_waiters(const std::atomic<std::uint32_t>& word) noexcept {
    futex(word, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace LODE_NAMESPACE::os
