// Keys and signed caches for tests.
#pragma once

#include "jit/store/key_files.hpp"
#include "tests/unit/jit/cache/scratch.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/jit/cache.hpp>

#include <filesystem>
#include <string>

namespace LODE_NAMESPACE::cache {

/// A new key, in the files `name` and `name`.pub.
inline SecretKey make_key(const Scratch& scratch, const std::string& name) {
    auto key = unwrap(SecretKey::generate());
    REQUIRE(write_key_pair(scratch / name, key));
    return key;
}

/// A cache that signs with the key `name`.
inline CacheOptions signing(const Scratch& scratch, const std::string& folder,
                            const std::string& name) {
    CacheOptions options;
    options.folder = scratch / folder;
    options.sign_with = scratch / name;
    return options;
}

/// A cache that takes only what these keys have signed.
inline CacheOptions trusting(const Scratch& scratch, const std::string& folder,
                             const std::vector<std::string>& files) {
    CacheOptions options;
    options.folder = scratch / folder;
    options.trust = CacheTrust::signed_only;
    for (const auto& file : files)
        options.keys.push_back(scratch / file);
    return options;
}

}  // namespace LODE_NAMESPACE::cache
