// SourceStore: writes code in memory to files, so that debuggers and profilers show its lines. A
// source file is copied if its path can't be named in line information.
//
// A text is written once, below the cache folder, under a name that is made of its content. Every
// request makes sure that its files are there, hits too: the folder's size limit may have removed
// them.
#pragma once

#include "jit/cache/storage.hpp"
#include "jit/request/source_files.hpp"

#include <lode/jit/compile_request.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE::cache {

/// Thread-safe, and safe for any number of processes that use the same folder.
class SourceStore {
public:
    explicit SourceStore(Storage& storage) noexcept : storage_(storage) {}

    /// The files of a request's texts, which exist now. None if the options don't ask for
    /// them, and in a cache that has no folder, or a read-only one without them. The request's
    /// source is read.
    [[nodiscard]] SourceFiles make(const CompileRequest& request);

private:
    /// Texts by their paths in a folder.
    using Texts = std::map<std::string, std::string_view>;

    /// The path of a folder with exactly these texts; empty where they aren't files.
    [[nodiscard]] std::string folder_of(DiskTier& disk, const Texts& texts);
    /// Whether the file has this text; renews its modification time.
    [[nodiscard]] Result<bool> is_there(const DiskTier& disk, const std::string& name,
                                        std::string_view text);

    Storage& storage_;
    std::atomic<bool> has_warned_ = false;  ///< That files can't be written.
    std::mutex mutex_;
    std::map<std::string, FileIdentity> known_;  ///< Files whose content was compared.
};

}  // namespace LODE_NAMESPACE::cache
