// Collecting the header set of one compilation: from NVRTC's list of the headers that it opened,
// or, where there is none (an NVRTC before 12.8, a compilation that failed), by a scan that counts
// every header that could have been read.
//
// Both ways also find what would change the search: places earlier in the search path where a
// header of that name could appear, and every __has_include. Limits: an #include or __has_include
// that names its header by a macro is covered where NVRTC lists headers, but a header that later
// appears earlier in its search path isn't seen; without the list such a source isn't cached.
// Inside the toolkit such includes are taken to stay inside the toolkit.
#pragma once

#include "jit/cache/header_store.hpp"
#include "jit/cache/manifest.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lode::cache {

/// One compilation, as far as its headers are concerned. Views; the owner outlives the call.
struct HeaderQuestion {
    const std::string& source_text;
    const CompileOptions& options;
    const SearchFolders& folders;
    const std::vector<std::string>* traced =
        nullptr;                   ///< NVRTC's list; nullptr when there is none.
    const Image* image = nullptr;  ///< The result; nullptr when it failed.
    std::int64_t started = 0;      ///< file_clock_now() before the compilation.
};

/// The set, or why the compilation can't be cached.
struct CollectedHeaders {
    HeaderSet set;
    std::string obstacle;             ///< A clause; empty when the set is good.
    bool has_line_directive = false;  ///< In the source or in a header that was looked at.
};

/// What can be told before a compilation of the #line directives in all that it may read.
enum class LineDirectives : std::uint8_t { none, some, unknown };

/// Scans source and headers as collect_headers() does without a list. Thread-safe.
[[nodiscard]] LineDirectives find_line_directives(const HeaderQuestion& question,
                                                  HeaderStore& store);

/// Thread-safe.
[[nodiscard]] CollectedHeaders collect_headers(const HeaderQuestion& question, HeaderStore& store);

/// The folders of a compilation, absolute, without repeated slashes or "." parts.
[[nodiscard]] SearchFolders search_folders(const std::filesystem::path& source_folder,
                                           const CompileOptions& options,
                                           const std::vector<std::filesystem::path>& toolkit);

/// Whether compiled code holds a text, in its machine code or its PTX.
[[nodiscard]] bool code_contains(const Image& image, std::string_view text);

}  // namespace lode::cache
