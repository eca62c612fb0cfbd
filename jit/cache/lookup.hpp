// Lookup: whether the cache answers a request. Writes no tier outside memory.
#pragma once

#include "jit/cache/prepared_request.hpp"
#include "jit/cache/storage.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/cache.hpp>

#include <optional>
#include <string_view>

namespace lode::cache {

/// An entry that answers a request.
struct Hit {
    KeptImage kept;
    Digest key;             ///< The entry's.
    std::string_view tier;  ///< "memory", "disk" or "pack".
    /// The request's header set with newer stamps, to be published; absent when they still hold.
    std::optional<HeaderSet> renewed = {};
};

/// Thread-safe.
class Lookup {
public:
    explicit Lookup(Storage& storage) noexcept : storage_(storage) {}

    [[nodiscard]] tl::expected<Hit, CacheMiss> find(const PreparedRequest& request) const;

    /// The error of a compilation that failed before and would fail again.
    [[nodiscard]] std::optional<Error> find_failure(const PreparedRequest& request) const;

private:
    [[nodiscard]] tl::expected<Hit, CacheMiss> find_in(const PreparedRequest& request,
                                                       const Manifest& manifest) const;

    Storage& storage_;
};

}  // namespace lode::cache
