// Signatures of records: which keys vouch for a record, wherever it comes from.
//
//   signed record = sealed file, signatures
//   signatures    = magic "lodesign", version u32 = 1, count u32, count × (key id, 64 bytes)
//   signed text   = "lode cache record 1\n", kind u8, record digest, the sealed file's seal
//
// The seal covers every byte of the sealed file, and the record's kind and digest are the place
// where it is stored, so that a record moved to another place is as invalid as a changed one. The
// signatures are Ed25519 (RFC 8032), made by OpenSSL.
#pragma once

#include "jit/request/bytes.hpp"
#include "jit/store/tier.hpp"

#include <lode/base/error.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// The first 16 bytes of the SHA-256 of a public key's 32 bytes.
struct KeyId {
    static constexpr std::size_t size = 16;
    std::array<std::uint8_t, size> bytes{};

    /// 32 lower-case hexadecimal digits.
    [[nodiscard]] std::string to_hex() const;
    /// nullopt unless the text is 32 lower-case hexadecimal digits.
    [[nodiscard]] static std::optional<KeyId> from_hex(std::string_view hex) noexcept;

    friend auto operator<=>(const KeyId&, const KeyId&) noexcept = default;
};

/// One key's signature of one record.
struct Signature {
    static constexpr std::size_t size = 64;
    KeyId key;
    std::array<std::uint8_t, size> bytes{};

    friend bool operator==(const Signature&, const Signature&) = default;
};

/// An Ed25519 public key.
class PublicKey {
public:
    static constexpr std::size_t size = 32;
    explicit PublicKey(const std::array<std::uint8_t, size>& bytes);

    [[nodiscard]] const KeyId& id() const noexcept { return id_; }
    /// Whether the key's owner has signed this text.
    [[nodiscard]] bool verifies(std::span<const std::byte> text,
                                const Signature& signature) const noexcept;
    /// A PEM block of type "PUBLIC KEY", as other tools read and write it.
    [[nodiscard]] std::string to_pem() const;
    /// The key in one PEM block. Accepts any text. Errors: invalid_argument, without the text's
    /// origin.
    [[nodiscard]] static Result<PublicKey> from_pem(std::string_view pem);

    friend bool operator==(const PublicKey&, const PublicKey&) = default;

private:
    std::array<std::uint8_t, size> bytes_;
    KeyId id_;
};

/// An Ed25519 secret key. Its bytes are erased with the object.
class SecretKey {
public:
    static constexpr std::size_t size = 32;
    SecretKey(const SecretKey&) = default;
    SecretKey& operator=(const SecretKey&) = default;
    ~SecretKey();

    /// A new key. Errors: file_failed if the system gives no random bytes.
    [[nodiscard]] static Result<SecretKey> generate();
    /// The key in one unencrypted PEM block of type "PRIVATE KEY". Accepts any text; never asks
    /// for a passphrase. Errors: invalid_argument, without the text's origin.
    [[nodiscard]] static Result<SecretKey> from_pem(std::string_view pem);

    [[nodiscard]] std::string to_pem() const;
    [[nodiscard]] const PublicKey& public_key() const noexcept { return public_key_; }
    [[nodiscard]] Signature sign(std::span<const std::byte> text) const;

private:
    SecretKey(const std::array<std::uint8_t, size>& bytes, const PublicKey& public_key)
        : bytes_(bytes), public_key_(public_key) {}
    std::array<std::uint8_t, size> bytes_;
    PublicKey public_key_;
};

/// A record's bytes, taken apart. `sealed` is a view into the record's bytes.
struct SignedRecord {
    std::span<const std::byte> sealed;
    std::vector<Signature> signatures;  ///< Each by another key; at most max_signatures.
};
inline constexpr std::uint32_t max_signatures = 16;

/// Takes a record apart without verifying anything: a record without signatures is all sealed
/// file. Accepts any bytes; fuzzed. Errors: invalid_image if what follows the sealed file isn't
/// signatures.
[[nodiscard]] Result<SignedRecord> split_record(std::span<const std::byte> bytes);

/// The opposite of split_record().
[[nodiscard]] Bytes join_record(std::span<const std::byte> sealed,
                                std::span<const Signature> signatures);

/// The text that signatures of this record sign; empty if the bytes are too short for a seal. A
/// caller that relies on a signature must also parse the sealed file, which compares it with its
/// seal.
[[nodiscard]] Bytes signed_text(const RecordKey& key, std::span<const std::byte> sealed);

/// The record with one more signature, in place of an older one by the same key. Errors:
/// invalid_image if it can't be taken apart; invalid_argument if max_signatures other keys have
/// signed it.
[[nodiscard]] Result<Bytes> add_signature(const RecordKey& key, std::span<const std::byte> bytes,
                                          const SecretKey& secret);

}  // namespace LODE_NAMESPACE::cache
