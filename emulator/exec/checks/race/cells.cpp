#include "emulator/exec/checks/race/cells.hpp"

#include "base/os/memory.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace lode::emulator::exec {

CellArrays CellArrays::in(CellRow* its_rows, u64 row_count, void* singles) noexcept {
    CellArrays arrays{its_rows, {}, {}};
    const u64 granules = row_count * Track::row_granules;
    auto* const stamps = static_cast<Stamp*>(singles);
    auto* const sites = reinterpret_cast<Site*>(stamps + 3 * granules);
    for (u32 track = 0; track < 3; ++track) {
        arrays.stamps[track] = stamps + track * granules;
        arrays.sites[track] = sites + track * granules;
    }
    return arrays;
}

CellArrays CellArrays::from(u64 row) const noexcept {
    const u64 k = row * Track::row_granules;
    CellArrays rest{rows + row, {}, {}};
    for (u32 track = 0; track < 3; ++track) {
        rest.stamps[track] = stamps[track] + k;
        rest.sites[track] = sites[track] + k;
    }
    return rest;
}

LODE_RACES_BY_DESIGN void CellArrays::raise(u32 track, u64 row, u64 word) const noexcept {
    u64 now = rows[row].word(track);
    if (!Track::is_single(now)) {
        const u64 k = row * Track::row_granules;
        const Stamp first = now & (now - 1);
        const u32 shift = now == 0 ? 63 : 3 - static_cast<u32>(std::countr_zero(now));
        for (u32 j = 0; j < Track::row_granules; ++j)
            stamps[track][k + j] = first + (u64{j} >> shift);
        for (u32 j = 0; j < Track::row_granules; ++j)
            __atomic_store_n(&sites[track][k + j], rows[row].sites[track], __ATOMIC_RELAXED);
        now = Track::single_of(first);
    }
    __atomic_store_n(&rows[row].words[track], std::max(now, word), __ATOMIC_RELEASE);
}

void Track::attach(const CellArrays& arrays, u32 row_count) noexcept {
    arrays_ = arrays;
    row_count_ = row_count;
}

void Track::clear() noexcept {
    for (u32 row = 0; row < row_count_; ++row)
        arrays_.rows[row].words[which_] = 0;
}

void Cells::Unmap::operator()(void* memory) const noexcept {
    os::unmap(memory, bytes);
}

void Cells::attach_tracks() noexcept {
    for (Track* const track : {&write, &first, &last})
        track->attach(arrays, (count + Track::row_granules - 1) / Track::row_granules);
}

void Cells::reset(u32 bytes, u32 its_shift) {
    const u32 granules = (bytes + (1u << its_shift) - 1) >> its_shift;
    if (own_ != nullptr && granules <= count && its_shift == shift) {
        for (Track* const track : {&write, &first, &last})
            track->clear();
        return;
    }
    const u64 rows = (u64{granules} + Track::row_granules - 1) / Track::row_granules;
    const u64 row_room = rows * sizeof(CellRow);
    const u64 room = std::max<u64>(1, row_room + rows * CellArrays::single_bytes);
    void* const made = os::map_zeros(room);
    if (made == nullptr) throw std::bad_alloc();
    own_ = {made, Unmap{room}};
    count = granules;
    shift = its_shift;
    arrays =
        CellArrays::in(static_cast<CellRow*>(made), rows, static_cast<std::byte*>(made) + row_room);
    attach_tracks();
}

void Cells::attach(const CellArrays& its_arrays, u32 bytes) noexcept {
    own_.reset();
    shift = 2;
    count = bytes / 4;
    arrays = its_arrays;
    attach_tracks();
}

void Cells::refine(const Cells& from, Stamp oldest) noexcept {
    const u32 step = from.shift - shift;
    const auto copy = [&](Track& to, const Track& track) {
        for (u32 at = 0; at < from.count; ++at) {
            const u64 word = track.word(at / Track::row_granules);
            if (Track::is_older(word, oldest)) continue;
            const Stamp stamp = track.at(at);
            if (stamp == 0) continue;
            const u32 end = std::min((at + 1) << step, count);
            for (u32 k = at << step; k < end; ++k)
                to.set(k, stamp, track.site_at(at));
        }
    };
    copy(write, from.write);
    copy(first, from.first);
    copy(last, from.last);
}

void Cells::refine() {
    Cells fine;
    fine.reset(count << shift, 0);
    fine.refine(*this, 1);
    *this = std::move(fine);
}

