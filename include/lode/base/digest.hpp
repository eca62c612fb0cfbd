// SHA-256 digests, by OpenSSL.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lode {

/// 256 bits that stand for some bytes.
class Digest {
public:
    static constexpr std::size_t size = 32;

    constexpr Digest() noexcept = default;
    constexpr explicit Digest(const std::array<std::uint8_t, size>& bytes) noexcept
        : bytes_(bytes) {}

    [[nodiscard]] constexpr const std::array<std::uint8_t, size>& bytes() const noexcept {
        return bytes_;
    }
    /// 64 lower-case hexadecimal digits.
    [[nodiscard]] std::string to_hex() const;

    friend auto operator<=>(const Digest&, const Digest&) noexcept = default;

private:
    std::array<std::uint8_t, size> bytes_{};
};

/// The SHA-256 of some bytes. Nothing of the host's OpenSSL configuration is read or started.
Digest sha256(std::span<const std::byte> bytes);
Digest sha256(std::string_view text);

/// A SHA-256 built up piece by piece. Not thread-safe; a moved-from Hasher can only be assigned to.
class Hasher {
public:
    Hasher();
    ~Hasher();
    Hasher(Hasher&&) noexcept;
    Hasher& operator=(Hasher&&) noexcept;
    Hasher(const Hasher&) = delete;
    Hasher& operator=(const Hasher&) = delete;

    /// Raw bytes, with no delimiter.
    Hasher& update(std::span<const std::byte> bytes);
    /// A delimited field, tagged with its type: two different lists of fields never give the same
    /// stream, whatever the texts hold.
    Hasher& field(std::string_view text);
    Hasher& field(std::uint64_t number);

    /// The digest of everything so far; the Hasher starts anew.
    Digest finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace lode
