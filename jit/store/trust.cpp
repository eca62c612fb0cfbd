#include "jit/store/trust.hpp"

#include "base/try.hpp"

#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {

Trust::Trust(CacheTrust mode, KeyRing keys, std::optional<SecretKey> secret)
    : mode_(secret ? CacheTrust::signed_only : mode),
      keys_(std::move(keys)),
      secret_(std::move(secret)) {
    if (secret_ && keys_.find(secret_->public_key().id()) == nullptr)
        keys_.trusted.push_back(secret_->public_key());
}

Trust Trust::read(const CacheOptions& options, std::optional<Error>& problem) {
    const bool is_strict = options.trust == CacheTrust::signed_only || !options.sign_with.empty();
    if (!is_strict) return {};
    KeyRing keys;
    for (const auto& path : options.keys) {
        auto read = read_keys(path);
        if (!read) {
            problem = std::move(read).error();
            return {CacheTrust::signed_only, {}, {}};
        }
        keys.trusted.insert(keys.trusted.end(), read->trusted.begin(), read->trusted.end());
        keys.revoked.insert(keys.revoked.end(), read->revoked.begin(), read->revoked.end());
    }
    if (options.sign_with.empty()) {
        if (keys.trusted.empty()) {
            problem = Error{Errc::invalid_argument,
                            "Only signed records are taken, but no key is trusted: set "
                            "LODE_CACHE_KEYS."};
        }
        return {CacheTrust::signed_only, std::move(keys), {}};
    }
    auto secret = read_secret_key(options.sign_with);
    if (!secret) {
        problem = std::move(secret).error();
        return {CacheTrust::signed_only, std::move(keys), {}};
    }
    if (keys.is_revoked(secret->public_key().id())) {
        problem =
            Error{Errc::invalid_argument,
                  fmt::format("The key {} of '{}' is revoked, so nothing is signed.",
                              secret->public_key().id().to_hex(), options.sign_with.string())};
        return {CacheTrust::signed_only, std::move(keys), {}};
    }
    return {CacheTrust::signed_only, std::move(keys), *std::move(secret)};
}

Result<tl::expected<AdmittedRecord, Distrust>> Trust::admit(
    const RecordKey& key, std::span<const std::byte> bytes) const {
    LODE_TRY_ASSIGN(const SignedRecord record, split_record(bytes));
    if (!is_strict()) return AdmittedRecord{record.sealed};
    const Bytes text = signed_text(key, record.sealed);
    std::optional<AdmittedRecord> admitted;
    std::optional<Distrust> distrust;
    for (const auto& signature : record.signatures) {
        const std::string id = signature.key.to_hex();
        const PublicKey* signer = keys_.find(signature.key);
        if (keys_.is_revoked(signature.key)) {
            distrust = {id, fmt::format("the key {} that signed it is revoked", id)};
        } else if (signer == nullptr) {
            if (!distrust)
                distrust = {id, fmt::format("nobody trusts the key {} that signed it", id)};
        } else if (text.empty() || !signer->verifies(text, signature)) {
            distrust = {id, fmt::format("its signature by the key {} is wrong", id)};
        } else {
            const bool is_own = secret_ && secret_->public_key() == *signer;
            if (!admitted || is_own) admitted = {record.sealed, is_own};
        }
    }
    if (admitted) return *admitted;
    if (!distrust) distrust = {{}, "it isn't signed"};
    return tl::expected<AdmittedRecord, Distrust>(tl::unexpected<Distrust>(*std::move(distrust)));
}

Bytes Trust::seal_with_signature(const RecordKey& key, std::span<const std::byte> sealed) const {
    if (!secret_) return {sealed.begin(), sealed.end()};
    const Signature signature = secret_->sign(signed_text(key, sealed));
    return join_record(sealed, std::span(&signature, 1));
}

}  // namespace LODE_NAMESPACE::cache
