// What the processes of `lode cached` have reported, as text and as JSON.
#pragma once

#include "tools/lode/report.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace lode::tool {

/// The compilations and links of one program, in all its processes.
struct CachedCompilations {
    std::size_t hits = 0;
    std::size_t compiled = 0;  ///< By a worker; the next one is a hit, unless it isn't kept.
    std::size_t uncached = 0;  ///< By the program's own library.
    double seconds = 0;        ///< What the program waited for all of them.
    double saved_seconds = 0;  ///< What the hits' compilations took.

    [[nodiscard]] std::size_t all() const noexcept { return hits + compiled + uncached; }
    void add(const CachedCompilations& other) noexcept;
};

/// The journal that tools/cached/journal.hpp describes.
struct CachedReport {
    /// Reads a journal; skips a line that isn't complete.
    static CachedReport read(std::string_view journal);

    CachedCompilations total;
    std::map<std::string, CachedCompilations> programs;  ///< By the file's name.
    /// Why the cache neither answered nor kept a compilation, and how often.
    std::map<std::string, std::size_t> reasons;

    /// The summary for stderr: lines that begin with "lode: ".
    [[nodiscard]] std::string text() const;
    /// {"compilations", "hits", "compiled", "uncached", "seconds", "saved_seconds", "programs",
    /// "reasons"}
    [[nodiscard]] Json json() const;
};

}  // namespace lode::tool
