#include "jit/nvrtc/pch_heap.hpp"

#include "base/foreign_environment.hpp"
#include "jit/nvrtc/linux/import_table.hpp"

#include <algorithm>
#include <atomic>

#include <dlfcn.h>
#include <linux/mman.h>  // For glibc 2.27.
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>

namespace LODE_NAMESPACE {
namespace {

constexpr int first_major = 12;
constexpr int first_minor = 8;

/// In the middle of the address space, far from programs, libraries, stacks and sanitizers' tables.
constexpr std::uintptr_t heap_address = std::uintptr_t{0x5000'0000'0000};
/// Room for six header sets of CUB's size at once; only what is used becomes memory. The odd part
/// tells this mapping from NVRTC's others.
constexpr std::size_t heap_size = (std::size_t{1} << 30) + (std::size_t{64} << 10);

using Map = void*(void*, std::size_t, int, int, int, off_t);
constinit std::atomic<void*> next_mmap = nullptr;
constinit std::atomic<bool> is_elsewhere = false;
/// The NVRTC that has the address.
constinit std::atomic<const void*> owner = nullptr;

/// A limit of memory isn't meant for addresses that may never become memory.
void exempt_heap() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    limit.rlim_cur = std::min(limit.rlim_max, limit.rlim_cur + heap_size);
    (void)::setrlimit(RLIMIT_DATA, &limit);
}

void* hooked_mmap(void* address, std::size_t size, int protection, int flags, int file,
                  off_t offset) noexcept {
    void* const before = next_mmap.load(std::memory_order_acquire);
    Map* const next = before != nullptr ? reinterpret_cast<Map*>(before) : &::mmap;
    if (address == nullptr && size == heap_size && file == -1) {
        exempt_heap();
        // Somewhere else if the place is taken: NVRTC then refuses the files of other processes.
        void* const wanted = reinterpret_cast<void*>(heap_address);
        void* const got = next(wanted, size, protection,
                               flags | MAP_FIXED_NOREPLACE | MAP_NORESERVE, file, offset);
        if (got == wanted) return got;
        is_elsewhere.store(true, std::memory_order_relaxed);
        if (got != MAP_FAILED) return got;
    }
    return next(address, size, protection, flags, file, offset);
}

}  // namespace

bool has_fixed_addresses() noexcept {
    constexpr unsigned long ask = 0xffffffff;
    const int current = ::personality(ask);
    return current >= 0 && (static_cast<unsigned>(current) & ADDR_NO_RANDOMIZE) != 0;
}

std::optional<PchAddresses> place_pch_heap(const NvrtcLibrary& nvrtc) {
    if (!nvrtc.at_least(first_major, first_minor) || foreign_environment("NVRTC_DISABLE_PCH"))
        return std::nullopt;
    using SetSize = nvrtcResult(std::size_t);
    auto* const set_size = reinterpret_cast<SetSize*>(nvrtc.symbol("nvrtcSetPCHHeapSize"));
    if (set_size == nullptr) return std::nullopt;

    auto* const inside = reinterpret_cast<const void*>(nvrtc.table().nvrtcCompileProgram);
    const void* nobody = nullptr;
    if (!owner.compare_exchange_strong(nobody, inside) && nobody != inside) return std::nullopt;
    const ImportedFunction hook{"mmap", reinterpret_cast<void*>(&hooked_mmap), &next_mmap};
    const auto replaced = replace_imports(inside, {&hook, 1}, {});
    if (!replaced || replaced->empty() || set_size(heap_size) != NVRTC_SUCCESS) return std::nullopt;
    Dl_info info{};
    if (::dladdr(inside, &info) == 0) return std::nullopt;
    return PchAddresses{heap_address, heap_size, reinterpret_cast<std::uintptr_t>(info.dli_fbase)};
}

bool pch_heap_is_elsewhere() noexcept {
    return is_elsewhere.load(std::memory_order_relaxed);
}

}  // namespace LODE_NAMESPACE
