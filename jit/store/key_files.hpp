// Files of keys: the keys that a cache trusts, and the key with which it signs.
//
// A file of keys has lines and PEM blocks:
//
//   # a comment
//   -----BEGIN PUBLIC KEY-----         a trusted Ed25519 key
//   …
//   -----END PUBLIC KEY-----
//   revoked 00112233445566778899aabbccddeeff   a key's id, and anything after it
//
// Anything else in it is an error, so that a slip never widens or narrows the trust unnoticed.
#pragma once

#include "jit/store/signature.hpp"

#include <lode/base/error.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// What files of keys say.
struct KeyRing {
    std::vector<PublicKey> trusted;
    std::vector<KeyId> revoked;  ///< Wins over `trusted`.

    [[nodiscard]] const PublicKey* find(const KeyId& id) const noexcept;
    [[nodiscard]] bool is_revoked(const KeyId& id) const noexcept;
};

/// Reads the text of one file. Accepts any text; fuzzed. Errors: invalid_argument with the line.
[[nodiscard]] Result<KeyRing> parse_keys(std::string_view text);

/// Reads a file, or all files of a folder whose names don't begin with a dot. Errors: not_found;
/// file_failed, also for a file or folder that other users may write to, or that belongs to neither
/// root nor this user; invalid_argument with the file and the line. All name the path.
[[nodiscard]] Result<KeyRing> read_keys(const std::filesystem::path& path);

/// Reads a secret key. Errors: not_found; file_failed, also if it belongs to neither root nor this
/// user, or other users may read it; invalid_argument if it isn't one. All name the path.
[[nodiscard]] Result<SecretKey> read_secret_key(const std::filesystem::path& file);

/// Writes a secret key to a new file of mode 0600, and its public key to `file` + ".pub". Errors:
/// file_failed, also if one of them exists.
[[nodiscard]] Status write_key_pair(const std::filesystem::path& file, const SecretKey& key);

}  // namespace LODE_NAMESPACE::cache
