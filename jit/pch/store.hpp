// PchStore: the files of precompiled headers in the cache folder.
//
//   <folder>/v6/pch/<64 hex digits>          a precompiled header, as NVRTC wrote it
//   <folder>/v6/pch/<64 hex digits>.record   its record (record.hpp), written after it
//
// A file is complete before it gets its name and never changes afterwards. It is used only with a
// record, whose modification time is the time of the last use. A record of size 0 has no file: it
// says that the header set can't be precompiled, and holds for an hour.
//
// The content of a file is verified when it is made, and again where it may have changed since:
// NVRTC maps it into its memory as it is.
#pragma once

#include "base/os/descriptor.hpp"
#include "jit/pch/record.hpp"
#include "jit/pch/settings.hpp"
#include "jit/store/key.hpp"
#include "jit/store/key_lock.hpp"
#include "jit/store/trusted_folder.hpp"

#include <lode/base/error.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace LODE_NAMESPACE::pch {

/// A precompiled header that is intact. The open file stays what it is, even if it is removed.
struct StoredHeader {
    Descriptor file;
    PchRecord record;
};

/// Safe for any number of processes that use the same folder; for one thread at a time.
class PchStore {
public:
    /// Errors: those of TrustedFolder::open().
    [[nodiscard]] static Result<PchStore> open(const Settings& settings);

    /// What find() finds.
    struct Found {
        std::optional<StoredHeader> header;
        bool is_refused = false;  ///< It was tried, and can't be precompiled.
    };
    /// Removes a file or a record that is damaged, if the folder is writable.
    [[nodiscard]] Found find(const cache::Key& key) const;

    [[nodiscard]] bool is_writable() const noexcept { return settings_.is_writable; }
    [[nodiscard]] cache::KeyLock lock(const cache::Key& key) const { return {folder_, key.digest}; }

    /// A new file's name, relative to the folder; made empty. Errors: file_failed.
    [[nodiscard]] Result<std::string> make_temporary() const;
    [[nodiscard]] std::filesystem::path path_of(const std::string& name) const {
        return folder_.path() / name;
    }
    void discard(const std::string& temporary) const { (void)folder_.remove(temporary); }

    /// Names a temporary file after its key, with its record, and removes the least recently used
    /// others as far as the size limit asks. Errors: not_supported if the file alone is larger than
    /// the limit; file_failed.
    [[nodiscard]] Status publish(const cache::Key& key, const std::string& temporary,
                                 Conditions conditions) const;

    /// Records that the header set can't be precompiled.
    void refuse(const cache::Key& key) const;
    void remove(const cache::Key& key) const;

private:
    PchStore(cache::TrustedFolder folder, Settings settings)
        : folder_(std::move(folder)), settings_(std::move(settings)) {}
    /// Whether the open file is the recorded one; brings the record up to date.
    [[nodiscard]] bool is_intact(const Descriptor& file, const cache::Key& key,
                                 PchRecord& record) const;
    void write_record(const cache::Key& key, const PchRecord& record) const;
    /// Removes files other than `kept` until the size limit holds.
    void sweep(const cache::Key& kept) const;

    cache::TrustedFolder folder_;
    Settings settings_;
};

}  // namespace LODE_NAMESPACE::pch
