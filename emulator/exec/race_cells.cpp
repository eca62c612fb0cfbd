#include "emulator/exec/race_cells.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace lode::emulator::exec {

Track& Track::operator=(Track&& from) noexcept {
    drop();
    count_ = from.count_;
    rows_ = from.rows_;
    stamps_ = from.stamps_.exchange(nullptr);
    return *this;
}

void Track::drop() noexcept {
    std::free(stamps_.exchange(nullptr));
}

void Track::attach(CellRow* rows, u32 count) noexcept {
    drop();
    rows_ = rows;
    count_ = count;
}

void Track::clear() noexcept {
    for (u32 row = 0; row < count_; ++row)
        rows_[row].words[which_] = 0;
}

void Track::make() {
    void* const made =
        std::calloc(std::size_t{count_} * row_granules, sizeof(Stamp) + sizeof(Site));
    if (made == nullptr) throw std::bad_alloc();
    Stamp* none = nullptr;
    // Another worker may have been quicker.
    if (!stamps_.compare_exchange_strong(none, static_cast<Stamp*>(made))) std::free(made);
}

LODE_RACES_BY_DESIGN void Track::expand(u32 row) {
    if (stamps_.load(std::memory_order_acquire) == nullptr) make();
    const u64 word = this->word(row);
    if (word == single) return;
    Stamp* const to = stamps_.load(std::memory_order_relaxed) + std::size_t{row} * row_granules;
    Site* const its_sites = sites() + std::size_t{row} * row_granules;
    const Stamp first = word & (word - 1);
    const u32 shift = word == 0 ? 63 : 3 - static_cast<u32>(std::countr_zero(word));
    for (u32 k = 0; k < row_granules; ++k)
        to[k] = first + (u64{k} >> shift);
    std::fill_n(its_sites, row_granules, rows_[row].sites[which_]);
    __atomic_store_n(&rows_[row].words[which_], single, __ATOMIC_RELEASE);
}

void Cells::reset(u32 bytes, u32 its_shift) {
    const u32 granules = (bytes + (1u << its_shift) - 1) >> its_shift;
    if (granules <= count && its_shift == shift) {
        for (Track* const track : {&write, &first, &last})
            track->clear();
        return;
    }
    count = granules;
    shift = its_shift;
    const u32 row_count = (granules + Track::row_granules - 1) / Track::row_granules;
    own_rows = std::make_unique<CellRow[]>(row_count);
    rows = own_rows.get();
    for (Track* const track : {&write, &first, &last})
        track->attach(rows, row_count);
}

void Cells::attach(CellRow* its_rows, u32 bytes) {
    shift = 2;
    count = bytes / 4;
    rows = its_rows;
    for (Track* const track : {&write, &first, &last})
        track->attach(rows, count / Track::row_granules);
}

void Cells::refine(const Cells& from) {
    const u32 step = from.shift - shift;
    const auto copy = [&](Track& to, const Track& track) {
        for (u32 k = 0; k < count; ++k) {
            const u32 at = std::min(k >> step, from.count - 1);
            if (const Stamp stamp = track.at(at)) to.set(k, stamp, track.site_at(at));
        }
    };
    copy(write, from.write);
    copy(first, from.first);
    copy(last, from.last);
}

void Cells::refine() {
    Cells fine;
    fine.reset(count << shift, 0);
    fine.refine(*this);
    shift = 0;
    count = fine.count;
    write = std::move(fine.write);
    first = std::move(fine.first);
    last = std::move(fine.last);
    rows = fine.rows;
    own_rows = std::move(fine.own_rows);
}

GlobalCells::GlobalCells(u64 first, u64 bytes)
    : first_(first),
      bytes_(bytes / page_bytes * page_bytes),
      pages_((bytes + page_bytes - 1) / page_bytes),
      directories_((pages_ + directory_pages - 1) / directory_pages) {
    if (bytes_ == 0) return;
    void* const made = mmap(nullptr, bytes_ / row_bytes * sizeof(CellRow), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made != MAP_FAILED) rows_ = static_cast<CellRow*>(made);
}

GlobalCells::~GlobalCells() {
    release();
    if (rows_ != nullptr) munmap(rows_, bytes_ / row_bytes * sizeof(CellRow));
}

void GlobalCells::release() noexcept {
    for (auto& directory : directories_) {
        delete directory.exchange(nullptr);
    }
    made_bytes_ = 0;
    if (rows_ != nullptr) madvise(rows_, bytes_ / row_bytes * sizeof(CellRow), MADV_DONTNEED);
}

u64 GlobalCells::begin(u64 blocks) {
    constexpr u64 kept = u64{1} << 30;
    constexpr u64 last = u64{1} << (63 - stamp_block_shift);
    if (made_bytes_ > kept || next_block_ + blocks > last) {
        release();
        next_block_ = 1;
    }
    const u64 first = next_block_;
    next_block_ += blocks;
    return first;
}

Cells* GlobalCells::make(u64 number, bool fine) {
    const std::lock_guard lock(mutex_);
    std::atomic<Directory*>& slot = directories_[number / directory_pages];
    Directory* directory = slot.load();
    if (directory == nullptr) {
        directory = new Directory;
        slot.store(directory, std::memory_order_release);
    }
    Page& page = directory->pages[number % directory_pages];
    const Cells* now = page.cells.load();
    if (now != nullptr && (!fine || now->shift == 0)) return page.cells.load();
    CellRow* const its_rows = rows_at(first_ + number * page_bytes, page_bytes);
    // Rows that are kept one by one take more, up to 27 and 7 times.
    made_bytes_ += std::size_t{page_bytes} * (fine ? 27u : 7u);
    if (now == nullptr && its_rows != nullptr) {
        page.coarse.attach(its_rows, page_bytes);
        now = &page.coarse;
    } else if (now == nullptr && !fine) {
        page.coarse.reset(page_bytes, 2);
        now = &page.coarse;
    }
    Cells& made = fine ? page.fine : page.coarse;
    if (fine) {
        made.reset(page_bytes, 0);
        // Others may still write to the coarse cells, whose latest accesses are then lost.
        if (now != nullptr) made.refine(*now);
        for (u32 row = 0; its_rows != nullptr && row < page_bytes / row_bytes; ++row)
            its_rows[row].elsewhere = true;
    }
    page.cells.store(&made, std::memory_order_release);
    return &made;
}

}  // namespace lode::emulator::exec
