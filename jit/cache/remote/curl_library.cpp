#if __has_include(<curl/curl.h>)
#include "jit/cache/remote/curl_library.hpp"

#include "base/try.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace lode::cache {
namespace {

Result<CurlLibrary> open_curl() {
    auto search = open_first(
        {{"the loader's path", "libcurl.so.4"}, {"the loader's path", "libcurl-gnutls.so.4"}});
    if (!search.library) {
        return fail(Errc::not_found,
                    "libcurl, which a remote cache over HTTP needs, can't be "
                    "opened:\n" +
                        search.describe());
    }
    CurlLibrary curl;
    curl.library = search.library;
    std::string absent;
    const auto bind = [&](auto& function, std::string_view name) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(curl.library.symbol(name));
        if (function == nullptr && absent.empty()) absent = name;
    };
    bind(curl.global_init, "curl_global_init");
    bind(curl.easy_init, "curl_easy_init");
    bind(curl.easy_cleanup, "curl_easy_cleanup");
    bind(curl.easy_setopt, "curl_easy_setopt");
    bind(curl.easy_getinfo, "curl_easy_getinfo");
    bind(curl.easy_reset, "curl_easy_reset");
    bind(curl.easy_strerror, "curl_easy_strerror");
    bind(curl.multi_init, "curl_multi_init");
    bind(curl.multi_cleanup, "curl_multi_cleanup");
    bind(curl.multi_setopt, "curl_multi_setopt");
    bind(curl.multi_add_handle, "curl_multi_add_handle");
    bind(curl.multi_remove_handle, "curl_multi_remove_handle");
    bind(curl.multi_perform, "curl_multi_perform");
    bind(curl.multi_poll, "curl_multi_poll");
    bind(curl.multi_info_read, "curl_multi_info_read");
    bind(curl.slist_append, "curl_slist_append");
    bind(curl.slist_free_all, "curl_slist_free_all");
    if (!absent.empty()) {
        return fail(Errc::not_found, fmt::format("The libcurl in {} has no {}; a remote cache over "
                                                 "HTTP needs 7.66 or newer.",
                                                 curl.library.path().string(), absent));
    }
    if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return fail(Errc::not_found, "libcurl can't be initialised.");
    return curl;
}

}  // namespace

Result<const CurlLibrary*> CurlLibrary::get() {
    static const Result<CurlLibrary> curl = open_curl();
    if (!curl) return tl::unexpected<Error>(curl.error());
    return &*curl;
}

}  // namespace lode::cache
#endif
