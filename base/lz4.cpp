#include "base/lz4.hpp"

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
    std::vector<std::byte> plain;
    BlockReader reader(block);
    while (reader.ok && !reader.at_end()) {
        const std::size_t token = reader.byte();
        const auto literals = reader.bytes(reader.length(token >> 4));
        if (literals.size() > plain_bytes - plain.size()) return std::nullopt;
        plain.insert(plain.end(), literals.begin(), literals.end());
        if (reader.at_end()) break;
        const std::size_t low = reader.byte();
        const std::size_t distance = low | reader.byte() << 8;
        const std::size_t count = reader.length(token & longest_short_length) + shortest_match;
        const bool is_valid = reader.ok && distance != 0 && distance <= plain.size() &&
                              count <= plain_bytes - plain.size();
        if (!is_valid) return std::nullopt;
        // Source and target may overlap: a match repeats what it has just copied.
        for (std::size_t i = 0; i < count; ++i)
            plain.push_back(plain[plain.size() - distance]);
    }
    if (!reader.ok || plain.size() != plain_bytes) return std::nullopt;
    return plain;
}

}  // namespace LODE_NAMESPACE
