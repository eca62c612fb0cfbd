#include <lode/base/digest.hpp>

// The only hashing interface of OpenSSL 3 that doesn't start OpenSSL's providers, which take longer
// than the rest of a warm start before the first launch.
// NOLINTNEXTLINE(readability-identifier-naming): the name is OpenSSL's.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace LODE_NAMESPACE {
namespace {

/// Prefix of a text field, so that a number is never mistaken for a text's length.
constexpr std::byte text_tag{'t'};
constexpr std::byte number_tag{'n'};

std::array<std::byte, sizeof(std::uint64_t)> little_endian(std::uint64_t number) {
    std::array<std::byte, sizeof(number)> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(number >> (8 * i));
    }
    return bytes;
}

}  // namespace

struct Hasher::State {
    SHA256_CTX context;
};

std::string Digest::to_hex() const {
    constexpr char digits[] = "0123456789abcdef";
    std::string text(2 * size, '0');
    for (std::size_t i = 0; i < size; ++i) {
        text[2 * i] = digits[bytes_[i] >> 4];
        text[2 * i + 1] = digits[bytes_[i] & 15];
    }
    return text;
}

Digest sha256(std::span<const std::byte> bytes) {
    return Hasher().update(bytes).finish();
}

Digest sha256(std::string_view text) {
    return sha256(std::as_bytes(std::span(text)));
}

Hasher::Hasher() : state_(std::make_unique<State>()) {
    SHA256_Init(&state_->context);
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::update(std::span<const std::byte> bytes) {
    SHA256_Update(&state_->context, bytes.data(), bytes.size());
    return *this;
}

Hasher& Hasher::field(std::string_view text) {
    update(std::span(&text_tag, 1));
    update(little_endian(text.size()));
    return update(std::as_bytes(std::span(text)));
}

Hasher& Hasher::field(std::uint64_t number) {
    update(std::span(&number_tag, 1));
    return update(little_endian(number));
}

Digest Hasher::finish() {
    std::array<std::uint8_t, Digest::size> out{};
    SHA256_Final(out.data(), &state_->context);
    SHA256_Init(&state_->context);
    return Digest(out);
}

}  // namespace LODE_NAMESPACE
