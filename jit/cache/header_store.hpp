// HeaderStore: facts about header files, each read at most once while it stays as it is.
#pragma once

#include "jit/cache/include_scan.hpp"
#include "jit/cache/manifest.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lode::cache {

/// What one state of a file says.
struct HeaderFacts {
    FileStamp stamp;
    Digest content;
    IncludeScan scan;
    bool mentions_path = false;  ///< See lode::cache::mentions_path.
    bool mentions_time = false;
};

/// The stamp of a file that isn't a folder; nullopt when there is none.
[[nodiscard]] std::optional<FileStamp> stamp_of(const std::string& path) noexcept;

/// Now, by the clock that file stamps are made with, in nanoseconds.
[[nodiscard]] std::int64_t file_clock_now() noexcept;

/// Whether an edit at `time` or later is sure to change this stamp: it is older than `time` by more
/// than a tick of the file system's clock.
[[nodiscard]] bool is_settled(const FileStamp& stamp, std::int64_t time) noexcept;

/// Remembers the facts of files as long as their stamps hold. Thread-safe.
class HeaderStore {
public:
    /// Reads and scans a file, or remembers it. Errors: not_found, file_failed, also when it keeps
    /// changing while it is read.
    [[nodiscard]] Result<std::shared_ptr<const HeaderFacts>> read(const std::string& path);

private:
    /// More files than any compilation reads; beyond it the store starts anew.
    static constexpr std::size_t max_files = 50'000;

    std::mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<const HeaderFacts>> files_;
};

/// Whether a header set still describes the file system.
struct HeaderCheck {
    std::string mismatch;  ///< What has changed, as a clause; empty when nothing has.
    /// Stamps that are new though the contents are the same: index into HeaderSet::headers.
    std::vector<std::pair<std::size_t, FileStamp>> renewed;
};

/// Compares a set with the files there are: by stamp first, by content where the stamp differs. A
/// large set is compared in a few threads, which end before this returns.
[[nodiscard]] HeaderCheck check_headers(const HeaderSet& set, const SearchFolders& folders,
                                        HeaderStore& store);

}  // namespace lode::cache
