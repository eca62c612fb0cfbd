#include "emulator/memory/written_bytes.hpp"

#include "base/align_up.hpp"
#include "base/os/memory.hpp"
#include "emulator/memory/page.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

namespace lode::emulator {

namespace {

using Word = std::uint64_t;
constexpr std::size_t per_word = 64;
constexpr Word whole = ~Word{0};

constexpr std::size_t words_for(std::size_t bytes) {
    return divide_up(bytes, per_word);
}

}  // namespace

std::unique_ptr<WrittenBytes> WrittenBytes::over(std::uint64_t address, std::size_t bytes) {
    void* const at = os::map_zeros(words_for(bytes) * sizeof(Word));
    if (at == nullptr) return nullptr;
    return std::unique_ptr<WrittenBytes>(
        new WrittenBytes(address, bytes, static_cast<std::uint64_t*>(at)));
}

WrittenBytes::~WrittenBytes() {
    os::unmap(words_, words_for(bytes_) * sizeof(Word));
}

template <class F>
void WrittenBytes::each_word(std::uint64_t address, std::size_t bytes, F&& f) const noexcept {
    const std::uint64_t lo = std::max(address, first_) - first_;
    const std::uint64_t hi = std::min(address + bytes, first_ + bytes_) - first_;
    if (address >= first_ + bytes_ || address + bytes <= first_) return;
    for (std::uint64_t at = lo; at < hi;) {
        const std::uint64_t next = std::min(hi, (at / per_word + 1) * per_word);
        const Word bits = (whole >> (per_word - (next - at))) << at % per_word;
        f(words_[at / per_word], bits);
        at = next;
    }
}

void WrittenBytes::mark(std::uint64_t address, std::size_t bytes) noexcept {
    each_word(address, bytes, [](Word& word, Word bits) {
        const std::atomic_ref<Word> shared(word);
        // Most stores hit bytes that are already marked.
        if ((~shared.load(std::memory_order_relaxed) & bits) == 0) return;
        shared.fetch_or(bits, std::memory_order_relaxed);
    });
}

void WrittenBytes::unmark(std::uint64_t address, std::size_t bytes) noexcept {
    // Whole pages of the map return to the system and read as zeros afterwards.
    const std::uint64_t lo = words_for(address - first_);
    const std::uint64_t hi = (address + bytes - first_) / per_word;
    const std::uint64_t page_words = page_bytes() / sizeof(Word);
    const std::uint64_t lo_page = align_up(lo, page_words);
    const std::uint64_t hi_page = hi / page_words * page_words;
    const auto clear = [this](std::uint64_t from, std::size_t count) {
        each_word(from, count, [](Word& word, Word bits) {
            std::atomic_ref<Word>(word).fetch_and(~bits, std::memory_order_relaxed);
        });
    };
    if (lo_page >= hi_page ||
        !os::discard_pages(words_ + lo_page, (hi_page - lo_page) * sizeof(Word)))
        return clear(address, bytes);
    const std::uint64_t first_given = first_ + lo_page * per_word;
    const std::uint64_t end_given = first_ + hi_page * per_word;
    clear(address, first_given - address);
    clear(end_given, address + bytes - end_given);
}

void WrittenBytes::copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept {
    const auto copy_piece = [&](std::uint64_t offset, std::size_t count) {
        // Usually all or none of the bytes are written; a mixture is copied byte by byte.
        const std::size_t missing = unwritten(from + offset, count);
        if (missing == 0) return mark(to + offset, count);
        if (missing == count) {
            return each_word(to + offset, count, [](Word& word, Word bits) {
                std::atomic_ref<Word>(word).fetch_and(~bits, std::memory_order_relaxed);
            });
        }
        const bool backwards = to > from;
        for (std::size_t k = 0; k < count; ++k) {
            const std::uint64_t at = offset + (backwards ? count - 1 - k : k);
            each_word(to + at, 1, [mark = written(from + at)](Word& word, Word bits) {
                const std::atomic_ref<Word> shared(word);
                if (mark) {
                    shared.fetch_or(bits, std::memory_order_relaxed);
                } else {
                    shared.fetch_and(~bits, std::memory_order_relaxed);
                }
            });
        }
    };
    if (to <= from) {
        for (std::size_t at = 0; at < bytes; at += per_word)
            copy_piece(at, std::min(per_word, bytes - at));
    } else {
        for (std::size_t end = bytes; end > 0;) {
            const std::size_t count = std::min(per_word, end);
            end -= count;
            copy_piece(end, count);
        }
    }
}

bool WrittenBytes::written(std::uint64_t address) const noexcept {
    return unwritten(address, 1) == 0;
}

std::size_t WrittenBytes::unwritten(std::uint64_t address, std::size_t bytes) const noexcept {
    std::size_t count = 0;
    each_word(address, bytes, [&](Word& word, Word bits) {
        const Word missing = ~std::atomic_ref<Word>(word).load(std::memory_order_relaxed) & bits;
        if (missing != 0) count += static_cast<std::size_t>(std::popcount(missing));
    });
    return count;
}

}  // namespace lode::emulator
