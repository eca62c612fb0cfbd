#include "emulator/exec/race_cells.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace lode::emulator::exec {

Track& Track::operator=(Track&& from) noexcept {
    drop();
    rows_ = from.rows_;
    words_ = std::move(from.words_);
    row_sites_ = std::move(from.row_sites_);
    stamps_ = from.stamps_.exchange(nullptr);
    return *this;
}

void Track::drop() noexcept {
    std::free(stamps_.exchange(nullptr));
}

void Track::reset(u32 granules) {
    drop();
    rows_ = (granules + row_granules - 1) / row_granules;
    words_ = std::make_unique<u64[]>(rows_);
    row_sites_ = std::make_unique<Site[]>(rows_);
}

void Track::clear() noexcept {
    std::fill_n(words_.get(), rows_, u64{0});
}

LODE_RACES_BY_DESIGN void Track::expand(u32 row) {
    if (stamps_.load(std::memory_order_acquire) == nullptr) {
        void* const made =
            std::calloc(std::size_t{rows_} * row_granules, sizeof(Stamp) + sizeof(Site));
        if (made == nullptr) throw std::bad_alloc();
        Stamp* none = nullptr;
        // Another worker may have been quicker.
        if (!stamps_.compare_exchange_strong(none, static_cast<Stamp*>(made))) std::free(made);
    }
    const u64 word = this->word(row);
    if (word == single) return;
    Stamp* const to = stamps_.load(std::memory_order_relaxed) + std::size_t{row} * row_granules;
    Site* const its_sites = sites() + std::size_t{row} * row_granules;
    for (u32 k = 0; k < row_granules; ++k) {
        to[k] = stamp_in(word, k);
        its_sites[k] = row_sites_[row];
    }
    __atomic_store_n(&words_[row], single, __ATOMIC_RELEASE);
}

void Cells::reset(u32 bytes, u32 its_shift) {
    const u32 granules = (bytes + (1u << its_shift) - 1) >> its_shift;
    const bool fits = granules <= count && its_shift == shift;
    if (!fits) {
        count = granules;
        shift = its_shift;
    }
    for (Track* const track : {&write, &first, &last}) {
        if (fits) {
            track->clear();
        } else {
            track->reset(granules);
        }
    }
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
}

GlobalCells::GlobalCells(u64 first, u64 bytes)
    : first_(first),
      pages_((bytes + page_bytes - 1) / page_bytes),
      directories_((pages_ + directory_pages - 1) / directory_pages) {}

GlobalCells::~GlobalCells() {
    release();
}

void GlobalCells::release() noexcept {
    for (auto& directory : directories_) {
        delete directory.exchange(nullptr);
    }
    made_bytes_ = 0;
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
    Cells* const now = page.cells.load();
    if (now != nullptr && (!fine || now->shift == 0)) return now;
    Cells& made = fine ? page.fine : page.coarse;
    // Rows that are kept one by one take more, up to 27 and 7 times.
    made_bytes_ += std::size_t{page_bytes} * (fine ? 27u : 7u);
    made.reset(page_bytes, fine ? 0 : 2);
    // Others may still write to the coarse cells, whose latest accesses are then lost.
    if (now != nullptr) made.refine(*now);
    page.cells.store(&made, std::memory_order_release);
    return &made;
}

}  // namespace lode::emulator::exec
