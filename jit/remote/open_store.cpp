// The options of the remote cache: their URL, their variables, and the store that they name.
#include "base/try.hpp"
#include "jit/remote/remote_store.hpp"
#if __has_include(<curl/curl.h>)
#include "jit/remote/http_store.hpp"
#endif
#if __has_include(<hiredis/hiredis.h>)
#include "jit/remote/redis_store.hpp"
#endif

#include <lode/base/environment.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace cache {
namespace {

/// Control characters could add lines to a request.
bool has_control_characters(std::string_view text) {
    return std::ranges::any_of(text, [](char c) {
        const auto code = static_cast<unsigned char>(c);
        return code < 0x20 || code == 0x7f;
    });
}

/// Names the scheme alone: the rest may hold a password in a wrong place.
tl::unexpected<Error> bad_url(std::string_view scheme, std::string_view why) {
    return fail(Errc::invalid_argument,
                scheme.empty()
                    ? fmt::format("The remote cache's URL is wrong: {}.", why)
                    : fmt::format("The remote cache's URL '{}://…' is wrong: {}.", scheme, why));
}

}  // namespace

Result<bool> RemoteStore::acquire(const Digest& /*name*/, const std::string& /*owner*/,
                                  std::chrono::milliseconds /*time*/) {
    return fail(Errc::not_supported, "This server has no leases.");
}

Status RemoteStore::renew(const Digest& /*name*/, const std::string& /*owner*/,
                          std::chrono::milliseconds /*time*/) {
    return fail(Errc::not_supported, "This server has no leases.");
}

Status RemoteStore::release(const Digest& /*name*/, const std::string& /*owner*/) {
    return fail(Errc::not_supported, "This server has no leases.");
}

Result<RemoteUrl> parse_remote_url(std::string_view url) {
    constexpr std::string_view separator = "://";
    // The text may hold a password, so that this message doesn't quote it.
    if (url.find('@') != std::string_view::npos) {
        return fail(Errc::invalid_argument,
                    "The remote cache's URL contains a user or a password ('@'); set "
                    "LODE_CACHE_REMOTE_USER and LODE_CACHE_REMOTE_PASSWORD, or "
                    "LODE_CACHE_REMOTE_TOKEN, instead.");
    }
    if (has_control_characters(url) || url.find_first_of(" ?#\\\"") != std::string_view::npos)
        return bad_url({}, "it must contain no blanks, control characters, '?' or '#'");
    const auto colon = url.find(separator);
    constexpr std::string_view schemes[] = {"http", "https", "redis", "redis+unix"};
    RemoteUrl parts;
    if (colon != std::string_view::npos) parts.scheme = url.substr(0, colon);
    const bool is_word =
        std::ranges::all_of(parts.scheme, [](char c) { return c >= 'a' && c <= 'z'; });
    if (std::ranges::find(schemes, parts.scheme) == std::end(schemes))
        return bad_url(is_word ? parts.scheme : "",
                       "it must begin with http://, https://, redis:// or redis+unix://");
    std::string_view rest = url.substr(colon + separator.size());
    if (parts.scheme == "redis+unix") {
        if (!rest.starts_with('/'))
            return bad_url(parts.scheme, "the path of a socket must be absolute");
        parts.path = rest;
        return parts;
    }
    const auto slash = std::min(rest.find('/'), rest.size());
    parts.path = rest.substr(slash);
    while (parts.path.ends_with('/'))
        parts.path.pop_back();
    std::string_view host = rest.substr(0, slash);
    constexpr int http_port = 80;
    constexpr int https_port = 443;
    constexpr int redis_port = 6379;
    constexpr int largest_port = 65535;
    parts.port = parts.scheme == "http"    ? http_port
                 : parts.scheme == "https" ? https_port
                                           : redis_port;
    const auto after_address = host.starts_with('[') ? host.find(']') : 0;
    if (after_address == std::string_view::npos)
        return bad_url(parts.scheme, "its address has no closing bracket");
    const auto port_at = host.find(':', after_address);
    if (port_at != std::string_view::npos) {
        const std::string_view digits = host.substr(port_at + 1);
        const auto [end, problem] =
            std::from_chars(digits.data(), digits.data() + digits.size(), parts.port);
        if (problem != std::errc() || end != digits.data() + digits.size() || parts.port < 1 ||
            parts.port > largest_port) {
            return bad_url(parts.scheme, "its port must be from 1 to 65535");
        }
        host = host.substr(0, port_at);
    }
    if (host.empty()) return bad_url(parts.scheme, "it names no host");
    parts.host = host;
    if (parts.scheme == "redis" && parts.path.size() > 1 &&
        !std::ranges::all_of(parts.path.substr(1), [](char c) { return c >= '0' && c <= '9'; })) {
        return bad_url(parts.scheme, "the path of a Redis URL must be the number of a database");
    }
    return parts;
}

