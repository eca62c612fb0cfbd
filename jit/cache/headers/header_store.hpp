// HeaderStore: facts about header files, each read at most once while it stays as it is.
#pragma once

#include "jit/cache/headers/include_scan.hpp"
#include "jit/cache/headers/manifest.hpp"
#include "jit/files/file_state.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lode::cache {

/// What one state of a file says.
struct HeaderFacts {
    FileStamp stamp;
    bool settled = false;  ///< The stamp stands for the content from now on.
    Digest content;
    IncludeScan scan;
    bool mentions_path = false;  ///< See lode::cache::mentions_path.
    bool mentions_time = false;
};

/// Remembers the facts of files as long as their stamps hold. Thread-safe.
class HeaderStore {
public:
    /// Reads and scans a file, or remembers it. Errors: not_found; file_failed, also for what is no
    /// regular file.
    [[nodiscard]] Result<std::shared_ptr<const HeaderFacts>> read(const std::string& path);

    /// The facts of a file that was read already.
    [[nodiscard]] std::shared_ptr<const HeaderFacts> learn(const std::string& path,
                                                           const FileContent& content);

private:
    /// More files than any compilation reads; beyond it the store starts anew.
    static constexpr std::size_t max_files = 50'000;

    std::shared_ptr<const HeaderFacts> remembered(const std::string& path, const FileStamp& stamp);

    std::mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<const HeaderFacts>> files_;  ///< Settled ones.
};

/// Whether a header set still describes the file system and the environment.
struct HeaderCheck {
    std::string mismatch;  ///< What has changed, as a clause; empty when nothing has.
    /// A header with the same content whose stamp is new.
    struct Renewal {
        std::size_t index = 0;  ///< Into HeaderSet::headers.
        FileStamp stamp;
        bool settled = false;
    };
    /// Those that have settled or are other files. Which file each path led to is kept as a whole:
    /// identities of two times in one set would say nothing about which paths were one file.
    std::vector<Renewal> renewed;
    /// Files among HeaderSet::probes that are other ones: index and stamp.
    std::vector<std::pair<std::size_t, FileStamp>> renewed_probes;
};

/// Asks again every question that the set holds: its files by stamp first and by content where the
/// stamp doesn't decide. `trusts_stamps` is false for a set that another machine may have made. A
/// large set is looked at in a few threads, which end before this returns.
[[nodiscard]] HeaderCheck check_headers(const HeaderSet& set, const SearchFolders& folders,
                                        HeaderStore& store, bool trusts_stamps = true);

}  // namespace lode::cache
