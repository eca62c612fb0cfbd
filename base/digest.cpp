#include <lode/base/digest.hpp>

#include <stdexcept>

#include <openssl/evp.h>

namespace lode {
namespace {

/// What a field starts with, so that a number is never taken for a text's length.
constexpr std::byte text_tag{'t'};
constexpr std::byte number_tag{'n'};

std::array<std::byte, sizeof(std::uint64_t)> little_endian(std::uint64_t number) {
    std::array<std::byte, sizeof(number)> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(number >> (8 * i));
    }
    return bytes;
}

/// Fetched once: looking an algorithm up by name costs more than hashing a small kernel.
const EVP_MD* algorithm() {
    static EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    return fetched;
}

void require(bool ok) {
    if (!ok) throw std::runtime_error("OpenSSL refuses to compute SHA-256.");
}

}  // namespace

struct Hasher::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    State() { require(context != nullptr); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { EVP_MD_CTX_free(context); }
};

std::string Digest::to_hex() const {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * size);
    for (const std::uint8_t byte : bytes_) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

Digest sha256(std::span<const std::byte> bytes) {
    std::array<std::uint8_t, Digest::size> out{};
    require(EVP_Digest(bytes.data(), bytes.size(), out.data(), nullptr, algorithm(), nullptr) == 1);
    return Digest(out);
}

Digest sha256(std::string_view text) {
    return sha256(std::as_bytes(std::span(text)));
}

Hasher::Hasher() : state_(std::make_unique<State>()) {
    require(EVP_DigestInit_ex(state_->context, algorithm(), nullptr) == 1);
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::update(std::span<const std::byte> bytes) {
    require(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
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
    require(EVP_DigestFinal_ex(state_->context, out.data(), nullptr) == 1);
    require(EVP_DigestInit_ex(state_->context, algorithm(), nullptr) == 1);
    return Digest(out);
}

}  // namespace lode
