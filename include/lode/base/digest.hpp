/// \file
/// SHA-256 digests, computed by OpenSSL.
#pragma once

#include <lode/base/api.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// A SHA-256 digest; all zeros when default-constructed. A plain value.
class Digest {
public:
    /// Bytes in a digest.
    static constexpr std::size_t size = 32;

    constexpr Digest() noexcept = default;
    /// A digest computed elsewhere.
    constexpr explicit Digest(const std::array<std::uint8_t, size>& bytes) noexcept
        : bytes_(bytes) {}

    /// The 32 bytes, in order.
    [[nodiscard]] constexpr const std::array<std::uint8_t, size>& bytes() const noexcept {
        return bytes_;
    }
    /// 64 lower-case hexadecimal digits.
    [[nodiscard]] std::string to_hex() const;

    /// Orders byte by byte.
    friend auto operator<=>(const Digest&, const Digest&) noexcept = default;

private:
    std::array<std::uint8_t, size> bytes_{};
};

/// The SHA-256 of a sequence of bytes. Neither reads the host's OpenSSL configuration nor loads
/// OpenSSL's providers.
Digest sha256(std::span<const std::byte> bytes);
/// The SHA-256 of a text's bytes.
Digest sha256(std::string_view text);

/// Computes a SHA-256 piece by piece. Not thread-safe.
class Hasher {
public:
    /// Starts empty.
    Hasher();
    ~Hasher();
    /// Takes over the other's state; a moved-from Hasher can only be assigned to or destroyed.
    Hasher(Hasher&&) noexcept;
    /// Takes over the other's state, as the constructor does.
    Hasher& operator=(Hasher&&) noexcept;
    Hasher(const Hasher&) = delete;
    Hasher& operator=(const Hasher&) = delete;

    /// Adds raw bytes, with no delimiter.
    Hasher& update(std::span<const std::byte> bytes);
    /// Adds a text as a delimited field, tagged with its type: two different lists of fields never
    /// add the same bytes.
    Hasher& field(std::string_view text);
    /// Adds a number as a field of its own type, so its bytes never equal those of a text.
    Hasher& field(std::uint64_t number);

    /// The digest of everything added so far. The Hasher is then empty again.
    Digest finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
