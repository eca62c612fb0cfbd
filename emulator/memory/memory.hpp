// Memory: the address space of the software devices and the map of their allocations.
#pragma once

#include "base/os/descriptor.hpp"
#include "emulator/memory/written_bytes.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator {

/// The kind of an allocation, for reports and for the driver's pointer attributes.
enum class MemoryKind : std::uint8_t {
    device,       ///< cuMemAlloc and similar calls.
    pinned,       ///< cuMemHostAlloc: host memory that every device can access.
    managed,      ///< cuMemAllocManaged.
    registered,   ///< Memory of the program, from cuMemHostRegister. Memory never frees it.
    module_data,  ///< All the variables of one loaded module.
    heap,         ///< malloc inside a kernel.
    mapped,       ///< Physical memory at a reserved address. Only unmap() removes it.
    imported,     ///< Part of a file, often another process's. Only remove_import() removes it.
};

[[nodiscard]] std::string_view to_string(MemoryKind kind) noexcept;

/// A copy of the record of one allocation, either living or freed and in quarantine. Owns nothing.
struct Allocation {
    std::uint64_t address = 0;
    std::size_t bytes = 0;  ///< As requested.
    MemoryKind kind = MemoryKind::device;
    int owner = 0;           ///< The caller's tag, such as the ordinal of a device or a context.
    bool freed = false;      ///< True in quarantine, where any access is a use after free.
    std::uint64_t serial;    ///< 1, 2, 3 … in the order of allocation.
    std::string label;       ///< For example "cuMemAlloc" or a module's name.
    std::uint64_t call = 0;  ///< The number of the driver call that made it; 0 if unknown.

    [[nodiscard]] std::uint64_t end() const noexcept { return address + bytes; }
};

/// For example "100-byte device allocation at 0x7f0000000000 (cuMemAlloc, driver call 12)".
[[nodiscard]] std::string describe(const Allocation& allocation);
/// For example "100 bytes of device memory at 0x7f0000000000 (cuMemAlloc, driver call 12)".
[[nodiscard]] std::string origin_text(const Allocation& allocation);
/// Whether an allocation has a gap around it, so that nothing right reaches one from another.
[[nodiscard]] bool is_apart(const Allocation& allocation) noexcept;
/// "1 byte" or "4 bytes".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

enum class FreeOutcome : std::uint8_t {
    freed,
    unknown,      ///< The address is in no allocation.
    interior,     ///< The address is inside an allocation, not its first byte.
    double_free,  ///< The allocation is already in quarantine.
    wrong_kind,   ///< Registered memory or module data, which free() doesn't accept.
};

/// The allocations at and around an address, for a report.
struct Location {
    std::optional<Allocation> inside;  ///< The allocation that contains it, living or freed.
    std::optional<Allocation> below;   ///< The nearest living one that ends at or below it.
    std::optional<Allocation> above;   ///< The nearest living one that starts above it.
    bool reserved = false;             ///< In a reserved range, where nothing is mapped.
};

/// One reserved range of host addresses. A device address is the host address of the same byte, so
/// copies are memcpy and a kernel's loads need no translation. Freed memory stays in quarantine,
/// with its pages given back to the system; its addresses are reused only when the quarantine is
/// full. The memory is that of a file without a name, which other processes can map. Thread-safe.
class Memory {
public:
    static constexpr std::size_t default_reservation = std::size_t{1} << 40;
    static constexpr std::size_t default_quarantine = std::size_t{1} << 32;
    /// Allocations' sizes and addresses are multiples of this, in bytes.
    static constexpr std::size_t alignment = 512;
    /// Allocations of more bytes begin at pages of 2 MiB, as an H200's do (driver 580.159.04).
    static constexpr std::size_t large = std::size_t{1} << 20;
    /// The alignment of the addresses of allocations of `bytes`.
    [[nodiscard]] static std::size_t alignment_of(std::size_t bytes) noexcept;

    explicit Memory(std::size_t reservation = default_reservation,
                    std::size_t quarantine = default_quarantine);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    /// Allocates a zero-filled range. Returns 0 when the arena is full or `bytes` is 0.
    [[nodiscard]] std::uint64_t allocate(std::size_t bytes, MemoryKind kind, std::string_view label,
                                         int owner = 0, std::uint64_t call = 0);
    FreeOutcome free(std::uint64_t address);
    /// Frees memory of any kind in the arena, including module data.
    FreeOutcome release(std::uint64_t address);

    /// Makes memory of the program accessible to kernels. False when it overlaps an allocation.
    bool register_host(void* address, std::size_t bytes, std::string_view label, int owner = 0,
                       std::uint64_t call = 0);
    /// False when `address` isn't the first byte of a registered range.
    bool unregister_host(void* address);

    /// Reserves addresses without memory; any access is an error. `bytes` is a multiple of
    /// page_bytes(), and the address one of `multiple`, a power of two. Returns 0 when the arena is
    /// full.
    [[nodiscard]] std::uint64_t reserve(std::size_t bytes, std::size_t multiple);
    /// Gives back exactly a reserved range, in which nothing is mapped; false for any other range.
    bool unreserve(std::uint64_t address, std::size_t bytes);
    /// Makes whole pages of a file the memory at an address of a reserved range. Several addresses
    /// may share the same pages. False if the range isn't free or the system refuses.
    bool map(std::uint64_t address, std::size_t bytes, int file, std::size_t offset,
             std::string_view label, int owner = 0);
    /// Removes the memory that map() put at exactly this address.
    bool unmap(std::uint64_t address);

