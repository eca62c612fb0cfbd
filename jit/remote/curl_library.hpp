// libcurl, opened at run time: programs without a remote cache need none.
#pragma once

#include "base/shared_library.hpp"

#include <lode/base/error.hpp>

#include <curl/curl.h>

namespace LODE_NAMESPACE::cache {

/// The functions of libcurl that HttpStore calls. Opened once per process and never closed.
struct CurlLibrary {
    SharedLibrary library;
    decltype(&curl_global_init) global_init = nullptr;
    decltype(&curl_easy_init) easy_init = nullptr;
    decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
    decltype(&curl_easy_setopt) easy_setopt = nullptr;
    decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
    decltype(&curl_easy_reset) easy_reset = nullptr;
    decltype(&curl_easy_strerror) easy_strerror = nullptr;
    decltype(&curl_multi_init) multi_init = nullptr;
    decltype(&curl_multi_cleanup) multi_cleanup = nullptr;
    decltype(&curl_multi_setopt) multi_setopt = nullptr;
    decltype(&curl_multi_add_handle) multi_add_handle = nullptr;
    decltype(&curl_multi_remove_handle) multi_remove_handle = nullptr;
    decltype(&curl_multi_perform) multi_perform = nullptr;
    decltype(&curl_multi_poll) multi_poll = nullptr;
    decltype(&curl_multi_info_read) multi_info_read = nullptr;
    decltype(&curl_slist_append) slist_append = nullptr;
    decltype(&curl_slist_free_all) slist_free_all = nullptr;

    /// Thread-safe. Errors: not_found if there is no libcurl that has all of them.
    [[nodiscard]] static Result<const CurlLibrary*> get();
};

}  // namespace LODE_NAMESPACE::cache
