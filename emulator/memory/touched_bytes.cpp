#include "emulator/memory/touched_bytes.hpp"

#include <algorithm>
#include <bit>

namespace lode::emulator {
namespace {

/// By the earlier and the later touch: whether they conflict without an order. A write of the value
/// that an earlier write has left doesn't.
constexpr bool conflicting[touch_kinds][touch_kinds] = {
    // Later: read, write, same_write, strong_read, strong_write.
    {false, true, true, false, true},   // read
    {true, true, false, true, true},    // write
    {true, true, false, true, true},    // same_write
    {false, true, true, false, false},  // strong_read
    {true, true, false, false, false},  // strong_write
};

/// Adds the runs of ones in a word, whose lowest bit is the byte at an address.
void append_runs(std::uint64_t word, std::uint64_t address, ByteRanges& to) {
    while (word != 0) {
        const int first = std::countr_zero(word);
        const int end = first + std::countr_one(word >> first);
        to.append({address + static_cast<std::uint64_t>(first),
                   address + static_cast<std::uint64_t>(end)});
        if (end == 64) return;
        word = word >> end << end;
    }
}

const ByteRanges& of(const TouchedBytes& touched, Touch touch) {
    return touched[static_cast<std::size_t>(touch)];
}

}  // namespace

void ByteRanges::append(ByteRange range) {
    if (!ranges_.empty() && range.first <= ranges_.back().end) {
        ranges_.back().end = std::max(ranges_.back().end, range.end);
    } else {
        ranges_.push_back(range);
    }
}

void ByteRanges::add(ByteRange range) {
    if (range.first >= range.end) return;
    if (ranges_.empty() || range.first >= ranges_.back().first) return append(range);
    // Those from `from` to `to` touch the range.
    const auto from = std::ranges::lower_bound(ranges_, range.first, {}, &ByteRange::end);
    auto to = from;
    for (; to != ranges_.end() && to->first <= range.end; ++to) {
        range.first = std::min(range.first, to->first);
        range.end = std::max(range.end, to->end);
    }
    ranges_.insert(ranges_.erase(from, to), range);
}

std::optional<ByteRange> ByteRanges::overlap(const ByteRanges& other) const {
    auto mine = ranges_.begin();
    auto theirs = other.ranges_.begin();
    while (mine != ranges_.end() && theirs != other.ranges_.end()) {
        const ByteRange both{std::max(mine->first, theirs->first),
                             std::min(mine->end, theirs->end)};
        if (both.first < both.end) return both;
        ++(mine->end <= theirs->end ? mine : theirs);
    }
    return std::nullopt;
}

std::optional<TouchConflict> conflict_of(const TouchedBytes& first, const TouchedBytes& second) {
    if (of(first, Touch::strong_write).overlap(of(second, Touch::strong_read))) return std::nullopt;
    std::optional<TouchConflict> found;
    for (std::size_t k = 0; k < touch_kinds; ++k) {
        for (std::size_t n = 0; n < touch_kinds; ++n) {
            if (!conflicting[k][n]) continue;
            const auto bytes = first[k].overlap(second[n]);
            if (bytes && (!found || bytes->first < found->bytes.first))
                found = {*bytes, static_cast<Touch>(k), static_cast<Touch>(n)};
        }
    }
    return found;
}

void TouchedPages::take(TouchedPages& other) {
    for (auto& [number, page] : other.pages_) {
        auto& mine = pages_[number];
        if (mine == nullptr) {
            mine = std::move(page);
            continue;
        }
        for (std::size_t kind = 0; kind < touch_kinds; ++kind) {
            for (std::size_t k = 0; k < mine->front().size(); ++k)
                (*mine)[kind][k] |= (*page)[kind][k];
        }
    }
    other.pages_.clear();
    other.last_ = nullptr;
}

TouchedBytes TouchedPages::take_ranges() {
    std::vector<std::uint64_t> numbers;
    numbers.reserve(pages_.size());
    for (const auto& [number, page] : pages_)
        numbers.push_back(number);
    std::ranges::sort(numbers);
    TouchedBytes ranges;
    for (const std::uint64_t number : numbers) {
        const Page& page = *pages_[number];
        for (std::size_t kind = 0; kind < touch_kinds; ++kind) {
            for (std::size_t k = 0; k < page[kind].size(); ++k)
                append_runs(page[kind][k], number * page_bytes + k * 64, ranges[kind]);
        }
    }
    pages_.clear();
    last_ = nullptr;
    return ranges;
}

}  // namespace lode::emulator
