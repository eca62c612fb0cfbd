// The bytes that an operation reads and writes: a kernel, a copy, a fill. Two operations without an
// order between them must not touch the same bytes, unless both read, or both are strong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace lode::emulator {

/// How an operation touches a byte.
enum class Touch : std::uint8_t {
    read,
    write,
    same_write,    ///< The byte keeps its value.
    strong_read,   ///< In the scope of the device, as the next.
    strong_write,  ///< Or an atomic.
};
inline constexpr std::size_t touch_kinds = 5;

/// The addresses from `first` up to `end`.
struct ByteRange {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
};

/// Disjoint ranges by ascending address, and none that touches the next.
class ByteRanges {
public:
    /// Adds a range that starts at or after the last one's start.
    void append(ByteRange range);
    /// Adds a range anywhere.
    void add(ByteRange range);
    [[nodiscard]] const std::vector<ByteRange>& all() const noexcept { return ranges_; }
    /// The first range of bytes in both.
    [[nodiscard]] std::optional<ByteRange> overlap(const ByteRanges& other) const;

private:
    std::vector<ByteRange> ranges_;
};

using TouchedBytes = std::array<ByteRanges, touch_kinds>;

/// Bytes that two operations in no order must not both touch as they do.
struct TouchConflict {
    ByteRange bytes;
    Touch first = Touch::read;
    Touch second = Touch::read;
};

/// The first such bytes of an operation and a later one. None if the later one has read what the
/// first has written by a strong write: then the kernels may order themselves.
[[nodiscard]] std::optional<TouchConflict> conflict_of(const TouchedBytes& first,
                                                       const TouchedBytes& second);

/// Collects touched bytes, access by access.
class TouchedPages {
public:
    void add(Touch touch, std::uint64_t address, std::size_t bytes) {
        while (bytes != 0) {
            const std::uint64_t in_page = address % page_bytes;
            const std::size_t here = bytes < page_bytes - in_page ? bytes : page_bytes - in_page;
            Page& page = page_at(address / page_bytes);
            mark(page[static_cast<std::size_t>(touch)], in_page, here);
            address += here;
            bytes -= here;
        }
    }
    /// Takes over what another has collected.
    void take(TouchedPages& other);
    /// Returns everything, and forgets it.
    [[nodiscard]] TouchedBytes take_ranges();

private:
    static constexpr std::uint64_t page_bytes = 4096;
    using Bits = std::array<std::uint64_t, page_bytes / 64>;
    using Page = std::array<Bits, touch_kinds>;

    Page& page_at(std::uint64_t number) {
        if (last_ != nullptr && number == last_number_) [[likely]]
            return *last_;
        auto& page = pages_[number];
        if (page == nullptr) page = std::make_unique<Page>();
        last_ = page.get();
        last_number_ = number;
        return *page;
    }
    static void mark(Bits& bits, std::uint64_t first, std::size_t count) noexcept {
        while (count != 0) {
            const std::uint64_t shift = first % 64;
            const std::size_t here = count < 64 - shift ? count : 64 - shift;
            bits[first / 64] |= (~std::uint64_t{0} >> (64 - here)) << shift;
            first += here;
            count -= here;
        }
    }

    std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
    std::uint64_t last_number_ = 0;
    Page* last_ = nullptr;
};

}  // namespace lode::emulator
