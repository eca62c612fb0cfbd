// Memory: the address space of the software devices, and the account of what is allocated in it.
#pragma once

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

/// What an allocation is, for reports and for the driver's pointer attributes.
enum class MemoryKind : std::uint8_t {
    device,       ///< cuMemAlloc and its kin.
    pinned,       ///< cuMemHostAlloc: the host's, readable by every device.
    managed,      ///< cuMemAllocManaged.
    registered,   ///< Foreign host memory, from cuMemHostRegister. Never freed by Memory.
    module_data,  ///< All the variables of one loaded module.
    heap,         ///< malloc inside a kernel.
};

[[nodiscard]] std::string_view to_string(MemoryKind kind) noexcept;

/// One allocation, living or freed but still in quarantine. A copy: holds nothing.
struct Allocation {
    std::uint64_t address = 0;
    std::size_t bytes = 0;  ///< As asked for.
    MemoryKind kind = MemoryKind::device;
    int owner = 0;         ///< The caller's tag: the ordinal of a device, a context, …
    bool freed = false;    ///< True in quarantine: any access is a use after free.
    std::uint64_t serial;  ///< 1, 2, 3 … in the order of allocation.
    std::string label;     ///< "cuMemAlloc", a module's name, …

    [[nodiscard]] std::uint64_t end() const noexcept { return address + bytes; }
};

/// "100-byte device allocation at 0x7f0000000000 (cuMemAlloc)"
[[nodiscard]] std::string describe(const Allocation& allocation);

enum class FreeOutcome : std::uint8_t {
    freed,
    unknown,      ///< The address is in no allocation.
    interior,     ///< The address is inside an allocation, not its first byte.
    double_free,  ///< The allocation is in quarantine already.
    wrong_kind,   ///< Registered memory or a module's data: not for free().
};

/// Where an address lies, for a report.
struct Location {
    std::optional<Allocation> inside;  ///< The allocation that holds it, living or freed.
    std::optional<Allocation> below;   ///< The nearest living one that ends at or below it.
    std::optional<Allocation> above;   ///< The nearest living one that starts above it.
};

/// One reserved range of host addresses; a device address is the host address of the same byte, so
/// copies are memcpy and a kernel's loads need no translation. Freed memory waits in quarantine
/// (its pages given back) and its addresses come back into use only when the quarantine is full.
/// Thread-safe.
class Memory {
public:
    static constexpr std::size_t default_reservation = std::size_t{1} << 40;
    static constexpr std::size_t default_quarantine = std::size_t{1} << 32;
    /// Alignment of every address handed out, in bytes.
    static constexpr std::size_t alignment = 512;

    explicit Memory(std::size_t reservation = default_reservation,
                    std::size_t quarantine = default_quarantine);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    /// A new zero-filled range, or 0 when the arena has no room or `bytes` is 0.
    [[nodiscard]] std::uint64_t allocate(std::size_t bytes, MemoryKind kind, std::string_view label,
                                         int owner = 0);
    FreeOutcome free(std::uint64_t address);
    /// Frees memory of any arena kind; used for module data.
    FreeOutcome release(std::uint64_t address);

    /// Makes foreign host memory accessible to kernels. False when it overlaps an allocation.
    bool register_host(void* address, std::size_t bytes, std::string_view label, int owner = 0);
    /// False when `address` isn't the first byte of a registered range.
    bool unregister_host(void* address);

    /// Keeps account from now on of which bytes of device memory and of kernels' heaps have been
    /// written; everything else counts as written, as hosts write it unseen and variables start
    /// with values. To be called before the first allocation. False when there is no room for it.
    [[nodiscard]] bool watch_writes();
    /// The account for kernels to look at and to mark; nullptr without watch_writes().
    [[nodiscard]] WrittenBytes* written() const noexcept { return written_.get(); }
    /// Tells the account about a write or a copy by the host; nothing when there is none.
    void note_write(std::uint64_t to, std::size_t bytes) noexcept {
        if (written_) written_->mark(to, bytes);
    }
    void note_copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept {
        if (written_) note_watched_copy(to, from, bytes);
    }

    /// The living allocation that holds `address`.
    [[nodiscard]] std::optional<Allocation> find(std::uint64_t address) const;
    /// The bounds of the living allocation that holds `address`: {lo, hi}, or {0, 0}. Cheap.
    [[nodiscard]] std::array<std::uint64_t, 2> bounds(std::uint64_t address) const noexcept;
    [[nodiscard]] Location locate(std::uint64_t address) const;
    /// Whether an address is in the reserved range, be it in an allocation or not: then it is no
    /// host memory of anybody else's.
    [[nodiscard]] bool reserves(std::uint64_t address) const noexcept {
        return address - reinterpret_cast<std::uint64_t>(base_) < reservation_;
    }

    /// Living allocations in order of allocation; what is left at the end is the leak list.
    [[nodiscard]] std::vector<Allocation> living(std::optional<int> owner = {}) const;
    /// Bytes in living allocations of `owner`, without registered memory.
    [[nodiscard]] std::size_t used(int owner) const;

    /// Counts every free, release and unregister: a cached bound is good while this stands still.
    [[nodiscard]] std::uint64_t epoch() const noexcept {
        return epoch_.load(std::memory_order_acquire);
    }

private:
    struct Record {
        Allocation allocation;
        std::size_t span = 0;  ///< Bytes of the arena, a multiple of `alignment` with a guard gap.
    };

    FreeOutcome release_locked(std::uint64_t address, bool any_kind);
    void recycle_locked(std::size_t wanted);
    void note_watched_copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept;
    [[nodiscard]] const Record* record_at(std::uint64_t address) const noexcept;

    mutable std::shared_mutex mutex_;
    std::byte* base_ = nullptr;
    std::size_t reservation_ = 0;
    std::size_t top_ = 0;  ///< Bytes of the reservation ever handed out.
    std::size_t quarantine_limit_ = 0;
    std::size_t quarantined_ = 0;
    std::uint64_t serial_ = 0;
    std::atomic<std::uint64_t> epoch_{1};
    std::map<std::uint64_t, Record> records_;          ///< By address; living and freed.
    std::vector<std::uint64_t> quarantine_;            ///< Oldest first.
    std::multimap<std::size_t, std::uint64_t> holes_;  ///< By span: reusable ranges.
    std::unique_ptr<WrittenBytes> written_;            ///< Of the reservation; may be absent.
};

}  // namespace lode::emulator
