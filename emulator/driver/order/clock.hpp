// What happens before a point of the program: for each stream, how much of its work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lode::emulator::driver {

/// Tickets by the numbers of streams: all work of a stream up to its ticket. A value.
class Clock {
public:
    [[nodiscard]] std::uint64_t time_of(std::uint64_t stream) const noexcept {
        const auto at = std::ranges::lower_bound(entries_, stream, {}, &Entry::first);
        return at != entries_.end() && at->first == stream ? at->second : 0;
    }
    /// Makes the time of a stream at least `ticket`.
    void advance(std::uint64_t stream, std::uint64_t ticket) {
        const auto at = std::ranges::lower_bound(entries_, stream, {}, &Entry::first);
        if (at != entries_.end() && at->first == stream) {
            at->second = std::max(at->second, ticket);
        } else {
            entries_.insert(at, {stream, ticket});
        }
    }
    void join(const Clock& other) {
        for (const auto& [stream, ticket] : other.entries_)
            advance(stream, ticket);
    }
    /// Forgets the streams for which `is_past(stream, ticket)`.
    template <class IsPast>
    void forget(IsPast&& is_past) {
        std::erase_if(entries_, [&](const Entry& it) { return is_past(it.first, it.second); });
    }

private:
    using Entry = std::pair<std::uint64_t, std::uint64_t>;
    std::vector<Entry> entries_;  ///< By ascending stream.
};
using ClockRef = std::shared_ptr<const Clock>;

}  // namespace lode::emulator::driver