    /// The file of the arena; -1 if the system refused it, and no memory can be exported.
    [[nodiscard]] int file() const noexcept { return file_.get(); }
    /// Where the memory of an address of the arena is in the file.
    [[nodiscard]] std::size_t file_offset(std::uint64_t address) const noexcept {
        return address - reinterpret_cast<std::uint64_t>(base_);
    }
    /// Makes part of a file, with any alignment, memory at an address of its own. The file must be
    /// large enough. Returns 0 when the arena is full or the system refuses.
    [[nodiscard]] std::uint64_t import(int file, std::size_t offset, std::size_t bytes,
                                       std::string_view label, int owner = 0);
    /// Removes memory that import() returned.
    bool remove_import(std::uint64_t address);

    /// Tracks from now on which bytes of device memory and of kernel heaps have been written. All
    /// other memory counts as written: the host can write it directly, and variables have initial
    /// values. Must precede the first allocation. False when there is no address space for the map.
    [[nodiscard]] bool watch_writes();
    /// The map of written bytes, which kernels read and mark; nullptr without watch_writes().
    [[nodiscard]] WrittenBytes* written() const noexcept { return written_.get(); }
    /// Marks bytes that the host has written; does nothing without watch_writes().
    void note_write(std::uint64_t to, std::size_t bytes) noexcept {
        if (written_) written_->mark(to, bytes);
    }
    void note_copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept {
        if (written_) note_watched_copy(to, from, bytes);
    }

    /// The living allocation that contains `address`.
    [[nodiscard]] std::optional<Allocation> find(std::uint64_t address) const;
    /// The bounds {lo, hi} of the living allocation that contains `address`, or {0, 0}. Mapped
    /// memory without a gap has the bounds of the whole. Cheap.
    [[nodiscard]] std::array<std::uint64_t, 2> bounds(std::uint64_t address) const noexcept;
    [[nodiscard]] Location locate(std::uint64_t address) const;
    /// Whether an address is in the reserved range, allocated or not. If so, it isn't memory of the
    /// program.
    [[nodiscard]] bool reserves(std::uint64_t address) const noexcept {
        return address - reinterpret_cast<std::uint64_t>(base_) < reservation_;
    }

    /// The arena's reserved range.
    [[nodiscard]] std::uint64_t first_address() const noexcept {
        return reinterpret_cast<std::uint64_t>(base_);
    }
    [[nodiscard]] std::size_t arena_bytes() const noexcept { return reservation_; }

    /// Living allocations in order of allocation; at exit, these are the leaks.
    [[nodiscard]] std::vector<Allocation> living(std::optional<int> owner = {}) const;
    /// Bytes in living allocations of `owner`, without registered memory.
    [[nodiscard]] std::size_t used(int owner) const;

    /// The serial of the newest allocation.
    [[nodiscard]] std::uint64_t newest_serial() const;

    /// Incremented by every free, release and unregister; cached bounds are valid while it is
    /// unchanged.
    [[nodiscard]] std::uint64_t epoch() const noexcept {
        return epoch_.load(std::memory_order_acquire);
    }

private:
    struct Record {
        Allocation allocation;
        std::size_t span = 0;  ///< Bytes of the arena, with a guard gap; a multiple of `alignment`.
    };

    FreeOutcome release_locked(std::uint64_t address, bool any_kind);
    /// The lowest address of `bytes` in the arena, or 0. Removes them from the unused addresses.
    /// Addresses for `span` bytes, a multiple of `alignment`; 0 when the arena is full.
    std::uint64_t take_locked(std::size_t span);
    std::uint64_t take_aligned_locked(std::size_t bytes, std::size_t multiple);
    [[nodiscard]] bool reserved_locked(std::uint64_t address, std::size_t bytes) const noexcept;
    void recycle_locked(std::size_t wanted);
    /// Maps the arena's file from `offset`, or memory without a file; at nullptr, it may be
    /// anywhere.
    [[nodiscard]] void* map_arena(void* at, std::size_t bytes, std::size_t offset) noexcept;
    /// Puts the arena's own memory, as zeros, in the place of a mapping. Whole pages.
    bool map_own_zeros(std::uint64_t address, std::size_t bytes) noexcept;
    /// Gives the pages inside a range back to the system: they read as zeros.
    void discard_pages(std::uint64_t address, std::size_t bytes) noexcept;
    /// Makes a range of any alignment zeros.
    void clear(std::uint64_t address, std::size_t bytes) noexcept;
    void quarantine_locked(std::uint64_t address, Record record);
    void note_watched_copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept;
    [[nodiscard]] const Record* record_at(std::uint64_t address) const noexcept;

    mutable std::shared_mutex mutex_;
    std::byte* base_ = nullptr;
    std::size_t reservation_ = 0;
    std::size_t top_ = 0;  ///< High-water mark of the reservation, in bytes.
    std::size_t quarantine_limit_ = 0;
    std::size_t quarantined_ = 0;
    std::uint64_t serial_ = 0;
    std::atomic<std::uint64_t> epoch_{1};
    std::map<std::uint64_t, Record> records_;          ///< Living and freed allocations by address.
    std::map<std::uint64_t, std::size_t> ranges_;      ///< Bytes of reserved ranges by address.
    std::vector<std::uint64_t> quarantine_;            ///< Oldest first.
    std::multimap<std::size_t, std::uint64_t> holes_;  ///< Reusable ranges by span.
    std::unique_ptr<WrittenBytes> written_;            ///< Set by watch_writes().
    Descriptor file_;
};

}  // namespace lode::emulator