GlobalCells::GlobalCells(u64 first, u64 bytes)
    : first_(first),
      pages_((bytes + page_bytes - 1) / page_bytes),
      directories_((pages_ + directory_pages - 1) / directory_pages) {
    const u64 whole = bytes / page_bytes * page_bytes;
    if (whole == 0) return;
    rows_ = static_cast<CellRow*>(os::map_zeros(whole / row_bytes * sizeof(CellRow)));
    if (rows_ == nullptr) return;
    covered_ = whole;
    regions_ = std::vector<std::atomic<void*>>((whole + region_bytes - 1) / region_bytes);
}

GlobalCells::~GlobalCells() {
    release();
    for (u64 k = 0; k < regions_.size(); ++k)
        if (void* const singles = regions_[k].load(); is_mapped(singles))
            os::unmap(singles, region_size(k));
    if (rows_ != nullptr) os::unmap(rows_, covered_ / row_bytes * sizeof(CellRow));
}

u64 GlobalCells::region_size(u64 number) const noexcept {
    const u64 bytes = std::min(region_bytes, covered_ - number * region_bytes);
    return bytes / row_bytes * CellArrays::single_bytes;
}

void* GlobalCells::map_region(u64 number) {
    const std::lock_guard lock(mutex_);
    if (void* const singles = regions_[number].load()) return singles;
    void* made = os::map_zeros(region_size(number));
    if (made == nullptr) made = no_room();
    regions_[number].store(made, std::memory_order_release);
    return made;
}

void GlobalCells::release() noexcept {
    for (auto& directory : directories_) {
        delete directory.exchange(nullptr);
    }
    made_bytes_ = 0;
    if (rows_ != nullptr) os::discard_pages(rows_, covered_ / row_bytes * sizeof(CellRow));
    for (u64 k = 0; k < regions_.size(); ++k)
        if (void* const singles = regions_[k].load(); is_mapped(singles))
            os::discard_pages(singles, region_size(k));
}

u64 GlobalCells::begin(u64 blocks) {
    constexpr u64 kept = u64{1} << 30;
    constexpr u64 last = u64{1} << (63 - stamp_block_shift);
    if (made_bytes_ > kept || next_block_ + blocks > last) {
        release();
        next_block_ = 1;
    }
    launch_ = next_block_;
    next_block_ += blocks;
    return launch_;
}

Cells* GlobalCells::make(u64 number, bool fine) {
    const u64 first = first_ + number * page_bytes;
    CellRow* const rows = rows_at(first, page_bytes);
    const Region region = rows != nullptr ? region_of(first) : Region{};
    const bool is_apart = region.bytes == 0;  // The page's coarse cells have arrays of their own.
    const std::lock_guard lock(mutex_);
    std::atomic<Directory*>& slot = directories_[number / directory_pages];
    Directory* directory = slot.load();
    if (directory == nullptr) {
        directory = new Directory;
        slot.store(directory, std::memory_order_release);
    }
    Page& page = directory->pages[number % directory_pages];
    Cells* const now = page.cells.load();
    const bool is_fine = now != nullptr && now->shift == 0;
    if (now != nullptr && is_fine == fine) return now;
    const auto mark = [&](bool elsewhere) LODE_RACES_BY_DESIGN {
        for (u32 row = 0; rows != nullptr && row < page_bytes / row_bytes; ++row)
            rows[row] = CellRow{{}, {}, elsewhere};
    };
    if (page.coarse.count == 0) {
        // Rows that are kept one by one take more, up to 7 and 27 times.
        made_bytes_ += u64{page_bytes} * 7;
        if (is_apart) {
            page.coarse.reset(page_bytes, 2);
            mark(true);
        } else {
            page.coarse.attach(region.arrays.from((first - region.first) / row_bytes), page_bytes);
        }
    }
    if (fine) {
        if (page.fine.count == 0) made_bytes_ += u64{page_bytes} * 27;
        page.fine.reset(page_bytes, 0);
        // Others may still write to the coarse cells, whose latest accesses are then lost.
        page.fine.refine(page.coarse, launch_ << stamp_block_shift);
        mark(true);
        page.fine_launch = launch_;
    } else if (is_fine) {
        // Only earlier launches have accessed bytes.
        if (is_apart) page.coarse.reset(page_bytes, 2);
        mark(is_apart);
    }
    Cells* const made = fine ? &page.fine : &page.coarse;
    page.cells.store(made, std::memory_order_release);
    return made;
}

}  // namespace lode::emulator::exec
