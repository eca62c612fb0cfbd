// The keys, by OpenSSL.
#include "jit/store/signature.hpp"

#include <memory>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/rand.h>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr const char* algorithm = "ED25519";

/// OpenSSL without the host's configuration; never freed, since other threads may use it at exit.
OSSL_LIB_CTX* library() {
    static OSSL_LIB_CTX* const context = [] {
        OSSL_LIB_CTX* made = OSSL_LIB_CTX_new();
        if (made != nullptr) (void)OSSL_PROVIDER_load(made, "default");
        return made;
    }();
    return context;
}

template <auto free>
struct Free {
    template <class Object>
    void operator()(Object* object) const noexcept {
        free(object);
    }
};
using NativeKey = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using NativeDigest = std::unique_ptr<EVP_MD_CTX, Free<EVP_MD_CTX_free>>;
using NativeText = std::unique_ptr<BIO, Free<BIO_free_all>>;

const unsigned char* raw(std::span<const std::byte> bytes) noexcept {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// A passphrase is never asked for.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*context*/) {
    return -1;
}

NativeText reader_of(std::string_view text) {
    constexpr std::size_t longest = std::size_t{1} << 20;
    if (text.size() > longest) return nullptr;
    return NativeText(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string text_in(const NativeText& memory) {
    char* text = nullptr;
    const long size = BIO_get_mem_data(memory.get(), &text);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

std::optional<PublicKey> public_part(const NativeKey& key) {
    std::array<std::uint8_t, PublicKey::size> bytes{};
    std::size_t size = bytes.size();
    if (!key || EVP_PKEY_is_a(key.get(), algorithm) == 0 ||
        EVP_PKEY_get_raw_public_key(key.get(), bytes.data(), &size) != 1 || size != bytes.size())
        return std::nullopt;
    return PublicKey(bytes);
}

}  // namespace

PublicKey::PublicKey(const std::array<std::uint8_t, size>& bytes) : bytes_(bytes) {
    const Digest digest = sha256(std::as_bytes(std::span(bytes_)));
    std::copy_n(digest.bytes().begin(), KeyId::size, id_.bytes.begin());
}

bool PublicKey::verifies(std::span<const std::byte> text,
                         const Signature& signature) const noexcept {
    const NativeKey key(EVP_PKEY_new_raw_public_key_ex(library(), algorithm, nullptr, bytes_.data(),
                                                       bytes_.size()));
    const NativeDigest context(EVP_MD_CTX_new());
    return key && context &&
           EVP_DigestVerifyInit_ex(context.get(), nullptr, nullptr, library(), nullptr, key.get(),
                                   nullptr) == 1 &&
           EVP_DigestVerify(context.get(), signature.bytes.data(), signature.bytes.size(),
                            raw(text), text.size()) == 1;
}

std::string PublicKey::to_pem() const {
    const NativeKey key(EVP_PKEY_new_raw_public_key_ex(library(), algorithm, nullptr, bytes_.data(),
                                                       bytes_.size()));
    const NativeText memory(BIO_new(BIO_s_mem()));
    if (!key || !memory ||
        PEM_write_bio_PUBKEY_ex(memory.get(), key.get(), library(), nullptr) != 1)
        return {};
    return text_in(memory);
}

Result<PublicKey> PublicKey::from_pem(std::string_view pem) {
    const NativeText memory = reader_of(pem);
    NativeKey key(memory ? PEM_read_bio_PUBKEY_ex(memory.get(), nullptr, no_passphrase, nullptr,
                                                  library(), nullptr)
                         : nullptr);
    if (auto found = public_part(key)) return *found;
    return fail(Errc::invalid_argument, "This isn't an Ed25519 public key in a PEM block.");
}

SecretKey::~SecretKey() {
    OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

Result<SecretKey> SecretKey::generate() {
    const NativeKey key(EVP_PKEY_Q_keygen(library(), nullptr, algorithm));
    const auto public_key = public_part(key);
    std::array<std::uint8_t, size> bytes{};
    std::size_t got = bytes.size();
    if (!public_key || EVP_PKEY_get_raw_private_key(key.get(), bytes.data(), &got) != 1 ||
        got != bytes.size()) {
        return fail(Errc::file_failed, "OpenSSL can't make an Ed25519 key.");
    }
    SecretKey secret(bytes, *public_key);
    OPENSSL_cleanse(bytes.data(), bytes.size());
    return secret;
}

Result<SecretKey> SecretKey::from_pem(std::string_view pem) {
    const NativeText memory = reader_of(pem);
    const NativeKey key(memory ? PEM_read_bio_PrivateKey_ex(memory.get(), nullptr, no_passphrase,
                                                            nullptr, library(), nullptr)
                               : nullptr);
    const auto public_key = public_part(key);
    std::array<std::uint8_t, size> bytes{};
    std::size_t got = bytes.size();
    if (!public_key || EVP_PKEY_get_raw_private_key(key.get(), bytes.data(), &got) != 1 ||
        got != bytes.size())
        return fail(Errc::invalid_argument,
                    "This isn't an unencrypted Ed25519 private key in a PEM block.");
    SecretKey secret(bytes, *public_key);
    OPENSSL_cleanse(bytes.data(), bytes.size());
    return secret;
}

std::string SecretKey::to_pem() const {
    const NativeKey key(EVP_PKEY_new_raw_private_key_ex(library(), algorithm, nullptr,
                                                        bytes_.data(), bytes_.size()));
    const NativeText memory(BIO_new(BIO_s_secmem()));
    if (!key || !memory ||
        PEM_write_bio_PrivateKey_ex(memory.get(), key.get(), nullptr, nullptr, 0, no_passphrase,
                                    nullptr, library(), nullptr) != 1)
        return {};
    return text_in(memory);
}

Signature SecretKey::sign(std::span<const std::byte> text) const {
    Signature signature{public_key_.id(), {}};
    std::size_t length = signature.bytes.size();
    const NativeKey key(EVP_PKEY_new_raw_private_key_ex(library(), algorithm, nullptr,
                                                        bytes_.data(), bytes_.size()));
    const NativeDigest context(EVP_MD_CTX_new());
    // It fails only without memory; a signature of zeros is refused by everyone.
    if (!key || !context ||
        EVP_DigestSignInit_ex(context.get(), nullptr, nullptr, library(), nullptr, key.get(),
                              nullptr) != 1 ||
        EVP_DigestSign(context.get(), signature.bytes.data(), &length, raw(text), text.size()) != 1)
        signature.bytes = {};
    return signature;
}

}  // namespace LODE_NAMESPACE::cache
