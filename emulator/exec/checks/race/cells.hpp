// The race check's shadow of memory: for each granule of 4 bytes, or of 1 once smaller accesses
// occur, the last write and two reads since. Private to emulator/exec.
#pragma once

#include "emulator/isa/op.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

/// Workers read and write the cells of global memory without synchronisation: a lost stamp misses a
/// race at most. What is inlined always is as the function that it is inlined into.
#define LODE_RACES_BY_DESIGN __attribute__((no_sanitize("thread")))

namespace lode::emulator::exec {

/// One access: the number of the block in bits 33 to 62 (for shared memory: 0 for the memory's own
/// block, or the rank of another block of the cluster plus one, or stamp_products), then a bit for
/// an asynchronous copy, 20 bits of the block's time, 2 of strength, and the thread in the lowest
/// 10. 0: none.
using Stamp = u64;

inline constexpr u32 stamp_block_shift = 33;
inline constexpr u64 stamp_async = u64{1} << 32;
inline constexpr u32 stamp_time_shift = 12;
inline constexpr u64 stamp_cta = 1u << 10;  ///< Strong in its block.
inline constexpr u64 stamp_gpu = 2u << 10;  ///< Strong in the device.
/// Both bits: a weak write that strong ones have covered since. They are ordered after it, but
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

    [[nodiscard]] u64 word(u32 track) const noexcept {
        return __atomic_load_n(&words[track], __ATOMIC_ACQUIRE);
    }
};
static_assert(sizeof(CellRow) == 32);

/// The granules of a range of memory, in rows of 16: for each of three tracks a word for a row, and
/// the stamps and sites of rows that are kept one by one.
struct CellArrays {
    CellRow* rows = nullptr;
    Stamp* stamps[3] = {};
    Site* sites[3] = {};

    /// Bytes of stamps and sites for a row.
    static constexpr u64 single_bytes = u64{3} * 16 * (sizeof(Stamp) + sizeof(Site));

    /// With the stamps and sites of as many rows as a block of `rows * single_bytes` holds.
    static CellArrays in(CellRow* its_rows, u64 row_count, void* singles) noexcept;
    [[nodiscard]] CellArrays from(u64 row) const noexcept;
    /// Makes a row of a track one whose stamps are kept one by one, and its word at least `word`.
    void open(u32 track, u64 row, u64 word) const noexcept {
        if (rows[row].word(track) < word) [[unlikely]]
            raise(track, row, word);
    }

private:
    void raise(u32 track, u64 row, u64 word) const noexcept;
};

/// One stamp for each granule of a range of memory. Granules are in rows of 16; usually the lanes
/// of a warp have accessed a whole row in order, and then one word stands for its 16 stamps.
class Track {
public:
    static constexpr u32 row_granules = 16;
    /// In the word of a row whose stamps are kept one by one, above a limit of their age: none of
    /// them is as late as the lowest stamp of a later time than the limit's.
    static constexpr u64 single = u64{1} << 63;
    static constexpr bool is_single(u64 word) { return (word & single) != 0; }
    /// Whether all stamps of a row are below `end`, the lowest stamp of some time or block.
    static constexpr bool is_older(u64 word, Stamp end) { return (word & ~single) < end; }
    /// The word of a row kept one by one with this stamp, if no other one is later.
    static constexpr u64 single_of(Stamp stamp) {
        constexpr u64 time_bits = ~u64{0} << stamp_time_shift;
        const Stamp when = stamp_is_second_write(stamp) ? strong_write_of(stamp) : stamp;
        return single | (when & time_bits);
    }

    /// The word of a row whose granule k has the stamp first + (k >> shift). The first thread of
    /// such a row is a multiple of 16 >> shift, which leaves room for a bit that marks the shift.
    static constexpr u64 word_of(Stamp first, u32 shift) { return first | (8u >> shift); }
    static constexpr u32 most_shift = 3;
    static constexpr Stamp stamp_in(u64 word, u32 k) {
        if (word == 0) return 0;
        return (word & (word - 1)) + (k >> (3 - std::countr_zero(word)));
    }

    /// `which`: the track's number in the arrays.
    explicit Track(u32 which) noexcept : which_(which) {}

    void attach(const CellArrays& arrays, u32 row_count) noexcept;
    void clear() noexcept;

    [[nodiscard]] u64 word(u32 row) const noexcept { return arrays_.rows[row].word(which_); }
    [[nodiscard]] LODE_RACES_BY_DESIGN Stamp at(u32 k) const noexcept {
        const u64 word = this->word(k / row_granules);
        return is_single(word) ? stamps()[k] : stamp_in(word, k % row_granules);
    }
    [[nodiscard]] LODE_RACES_BY_DESIGN Site site_at(u32 k) const noexcept {
        const u32 row = k / row_granules;
        return is_single(word(row)) ? sites()[k] : arrays_.rows[row].sites[which_];
    }
    /// The stamps of a row that are kept one by one.
    [[nodiscard]] const Stamp* stamps(u32 row) const noexcept {
        return stamps() + std::size_t{row} * row_granules;
    }
    LODE_RACES_BY_DESIGN void set_row(u32 row, u64 word, Site site) noexcept {
        arrays_.rows[row].sites[which_] = site;
        __atomic_store_n(&arrays_.rows[row].words[which_], word, __ATOMIC_RELEASE);
    }
    LODE_RACES_BY_DESIGN void set(u32 k, Stamp stamp, Site site) noexcept {
        arrays_.open(which_, k / row_granules, single_of(stamp));
        stamps()[k] = stamp;
        sites()[k] = site;
    }
    /// The stamps and sites of a row, for changes.
    struct Row {
        Stamp* stamps;
        Site* sites;
    };
    /// Makes a row one whose stamps are kept one by one, for stamps of the time of this one.
    [[nodiscard]] Row open(u32 row, Stamp stamp) noexcept {
        arrays_.open(which_, row, single_of(stamp));
        const std::size_t at = std::size_t{row} * row_granules;
        return {stamps() + at, sites() + at};
    }

private:
    [[nodiscard]] Stamp* stamps() const noexcept { return arrays_.stamps[which_]; }
    [[nodiscard]] Site* sites() const noexcept { return arrays_.sites[which_]; }

