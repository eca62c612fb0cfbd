/// \file
/// RemoteCacheOptions: a cache that several machines share, asked after the folder of each.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Where the shared cache is, and what it may cost. Credentials never appear in messages.
struct RemoteCacheOptions {
    /// 64 MiB.
    static constexpr std::size_t default_record_bytes = std::size_t{64} << 20;

    /// `http://host[:port][/path]`, `https://…`: a server of Bazel's HTTP cache protocol.
    /// `redis://host[:port][/database]`, `redis+unix:///path`: Redis or Valkey. Empty for none. It
    /// contains no credentials.
    std::string url = {};
    bool read_only = false;  ///< Write nothing to it, and take no leases.

    std::string user = {};      ///< For basic authentication, or the user of Redis.
    std::string password = {};  ///< The same.
    std::string token = {};     ///< For bearer authentication; not together with `user`.
    /// Certificates to trust instead of the system's, as a PEM file; empty for the system's.
    std::filesystem::path ca_file = {};
    /// The client's certificate and its private key, as PEM files; empty for none.
    std::filesystem::path certificate_file = {};
    std::filesystem::path key_file = {};  ///< See certificate_file.

    /// A read without a byte of the answer after this time is a fault; it includes connecting.
    std::chrono::milliseconds first_byte{200};
    std::chrono::milliseconds read_total{2000};   ///< The limit of one read.
    std::chrono::milliseconds write_total{5000};  ///< The limit of one write, in the background.
    /// How long the end of the cache waits for writes, and CachedCompiler::quiesce().
    std::chrono::milliseconds drain{2000};
    /// How long the first fault that opens the breaker keeps the remote unused; each further one
    /// doubles the time, up to ten minutes. A background thread then tries the remote.
    std::chrono::milliseconds retry_after{30'000};
    int most_faults = 3;  ///< This many consecutive faults open the breaker; one time-out does.

    /// A lease of a compilation ends after this time unless its holder renews it.
    std::chrono::milliseconds lease{15'000};

    std::size_t queue_records = 1024;                     ///< The most writes that wait.
    std::size_t queue_bytes = std::size_t{64} << 20;      ///< The same in bytes.
    std::size_t max_record_bytes = default_record_bytes;  ///< Larger records aren't shared.

    /// Whether there is a remote.
    [[nodiscard]] bool is_set() const noexcept { return !url.empty(); }

    /// Checks the URL and the combination of credentials. Errors: invalid_argument.
    [[nodiscard]] Status check() const;

    /// Options from LODE_CACHE_REMOTE (`URL[,read-only]`), LODE_CACHE_REMOTE_USER,
    /// LODE_CACHE_REMOTE_PASSWORD, LODE_CACHE_REMOTE_TOKEN, LODE_CACHE_REMOTE_CA,
    /// LODE_CACHE_REMOTE_CERT and LODE_CACHE_REMOTE_KEY. Errors: invalid_argument.
    [[nodiscard]] static Result<RemoteCacheOptions> from_environment();
};

}  // namespace LODE_NAMESPACE

LODE_API_END
