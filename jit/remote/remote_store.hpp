// RemoteStore: a server that keeps blobs by name, for RemoteTier.
#pragma once

#include "jit/request/bytes.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/remote_cache.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// The name of a blob.
struct BlobName {
    enum class Space : std::uint8_t {
        actions,  ///< Named by a key; can be replaced.
        contents  ///< Named by the SHA-256 of its bytes.
    };

    Space space = Space::actions;
    Digest digest = {};

    friend auto operator<=>(const BlobName&, const BlobName&) = default;
};

/// A blob, nothing, or a fault.
using BlobResult = Result<std::optional<Bytes>>;

/// Thread-safe. Every call ends within the deadlines of the options. Bytes are unverified. Errors:
/// timed_out, or file_failed for any other fault; messages name the server, never a credential.
class RemoteStore {
public:
    RemoteStore() = default;
    virtual ~RemoteStore() = default;
    RemoteStore(const RemoteStore&) = delete;
    RemoteStore& operator=(const RemoteStore&) = delete;

    /// Blobs up to this size belong in an action instead of a place of their own.
    [[nodiscard]] virtual std::size_t inline_limit() const noexcept = 0;

    /// The blobs of several names, in their order, in as few round trips as the server allows.
    [[nodiscard]] virtual std::vector<BlobResult> get(std::span<const BlobName> names) = 0;
    [[nodiscard]] virtual Status put(const BlobName& name, std::span<const std::byte> bytes) = 0;
    /// Does nothing if there is no such blob, or if the server removes nothing on request.
    [[nodiscard]] virtual Status remove(const BlobName& name) = 0;

    /// Whether the server answers.
    [[nodiscard]] virtual Status ping() = 0;

    /// Whether the server has leases.
    [[nodiscard]] virtual bool has_leases() const noexcept { return false; }
    /// Takes the lease `name` for `owner` unless another has it; true if it was taken.
    [[nodiscard]] virtual Result<bool> acquire(const Digest& name, const std::string& owner,
                                               std::chrono::milliseconds time);
    /// Extends a lease that is still the owner's.
    [[nodiscard]] virtual Status renew(const Digest& name, const std::string& owner,
                                       std::chrono::milliseconds time);
    /// Gives a lease back if it is still the owner's.
    [[nodiscard]] virtual Status release(const Digest& name, const std::string& owner);

    /// Ends writes that are under way and refuses further calls.
    virtual void abandon() noexcept = 0;

    /// Closes the connections that no call uses; later calls open new ones.
    virtual void quiesce() noexcept = 0;
};

/// The store of a URL. Opens the client's library, not a connection. Errors: not_supported if lode
/// was built without that client; not_found if its library can't be opened.
[[nodiscard]] Result<std::unique_ptr<RemoteStore>> open_remote_store(
    const RemoteCacheOptions& options);

/// The parts of a URL that RemoteCacheOptions::check() accepts.
struct RemoteUrl {
    std::string scheme;
    std::string host;  ///< With brackets if it is an IPv6 address.
    int port = 0;
    std::string path;  ///< Without a slash at the end.
};
[[nodiscard]] Result<RemoteUrl> parse_remote_url(std::string_view url);

}  // namespace LODE_NAMESPACE::cache
