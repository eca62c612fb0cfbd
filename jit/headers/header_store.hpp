// HeaderStore: digests and scans of header files; each is read at most once while it is unchanged.
#pragma once

#include "jit/files/file_state.hpp"
#include "jit/headers/include_scan.hpp"
#include "jit/headers/manifest.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// A header file at one time.
struct HeaderState {
    FileStamp stamp;
    bool settled = false;  ///< As long as the stamp is unchanged, the content is too.
    Digest content;
};

/// What a header file in one state contains.
struct HeaderProperties {
    HeaderState state;
    IncludeScan scan;
};

/// Remembers the digests and scans of files as long as their stamps hold. Thread-safe.
class HeaderStore {
public:
    /// The state of a file whose stamp is `stamp` now; reads the file if that state isn't known.
    /// Errors: not_found; file_failed, also for a file that isn't regular.
    [[nodiscard]] Result<HeaderState> state(const std::string& path, const FileStamp& stamp);

    /// The scan of a file that was read already.
    [[nodiscard]] std::shared_ptr<const HeaderProperties> scan(const std::string& path,
                                                               const FileContent& content);

private:
    struct File {
        HeaderState state;
        std::shared_ptr<const HeaderProperties> properties;  ///< Null until it is scanned.
    };

    /// More files than any compilation reads; when it is reached, the store is cleared.
    static constexpr std::size_t max_files = 50'000;

    std::optional<File> remembered(const std::string& path, const FileStamp& stamp);
    /// The same without the scan, whose owners would be counted for each header of a check.
    std::optional<HeaderState> remembered_state(const std::string& path, const FileStamp& stamp);
    void remember(const std::string& path, File file);

    std::mutex mutex_;
    std::unordered_map<std::string, File> files_;  ///< Settled ones.
};

/// Whether a header set still describes the file system and the environment.
struct HeaderCheck {
    std::string mismatch;  ///< What has changed, as a clause; empty if nothing has.
    /// A header with unchanged content and a new stamp.
    struct Renewal {
        std::size_t index = 0;  ///< Into HeaderSet::headers.
        FileStamp stamp;
        bool settled = false;
    };
    /// Headers that have settled or are other files now. Those that are other files are renewed
    /// even if they haven't settled: a set with file identities from different times couldn't show
    /// which paths led to one file.
    std::vector<Renewal> renewed;
    /// Probed files that are other files now: index into HeaderSet::probes, and stamp.
    std::vector<std::pair<std::size_t, FileStamp>> renewed_probes;
};

/// Repeats every query that the set records: files are compared by stamp first, and by content
/// where the stamp doesn't decide. `trusts_stamps` is false for a set that another machine may have
/// made. A large set is checked in several threads, which end before this returns.
[[nodiscard]] HeaderCheck check_headers(const HeaderSet& set, const SearchFolders& folders,
                                        HeaderStore& store, bool trusts_stamps = true);

}  // namespace LODE_NAMESPACE::cache
