#include "jit/store/signature.hpp"

#include "base/try.hpp"
#include "jit/store/sealed_file.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::string_view signatures_magic = "lodesign";
constexpr std::uint32_t signatures_version = 1;
/// Begins every text that lode signs, so that no signature of something else is one of a record.
constexpr std::string_view signature_domain = "lode cache record 1\n";

std::optional<std::uint8_t> nibble(char digit) noexcept {
    if (digit >= '0' && digit <= '9') return static_cast<std::uint8_t>(digit - '0');
    if (digit >= 'a' && digit <= 'f') return static_cast<std::uint8_t>(digit - 'a' + 10);
    return std::nullopt;
}

template <std::size_t size>
std::array<std::uint8_t, size> read_array(ByteReader& in) {
    std::array<std::uint8_t, size> out{};
    const auto bytes = in.raw(size);
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), size);
    return out;
}

}  // namespace

std::string KeyId::to_hex() const {
    std::string text;
    for (const std::uint8_t byte : bytes)
        text += fmt::format("{:02x}", byte);
    return text;
}

std::optional<KeyId> KeyId::from_hex(std::string_view hex) noexcept {
    KeyId id;
    if (hex.size() != 2 * size) return std::nullopt;
    for (std::size_t i = 0; i < size; ++i) {
        const auto high = nibble(hex[2 * i]);
        const auto low = nibble(hex[2 * i + 1]);
        if (!high || !low) return std::nullopt;
        id.bytes[i] = static_cast<std::uint8_t>(*high << 4 | *low);
    }
    return id;
}

Result<SignedRecord> split_record(std::span<const std::byte> bytes) {
    const auto size = sealed_size(bytes);
    if (!size || *size >= bytes.size()) return SignedRecord{bytes, {}};
    SignedRecord record{bytes.first(*size), {}};
    ByteReader in(bytes.subspan(*size));
    const bool is_known = as_text(in.raw(signatures_magic.size())) == signatures_magic &&
                          in.number<std::uint32_t>() == signatures_version;
    const auto count = in.number<std::uint32_t>();
    if (!is_known || count == 0 || count > max_signatures)
        return damaged("what follows its last section isn't signatures");
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        Signature signature{{read_array<KeyId::size>(in)}, read_array<Signature::size>(in)};
        if (std::ranges::find(record.signatures, signature.key, &Signature::key) !=
            record.signatures.end())
            return damaged("it has two signatures by one key");
        record.signatures.push_back(signature);
    }
    if (!in.ended()) return damaged("its signatures can't be parsed");
    return record;
}

Bytes join_record(std::span<const std::byte> sealed, std::span<const Signature> signatures) {
    ByteWriter out;
    out.raw(sealed);
    if (signatures.empty()) return std::move(out).take();
    out.raw(as_bytes(signatures_magic));
    out.number(signatures_version);
    out.count(signatures.size());
    for (const auto& signature : signatures) {
        out.raw(std::as_bytes(std::span(signature.key.bytes)));
        out.raw(std::as_bytes(std::span(signature.bytes)));
    }
    return std::move(out).take();
}

Bytes signed_text(const RecordKey& key, std::span<const std::byte> sealed) {
    const auto seal = seal_of(sealed);
    if (!seal) return {};
    ByteWriter out;
    out.raw(as_bytes(signature_domain));
    out.number(static_cast<std::uint8_t>(key.kind));
    out.raw(std::as_bytes(std::span(key.digest.bytes())));
    out.raw(*seal);
    return std::move(out).take();
}

Result<Bytes> add_signature(const RecordKey& key, std::span<const std::byte> bytes,
                            const SecretKey& secret) {
    LODE_TRY_ASSIGN(SignedRecord record, split_record(bytes));
    const Bytes text = signed_text(key, record.sealed);
    if (text.empty()) return damaged("it ends inside its table");
    std::erase_if(record.signatures, [&](const Signature& signature) {
        return signature.key == secret.public_key().id();
    });
    if (record.signatures.size() >= max_signatures) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} other keys have signed this record; that is the most.",
                                record.signatures.size()));
    }
    record.signatures.push_back(secret.sign(text));
    return join_record(record.sealed, record.signatures);
}

}  // namespace LODE_NAMESPACE::cache
