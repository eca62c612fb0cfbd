// The race check's shadow of memory: for each granule of 4 bytes, or of 1 once smaller accesses
// occur, the last write and two reads since. Private to emulator/exec.
#pragma once

#include "emulator/decode/op.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace lode::emulator::exec {

/// One access: the number of the block in bits 33 to 62 (for shared memory: 0 for the own block, or
/// the rank of another block of the cluster plus one), then a
/// bit for an asynchronous copy, 20 bits of the block's time, 2 of strength, and the thread in the
/// lowest 10. 0: none.
using Stamp = u64;

inline constexpr u32 stamp_block_shift = 33;
inline constexpr u64 stamp_async = u64{1} << 32;
inline constexpr u32 stamp_time_shift = 12;
inline constexpr u64 stamp_cta = 1u << 10;  ///< Strong in its block.
inline constexpr u64 stamp_gpu = 2u << 10;  ///< Strong in the device.
/// Both bits: a weak write that strong ones have covered since. They are ordered behind it, but
/// other threads' accesses may not be.
inline constexpr u64 stamp_covered = stamp_cta | stamp_gpu;
/// Equal bits here: accesses by the same thread.
inline constexpr u64 stamp_thread_bits = (~u64{0} << stamp_block_shift) | stamp_async | 0x3ff;

constexpr Stamp stamp_of(u64 block, u32 time, u64 strength, u32 thread) {
    return (block << stamp_block_shift) | (u64{time} << stamp_time_shift) | strength | thread;
}
constexpr bool stamp_is_weak(Stamp s) {
    return (s & stamp_covered) == 0;
}
constexpr bool stamp_is_covered(Stamp s) {
    return (s & stamp_covered) == stamp_covered;
}
constexpr u64 stamp_block(Stamp s) {
    return s >> stamp_block_shift;
}
constexpr u32 stamp_time(Stamp s) {
    return static_cast<u32>(s >> stamp_time_shift) & 0xfffff;
}
constexpr u32 stamp_thread(Stamp s) {
    return static_cast<u32>(s & 0x3ff);
}

/// The memory op of an access, for reports; 0: unknown. Large kernels have several ops for a
/// number.
using Site = u8;

constexpr Site site_of(u32 cache) {
    return cache == 0 ? Site{0} : static_cast<Site>(1 + (cache - 1) % 255);
}

/// The granules of a range of memory.
struct Cells {
    u32 shift = 2;  ///< A granule has 1 << shift bytes.
    u32 count = 0;
    std::unique_ptr<Stamp[]> store;  ///< The three rows of stamps below.
    std::unique_ptr<Site[]> sites;   ///< The three rows of sites.
    Stamp* write = nullptr;
    /// The first read since the write that nothing orders before others; or a covered write.
    Stamp* first = nullptr;
    Stamp* last = nullptr;  ///< The last such read by another thread.
    Site* write_site = nullptr;
    Site* first_site = nullptr;
    Site* last_site = nullptr;

    /// Empty cells for `bytes`.
    void reset(u32 bytes, u32 its_shift);
    void clear() noexcept;
    /// Copies cells with larger granules.
    void refine(const Cells& from);
};

/// The shadow of an arena of global memory, in pages that are made when they are accessed.
class GlobalCells {
public:
    static constexpr u32 page_bytes = 4096;

    GlobalCells(u64 first, u64 bytes);
    ~GlobalCells();
    GlobalCells(const GlobalCells&) = delete;
    GlobalCells& operator=(const GlobalCells&) = delete;

    /// Begins a launch: returns the number of its first block. Accesses of smaller numbers belong
    /// to earlier launches. Not while others use it.
    [[nodiscard]] u64 begin(u64 blocks);
    /// The cells of the page that contains an address; nullptr outside of the arena. `fine`: with
    /// granules of one byte.
    [[nodiscard]] Cells* find(u64 address, bool fine) {
        const u64 page = (address - first_) / page_bytes;
        if (page >= pages_) return nullptr;
        Directory* const directory =
            directories_[page / directory_pages].load(std::memory_order_acquire);
        if (directory != nullptr) [[likely]] {
            Cells* const cells =
                directory->pages[page % directory_pages].cells.load(std::memory_order_acquire);
            if (cells != nullptr && (!fine || cells->shift == 0)) [[likely]]
                return cells;
        }
        return make(page, fine);
    }

private:
    static constexpr u32 directory_pages = 512;
    struct Page {
        std::atomic<Cells*> cells{nullptr};
        Cells coarse, fine;
    };
    struct Directory {
        Page pages[directory_pages];
    };
    Cells* make(u64 number, bool fine);
    void release() noexcept;

    u64 first_ = 0;
    u64 pages_ = 0;
    u64 next_block_ = 1;
    std::mutex mutex_;  ///< Guards the making of pages.
    std::vector<std::atomic<Directory*>> directories_;
    u64 made_bytes_ = 0;
};

}  // namespace lode::emulator::exec
