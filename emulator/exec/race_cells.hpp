// The race check's shadow of memory: for each granule of 4 bytes, or of 1 once smaller accesses
// occur, the last write and two reads since. Private to emulator/exec.
#pragma once

#include "emulator/decode/op.hpp"

#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <vector>

/// Workers read and write the cells of global memory without synchronisation: a lost stamp misses a
/// race at most.
#define LODE_RACES_BY_DESIGN __attribute__((no_sanitize("thread")))

namespace lode::emulator::exec {

/// One access: the number of the block in bits 33 to 62 (for shared memory: 0 for the own block, or
/// the rank of another block of the cluster plus one, or stamp_products), then a
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
/// Likewise, and of the same strength.
inline constexpr u64 stamp_same_bits = stamp_thread_bits | stamp_covered;

/// In place of the rank of a block: what the products (wgmma) of one of the block's warps read.
inline constexpr u64 stamp_products = 17;

constexpr Stamp stamp_of(u64 block, u32 time, u64 strength, u32 thread) {
    return (block << stamp_block_shift) | (u64{time} << stamp_time_shift) | strength | thread;
}
constexpr bool stamp_is_weak(Stamp s) {
    return (s & stamp_covered) == 0;
}
constexpr bool stamp_is_covered(Stamp s) {
    return (s & (stamp_async | stamp_covered)) == stamp_covered;
}
/// Among the last reads: a strong write instead, in no order with the strong write of its granule.
constexpr bool stamp_is_second_write(Stamp s) {
    return (s & (stamp_async | stamp_covered)) == (stamp_async | stamp_covered);
}
constexpr Stamp second_write(Stamp strong) {
    return strong | stamp_async | stamp_covered;
}
/// The write, as if its scope were the device.
constexpr Stamp strong_write_of(Stamp second) {
    return (second & ~(stamp_async | stamp_covered)) | stamp_gpu;
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

/// The words of a row of granules, for the three tracks of Cells, and the memory ops that they are
/// of.
struct alignas(32) CellRow {
    u64 words[3] = {};
    Site sites[3] = {};
    bool elsewhere = false;  ///< The row's memory has smaller granules, which are in other cells.
};
static_assert(sizeof(CellRow) == 32);

/// One stamp for each granule of a range of memory. Granules are in rows of 16; usually the lanes
/// of a warp have accessed a whole row in order, and then one word stands for its 16 stamps.
class Track {
public:
    static constexpr u32 row_granules = 16;
    /// The word of a row whose stamps are kept one by one. Other words aren't negative.
    static constexpr u64 single = ~u64{0};

    /// The word of a row whose granule k has the stamp first + (k >> shift). The first thread of
    /// such a row is a multiple of 16 >> shift, which leaves room for a bit that marks the shift.
    static constexpr u64 word_of(Stamp first, u32 shift) { return first | (8u >> shift); }
    static constexpr u32 most_shift = 3;
    static constexpr Stamp stamp_in(u64 word, u32 k) {
        if (word == 0) return 0;
        return (word & (word - 1)) + (k >> (3 - std::countr_zero(word)));
    }

    /// `which`: the place of the track's words in a row.
    explicit Track(u32 which) noexcept : which_(which) {}
    ~Track() { drop(); }
    Track(const Track&) = delete;
    Track& operator=(const Track&) = delete;
    Track(Track&&) = delete;
    /// Takes the rows of a track of the same place.
    Track& operator=(Track&& from) noexcept;

    /// The rows of `count` times 16 granules, which live longer.
    void attach(CellRow* rows, u32 count) noexcept;
    void clear() noexcept;

    [[nodiscard]] LODE_RACES_BY_DESIGN u64 word(u32 row) const noexcept {
        return __atomic_load_n(&rows_[row].words[which_], __ATOMIC_ACQUIRE);
    }
    [[nodiscard]] LODE_RACES_BY_DESIGN Stamp at(u32 k) const noexcept {
        const u64 word = this->word(k / row_granules);
        if (word == single) return stamps_.load(std::memory_order_relaxed)[k];
        return stamp_in(word, k % row_granules);
    }
    [[nodiscard]] LODE_RACES_BY_DESIGN Site site_at(u32 k) const noexcept {
        const u32 row = k / row_granules;
        return word(row) == single ? sites()[k] : rows_[row].sites[which_];
    }
    /// The stamps of a row that are kept one by one.
    [[nodiscard]] const Stamp* stamps(u32 row) const noexcept {
        return stamps_.load(std::memory_order_relaxed) + std::size_t{row} * row_granules;
    }
    LODE_RACES_BY_DESIGN void set_row(u32 row, u64 word, Site site) noexcept {
        rows_[row].sites[which_] = site;
        __atomic_store_n(&rows_[row].words[which_], word, __ATOMIC_RELEASE);
    }
    LODE_RACES_BY_DESIGN void set(u32 k, Stamp stamp, Site site) {
        const u32 row = k / row_granules;
        if (word(row) != single) expand(row);
        stamps_.load(std::memory_order_relaxed)[k] = stamp;
        sites()[k] = site;
    }
    /// The stamps and sites of a row, for changes.
    struct Row {
        Stamp* stamps;
        Site* sites;
    };
    /// Those of all rows, of which only those kept one by one have a meaning.
    [[nodiscard]] Row all() {
        if (stamps_.load(std::memory_order_acquire) == nullptr) make();
        return {stamps_.load(std::memory_order_relaxed), sites()};
    }
    /// Makes a row one whose stamps are kept one by one.
    void split(u32 row) {
        if (word(row) != single) expand(row);
    }
    [[nodiscard]] Row open(u32 row) {
        if (word(row) != single) expand(row);
        const std::size_t at = std::size_t{row} * row_granules;
        return {stamps_.load(std::memory_order_relaxed) + at, sites() + at};
    }

private:
    void drop() noexcept;
    void make();
    void expand(u32 row);
    [[nodiscard]] Site* sites() const noexcept {
        return reinterpret_cast<Site*>(stamps_.load(std::memory_order_relaxed) +
                                       std::size_t{count_} * row_granules);
    }

    u32 which_;
    u32 count_ = 0;
    CellRow* rows_ = nullptr;
    /// The stamps of all granules, then their sites; made when the first row needs it.
    std::atomic<Stamp*> stamps_{nullptr};
};

/// The granules of a range of memory.
struct Cells {
    u32 shift = 2;  ///< A granule has 1 << shift bytes.
    u32 count = 0;
    CellRow* rows = nullptr;
    std::unique_ptr<CellRow[]> own_rows;  ///< Unless they belong to others.
    Track write{0};
    /// The first read since the write that nothing orders before others; or a covered write.
    Track first{1};
    /// The last such read by another thread; or a second of several strong writes in no order,
    /// where `write` has the first.
    Track last{2};

    /// Empty cells for `bytes`.
    void reset(u32 bytes, u32 its_shift);
    /// Cells of 4 bytes in rows of others, which are as they are.
    void attach(CellRow* its_rows, u32 bytes);
    /// Copies cells with larger granules.
    void refine(const Cells& from);
    /// Makes the granules smaller.
    void refine();
};

/// The shadow of an arena of global memory. Its rows are one array, of which the system commits
/// what is accessed; pages with more than that are made when an access needs them.
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
    /// The rows from that of an address on, if the `bytes` there are inside the arena.
    [[nodiscard]] CellRow* rows_at(u64 address, u32 bytes) const noexcept {
        const u64 at = address - first_;
        if (rows_ == nullptr || at >= bytes_ || bytes > bytes_ - at) return nullptr;
        return rows_ + at / row_bytes;
    }
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

    static constexpr u32 row_bytes = 4 * Track::row_granules;
    u64 first_ = 0;
    u64 bytes_ = 0;
    u64 pages_ = 0;
    CellRow* rows_ = nullptr;  ///< Null if there is no address space for them.
    u64 next_block_ = 1;
    std::mutex mutex_;  ///< Guards the making of pages.
    std::vector<std::atomic<Directory*>> directories_;
    u64 made_bytes_ = 0;
};

}  // namespace lode::emulator::exec
