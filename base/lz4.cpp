#include "base/lz4.hpp"

#include <algorithm>

namespace LODE_NAMESPACE {
namespace {

constexpr std::size_t longest_short_length = 15;  // In half a byte; more bytes follow.
constexpr std::size_t shortest_match = 4;

/// Reads a block byte by byte; a read past its end clears `ok`.
class BlockReader {
public:
    explicit BlockReader(std::span<const std::byte> block) noexcept : rest_(block) {}

    std::size_t byte() noexcept {
        if (rest_.empty()) {
            ok = false;
            return 0;
        }
        const auto value = std::to_integer<std::size_t>(rest_.front());
        rest_ = rest_.subspan(1);
        return value;
    }
    /// A length whose first part is half a byte.
    std::size_t length(std::size_t half) noexcept {
        constexpr std::size_t full_byte = 255;
        std::size_t total = half;
        if (half < longest_short_length) return total;
        std::size_t more = full_byte;
        while (more == full_byte && ok) {
            more = byte();
            total += more;
        }
        return total;
    }
    std::span<const std::byte> bytes(std::size_t count) noexcept {
        if (count > rest_.size()) {
            ok = false;
            return {};
        }
        const auto taken = rest_.first(count);
        rest_ = rest_.subspan(count);
        return taken;
    }
    [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

    bool ok = true;

private:
    std::span<const std::byte> rest_;
};

}  // namespace

// A block is a list of sequences: a token with two half-byte lengths, bytes to copy from the block,
// and a match to copy from the output; the last sequence has no match.
std::optional<std::vector<std::byte>> decompress_lz4(std::span<const std::byte> block,
                                                     std::size_t plain_bytes) {
    constexpr std::size_t most_of_a_byte = 255;  // A byte of a block makes at most so many.
    if (plain_bytes / most_of_a_byte > block.size()) return std::nullopt;
    std::vector<std::byte> plain(plain_bytes);
    std::size_t done = 0;
    const auto copy = [&](const std::byte* from, std::size_t count) {
        std::copy_n(from, count, plain.data() + done);
        done += count;
    };
    BlockReader reader(block);
    while (reader.ok && !reader.at_end()) {
        const std::size_t token = reader.byte();
        const auto literals = reader.bytes(reader.length(token >> 4));
        if (literals.size() > plain_bytes - done) return std::nullopt;
        copy(literals.data(), literals.size());
        if (reader.at_end()) break;
        const std::size_t low = reader.byte();
        const std::size_t distance = low | reader.byte() << 8;
        std::size_t count = reader.length(token & longest_short_length) + shortest_match;
        const bool is_valid =
            reader.ok && distance != 0 && distance <= done && count <= plain_bytes - done;
        if (!is_valid) return std::nullopt;
        // Source and target may overlap: a match repeats what it has just copied.
        for (const std::byte* const from = plain.data() + done - distance; count != 0;) {
            const auto part = std::min<std::size_t>(count, plain.data() + done - from);
            copy(from, part);
            count -= part;
        }
    }
    if (!reader.ok || done != plain_bytes) return std::nullopt;
    return plain;
}

}  // namespace LODE_NAMESPACE
