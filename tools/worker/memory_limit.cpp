#include "tools/worker/memory_limit.hpp"

#include "jit/request/bytes.hpp"
#include "jit/worker/channel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace LODE_NAMESPACE::worker {

/// An answer that was made while there was memory.
struct LastAnswer {
    Sender sender;
    int socket;
};

namespace {

constinit std::atomic<LastAnswer*> last_answer = nullptr;

/// What an allocation has led to. A sanitizer has allocations of its own.
[[maybe_unused]] void* checked(void* memory) noexcept {
    if (memory != nullptr) return memory;
    if (LastAnswer* const last = last_answer.exchange(nullptr)) {
        (void)completes(last->sender, last->socket);
        ::_exit(0);
    }
    return nullptr;
}

/// Private memory isn't all that a process can map: address space for what it only reads, for the
/// heaps of threads and for precompiled headers. This is enough for them, and little enough for the
/// kernel's tables of it.
constexpr std::uint64_t reserve = std::uint64_t{4} << 30;

struct KernelLimit {
    __rlimit_resource resource;
    int protection;         ///< Protection of the memory that counts.
    std::uint64_t reserve;  ///< Bytes beyond what a request may take.
};
constexpr std::array<KernelLimit, 2> kernel_limits = {
    {{RLIMIT_DATA, PROT_READ | PROT_WRITE, 0}, {RLIMIT_AS, PROT_NONE, reserve}}};

bool change(const KernelLimit& limit, const rlimit& wanted) noexcept {
    return ::prlimit(0, limit.resource, &wanted, nullptr) == 0;
}

/// Whether the kernel gives a page more under a soft limit.
bool gives(const KernelLimit& limit, const rlimit& trial, std::size_t page) noexcept {
    if (!change(limit, trial)) return true;
    void* const memory =
        ::mmap(nullptr, page, limit.protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    ::munmap(memory, page);
    return true;
}

/// What this process has of the memory that counts, in bytes: found by trying soft limits, because
/// /proc may not be there. nullopt if the kernel doesn't enforce this limit.
std::optional<rlim_t> used(const KernelLimit& limit, rlim_t hard) noexcept {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    rlim_t refused = page;  // Linux takes 0 as no limit.
    rlim_t given = std::min(hard, rlim_t{1} << 47);
    if (gives(limit, {refused, hard}, page)) return std::nullopt;
    while (given - refused > page) {
        const rlim_t middle = refused + (given - refused) / 2;
        (gives(limit, {middle, hard}, page) ? given : refused) = middle;
    }
    return given;
}

/// Whether the kernel gives no more than `bytes` and the reserve from now on.
bool enforce(const KernelLimit& limit, rlim_t hard, std::uint64_t bytes, bool for_good) noexcept {
    const auto now = used(limit, hard);
    if (!now) return false;
    const auto after = [hard](rlim_t start, rlim_t more) {
        return start + std::min(more, hard - std::min(start, hard));
    };
    const rlim_t most = after(after(*now, bytes), limit.reserve);
    return change(limit, {most, for_good ? most : hard});
}

}  // namespace

Result<MemoryLimit> MemoryLimit::set(const Request& request, int socket, bool for_good) {
    MemoryLimit made;
    if (request.compilation.limits.memory_bytes == 0) return made;
    for (const auto& limit : kernel_limits) {
        rlimit& before = made.before_.emplace_back();
        if (::prlimit(0, limit.resource, nullptr, &before) == 0 &&
            enforce(limit, before.rlim_max, request.compilation.limits.memory_bytes, for_good))
            continue;
        if (!request.is_measured) {
            return fail(Errc::not_supported,
                        fmt::format("The memory for compiling '{}' can't be limited here: the "
                                    "system enforces no limits of memory, and /proc doesn't say "
                                    "what a process has.",
                                    request.compilation.source.name()));
        }
    }
    if (for_good) made.before_.clear();
    made.last_answer_ = std::make_unique<LastAnswer>(
        LastAnswer{Sender(format_answer({fail_memory_limit(request)})), socket});
    last_answer = made.last_answer_.get();
    return made;
}

MemoryLimit::~MemoryLimit() {
    if (last_answer_ != nullptr) last_answer = nullptr;
    for (std::size_t i = 0; i < before_.size(); ++i)
        (void)change(kernel_limits[i], before_[i]);
}

MemoryLimit::MemoryLimit() noexcept = default;
MemoryLimit::MemoryLimit(MemoryLimit&&) noexcept = default;

}  // namespace LODE_NAMESPACE::worker

// With a sanitizer, its own functions are needed; allocations that fail then end the process as it
// chooses.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the C library's names.
extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t nmemb, std::size_t size);
void* __libc_realloc(void* ptr, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
    return lode::worker::checked(__libc_malloc(size));
}
void* calloc(std::size_t nmemb, std::size_t size) noexcept {
    return lode::worker::checked(__libc_calloc(nmemb, size));
}
void* realloc(void* ptr, std::size_t size) noexcept {
    void* const moved = __libc_realloc(ptr, size);
    return size == 0 ? moved : lode::worker::checked(moved);
}
int posix_memalign(void** memptr, std::size_t alignment, std::size_t size) noexcept {
    *memptr = lode::worker::checked(__libc_memalign(alignment, size));
    return *memptr == nullptr ? ENOMEM : 0;
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

#endif