Result<std::unique_ptr<RemoteStore>> open_remote_store(const RemoteCacheOptions& options) {
    LODE_TRY(options.check());
    if (options.url.starts_with("redis")) {
#if __has_include(<hiredis/hiredis.h>)
        return RedisStore::open(options);
#else
        return fail(Errc::not_supported,
                    "A remote cache on Redis isn't available: lode was built without hiredis's "
                    "headers.");
#endif
    }
#if __has_include(<curl/curl.h>)
    return HttpStore::open(options);
#else
    return fail(Errc::not_supported,
                "A remote cache over HTTP isn't available: lode was built without libcurl's "
                "headers.");
#endif
}

}  // namespace cache

Status RemoteCacheOptions::check() const {
    if (!is_set()) return {};
    LODE_TRY(cache::parse_remote_url(url));
    const bool is_http = url.starts_with("http");
    if (!token.empty() && !is_http) {
        return fail(Errc::invalid_argument,
                    "Redis takes a user and a password, no token (LODE_CACHE_REMOTE_TOKEN).");
    }
    if (!token.empty() && !user.empty()) {
        return fail(Errc::invalid_argument,
                    "The remote cache has both a token and a user; give one of them.");
    }
    if (is_http && user.empty() && !password.empty()) {
        return fail(Errc::invalid_argument,
                    "The remote cache has a password without a user (LODE_CACHE_REMOTE_USER).");
    }
    if (certificate_file.empty() != key_file.empty()) {
        return fail(Errc::invalid_argument,
                    "A client's certificate and its key belong together (LODE_CACHE_REMOTE_CERT, "
                    "LODE_CACHE_REMOTE_KEY).");
    }
    const bool needs_tls = !ca_file.empty() || !certificate_file.empty();
    if (needs_tls && !url.starts_with("https:")) {
        return fail(
            Errc::invalid_argument,
            fmt::format("The remote cache's URL is '{}'; certificates need https://.", url));
    }
    for (const auto& secret : {user, password, token}) {
        if (cache::has_control_characters(secret)) {
            return fail(Errc::invalid_argument,
                        "A credential of the remote cache contains a control character, such as a "
                        "line's end.");
        }
    }
    return {};
}

Result<RemoteCacheOptions> RemoteCacheOptions::from_environment() {
    RemoteCacheOptions options;
    auto text = environment("LODE_CACHE_REMOTE");
    if (!text) return options;
    options.url = *std::move(text);
    if (const auto comma = options.url.find(','); comma != std::string::npos) {
        if (std::string_view(options.url).substr(comma + 1) != "read-only") {
            return fail(Errc::invalid_argument,
                        "LODE_CACHE_REMOTE has an unknown word after the URL; the only one is "
                        "read-only: URL,read-only.");
        }
        options.read_only = true;
        options.url.resize(comma);
    }
    options.user = environment("LODE_CACHE_REMOTE_USER").value_or("");
    options.password = environment("LODE_CACHE_REMOTE_PASSWORD").value_or("");
    options.token = environment("LODE_CACHE_REMOTE_TOKEN").value_or("");
    options.ca_file = environment("LODE_CACHE_REMOTE_CA").value_or("");
    options.certificate_file = environment("LODE_CACHE_REMOTE_CERT").value_or("");
    options.key_file = environment("LODE_CACHE_REMOTE_KEY").value_or("");
    LODE_TRY(options.check());
    return options;
}

}  // namespace LODE_NAMESPACE
