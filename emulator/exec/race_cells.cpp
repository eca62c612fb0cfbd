#include "emulator/exec/race_cells.hpp"

#include <algorithm>

namespace lode::emulator::exec {

void Cells::reset(u32 bytes, u32 its_shift) {
    const u32 granules = (bytes + (1u << its_shift) - 1) >> its_shift;
    if (granules > count || its_shift != shift || store == nullptr) {
        store = std::make_unique<Stamp[]>(std::size_t{granules} * 3);
        count = granules;
        shift = its_shift;
        write = store.get();
        first = write + granules;
        last = first + granules;
        sites = std::make_unique<Site[]>(std::size_t{granules} * 3);
        write_site = sites.get();
        first_site = write_site + granules;
        last_site = first_site + granules;
        return;
    }
    clear();
}

void Cells::clear() noexcept {
    std::fill_n(store.get(), std::size_t{count} * 3, Stamp{0});
}

void Cells::refine(const Cells& from) {
    const u32 step = from.shift - shift;
    for (u32 k = 0; k < count; ++k) {
        const u32 at = std::min(k >> step, from.count - 1);
        write[k] = from.write[at];
        first[k] = from.first[at];
        last[k] = from.last[at];
        write_site[k] = from.write_site[at];
        first_site[k] = from.first_site[at];
        last_site[k] = from.last_site[at];
    }
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
    made_bytes_ += std::size_t{page_bytes} * (fine ? 27u : 7u);
    made.reset(page_bytes, fine ? 0 : 2);
    // Others may still write to the coarse cells, whose latest accesses are then lost.
    if (now != nullptr) made.refine(*now);
    page.cells.store(&made, std::memory_order_release);
    return &made;
}

}  // namespace lode::emulator::exec
