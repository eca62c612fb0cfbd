// Publisher: stores the results of compilations.
#pragma once

#include "jit/cache/prepared_request.hpp"
#include "jit/cache/storage.hpp"
#include "jit/compile.hpp"

#include <lode/base/image.hpp>
#include <lode/jit/cache.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace LODE_NAMESPACE::cache {

/// Where a result was stored.
struct Published {
    Digest key = {};       ///< The key of the entry; all zeros if there is none.
    std::string not_kept;  ///< Why it isn't in the cache; empty if it is.
};

/// Thread-safe.
class Publisher {
public:
    explicit Publisher(Storage& storage) noexcept : storage_(storage) {}

    /// Stores an image in the folder and, in the background, in the remote cache, with the headers
    /// that it depends on.
    [[nodiscard]] Published publish(const PreparedRequest& request, const CompileFiles& files,
                                    const std::shared_ptr<const Image>& image,
                                    double compile_ms) const;

    /// The same with the headers themselves.
    [[nodiscard]] Published publish(const PreparedRequest& request, HeaderSet headers,
                                    const KeptImage& kept) const;

    /// Stores an image that depends only on its key.
    [[nodiscard]] Published publish(const Key& key, const std::shared_ptr<const Image>& image,
                                    double compile_ms) const;

    /// Stores a failed compilation, in memory only.
    void publish_failure(const PreparedRequest& request, const CompileFiles& files,
                         const Error& error) const;

    enum class When : std::uint8_t { now, later };
    /// Adds a header set to the request's manifest in the folder; `later` is in the background.
    void publish_headers(const PreparedRequest& request, KnownSet known,
                         When when = When::now) const;

    /// Removes an image, refused by the driver, from every tier.
    void withdraw(const CompileReport& report) const;

private:
    Storage& storage_;
};

}  // namespace LODE_NAMESPACE::cache
