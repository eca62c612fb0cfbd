#if __has_include(<curl/curl.h>)
#include "jit/remote/curl_library.hpp"

#include "base/try.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
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
    SymbolBinder symbols(curl.library);
    symbols.required(curl.global_init, "curl_global_init");
    symbols.required(curl.easy_init, "curl_easy_init");
    symbols.required(curl.easy_cleanup, "curl_easy_cleanup");
    symbols.required(curl.easy_setopt, "curl_easy_setopt");
    symbols.required(curl.easy_getinfo, "curl_easy_getinfo");
    symbols.required(curl.easy_reset, "curl_easy_reset");
    symbols.required(curl.easy_strerror, "curl_easy_strerror");
    symbols.required(curl.multi_init, "curl_multi_init");
    symbols.required(curl.multi_cleanup, "curl_multi_cleanup");
    symbols.required(curl.multi_setopt, "curl_multi_setopt");
    symbols.required(curl.multi_add_handle, "curl_multi_add_handle");
    symbols.required(curl.multi_remove_handle, "curl_multi_remove_handle");
    symbols.required(curl.multi_perform, "curl_multi_perform");
    symbols.required(curl.multi_poll, "curl_multi_poll");
    symbols.required(curl.multi_info_read, "curl_multi_info_read");
    symbols.required(curl.slist_append, "curl_slist_append");
    symbols.required(curl.slist_free_all, "curl_slist_free_all");
    if (!symbols.missing().empty()) {
        return fail(Errc::not_found, fmt::format("The libcurl in {} has no {}; a remote cache over "
                                                 "HTTP needs 7.66 or newer.",
                                                 curl.library.path().string(), symbols.missing()));
    }
    if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return fail(Errc::not_found, "libcurl can't be initialised.");
    return curl;
}

}  // namespace

Result<const CurlLibrary*> CurlLibrary::get() {
    static const auto& curl = *new auto(open_curl());
    if (!curl) return tl::unexpected<Error>(curl.error());
    return &*curl;
}

}  // namespace LODE_NAMESPACE::cache
#endif
