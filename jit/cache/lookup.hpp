// Lookup: searches the cache for a request. Writes only to the memory tier.
#pragma once

#include "jit/cache/prepared_request.hpp"
#include "jit/cache/storage.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/cache.hpp>

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// An entry that answers a request.
struct Hit {
    KeptImage kept;
    Digest key;             ///< The key of the entry.
    std::string_view tier;  ///< "memory", "disk", "pack" or "remote".
    /// The request's header set with new stamps, to be published; nullopt if the stamps still hold.
    std::optional<KnownSet> renewed = {};
};

/// Thread-safe.
class Lookup {
public:
    explicit Lookup(Storage& storage) noexcept : storage_(storage) {}

    /// Asks memory, the folder and the packs.
    [[nodiscard]] tl::expected<Hit, CacheMiss> find(const PreparedRequest& request) const;

    /// Asks the remote cache; headers are compared by content. A hit's header set is always to be
    /// published, in the folder, unless the request needs no manifest.
    [[nodiscard]] std::optional<Hit> find_remote(const PreparedRequest& request) const;

    /// The headers that the answer to a request depends on; nullopt if the cache doesn't know.
    [[nodiscard]] std::optional<std::vector<std::filesystem::path>> headers_of(
        const PreparedRequest& request) const;

    /// Whether the files are in the state for which the cache knows the entry `key`, although the
    /// entry itself may be gone; reads no entry. Adds the header set if it has new stamps.
    [[nodiscard]] bool is_current(const PreparedRequest& request, const Digest& key,
                                  std::optional<KnownSet>& fresh) const;

    /// The error of an earlier failed compilation that would fail the same way again.
    [[nodiscard]] std::optional<Error> find_failure(const PreparedRequest& request) const;

private:
    /// A header set that the files are in now.
    struct Current {
        KnownSet known;
        HeaderCheck check;
    };
    /// The first accepted set of the request's manifests that holds.
    [[nodiscard]] std::optional<Current> current_set(
        const PreparedRequest& request, const std::function<bool(const KnownSet&)>& accepts) const;
    [[nodiscard]] tl::expected<Hit, CacheMiss> find_in(const PreparedRequest& request,
                                                       const Manifest& manifest) const;

    Storage& storage_;
};

}  // namespace LODE_NAMESPACE::cache