    u32 which_;
    u32 row_count_ = 0;
    CellArrays arrays_;
};

/// The granules of a range of memory.
struct Cells {
    u32 shift = 2;  ///< A granule has 1 << shift bytes.
    u32 count = 0;
    CellArrays arrays;
    Track write{0};
    /// The first read since the write that nothing orders before others; or a covered write.
    Track first{1};
    /// The last such read by another thread; or a second of several strong writes in no order,
    /// where `write` has the first.
    Track last{2};

    /// Empty cells for `bytes`, in arrays of their own.
    void reset(u32 bytes, u32 its_shift);
    /// Cells of 4 bytes in arrays of others, which are as they are.
    void attach(const CellArrays& its_arrays, u32 bytes) noexcept;
    /// Copies cells with larger granules, but not rows whose word is older than `oldest`.
    void refine(const Cells& from, Stamp oldest) noexcept;
    /// Makes the granules smaller.
    void refine();

private:
    struct Unmap {
        u64 bytes;
        void operator()(void* memory) const noexcept;
    };
    void attach_tracks() noexcept;
    std::unique_ptr<void, Unmap> own_;  ///< Memory of the arrays, unless they belong to others.
};

/// The shadow of an arena of global memory. Its rows are one array, and the stamps and sites of a
/// region another; the system commits what is accessed. The cells of a page are made when an access
/// needs them.
class GlobalCells {
public:
    static constexpr u32 page_bytes = 4096;
    static constexpr u32 row_bytes = 4 * Track::row_granules;
    static constexpr u64 region_bytes = u64{1} << 32;

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
        if (at >= covered_ || bytes > covered_ - at) return nullptr;
        return rows_ + at / row_bytes;
    }
    /// Part of the arena, and its arrays: of granules of 4 bytes, but for rows that are elsewhere.
    struct Region {
        u64 first = 0;
        u64 bytes = 0;
        CellArrays arrays;
    };
    /// The region of an address. Without bytes if there are no arrays for it.
    [[nodiscard]] Region region_of(u64 address) {
        const u64 number = (address - first_) / region_bytes;
        if (number >= regions_.size()) return {};
        void* singles = regions_[number].load(std::memory_order_acquire);
        if (singles == nullptr) singles = map_region(number);
        if (singles == no_room()) return {};
        const u64 first = first_ + number * region_bytes;
        const u64 bytes = std::min(region_bytes, first_ + covered_ - first);
        return {first, bytes,
                CellArrays::in(rows_ + number * (region_bytes / row_bytes), bytes / row_bytes,
                               singles)};
    }
    /// Counts rows of single tracks that have got stamps.
    void count_rows(u32 rows) noexcept {
        if (rows != 0) made_bytes_.fetch_add(rows * (CellArrays::single_bytes / 3));
    }
    /// The cells of the page that contains an address; nullptr outside of the arena. `fine`: with
    /// granules of one byte, which the page has until the end of the launch.
    [[nodiscard]] Cells* find(u64 address, bool fine) {
        const u64 number = (address - first_) / page_bytes;
        if (number >= pages_) return nullptr;
        Directory* const directory =
            directories_[number / directory_pages].load(std::memory_order_acquire);
        if (directory != nullptr) [[likely]] {
            Page& page = directory->pages[number % directory_pages];
            Cells* const cells = page.cells.load(std::memory_order_acquire);
            if (cells != nullptr && cells->shift != 0 && !fine) [[likely]]
                return cells;
            if (cells != nullptr && cells->shift == 0) {
                const bool is_used = page.fine_launch.load(std::memory_order_relaxed) == launch_;
                if (is_used) return cells;
                if (fine) {
                    page.fine_launch.store(launch_, std::memory_order_relaxed);
                    return cells;
                }
            }
        }
        return make(number, fine);
    }

private:
    static constexpr u32 directory_pages = 512;
    struct Page {
        std::atomic<Cells*> cells{nullptr};
        std::atomic<u64> fine_launch{0};  ///< The last one that accessed bytes here.
        Cells coarse, fine;
    };
    struct Directory {
        Page pages[directory_pages];
    };
    Cells* make(u64 number, bool fine);
    [[nodiscard]] void* map_region(u64 number);
    /// In place of a region's arrays: there is no address space for them.
    [[nodiscard]] void* no_room() noexcept { return &mutex_; }
    [[nodiscard]] u64 region_size(u64 number) const noexcept;
    [[nodiscard]] bool is_mapped(void* singles) noexcept {
        return singles != nullptr && singles != no_room();
    }
    void release() noexcept;

    u64 first_ = 0;
    u64 pages_ = 0;
    u64 covered_ = 0;  ///< Bytes that have rows; 0 if there is no address space for them.
    CellRow* rows_ = nullptr;
    u64 next_block_ = 1;
    u64 launch_ = 0;    ///< The first block of the current launch.
    std::mutex mutex_;  ///< Guards the making of pages and regions.
    std::vector<std::atomic<Directory*>> directories_;
    std::vector<std::atomic<void*>> regions_;  ///< The stamps and sites of each.
    std::atomic<u64> made_bytes_{0};
};

}  // namespace lode::emulator::exec
