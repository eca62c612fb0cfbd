// Recorder: writes the requests that a CachedCompiler answers to a file, for `lode warm`.
#pragma once

#include <lode/base/digest.hpp>
#include <lode/base/log.hpp>
#include <lode/jit/cache.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace LODE_NAMESPACE::cache {

/// Appends each request once, as a line of JSON. Any number of recorders and processes may write to
/// one file: each line is written under a lock of the file, after those of the others were read. A
/// line that a dying process left unfinished is removed by the next writer. A failure to write is
/// one warning in the log. Thread-safe.
class Recorder {
public:
    /// The recorder that the options ask for; nullptr if they name no file. Opens nothing.
    [[nodiscard]] static std::unique_ptr<Recorder> make(const CacheOptions& options);

    Recorder(const std::filesystem::path& file, Log log);

    /// Records a request and its answer. PTX isn't recorded: nothing compiles it.
    void record(const CompileRequest& request, const CachedImage& answer);

private:
    [[nodiscard]] Status append(const Digest& request, const std::string& line);
    /// Notes the lines that others have written, and cuts off an unfinished one.
    [[nodiscard]] Status catch_up(int file);

    const std::filesystem::path file_;  ///< Absolute.
    const Log log_;
    std::mutex mutex_;  ///< Guards the members below.
    std::set<Digest> written_;
    std::uint64_t read_bytes_ = 0;  ///< How much of the file `written_` covers.
    std::uint64_t inode_ = 0;       ///< The file that it covers.
    std::set<std::string> warned_;
};

}  // namespace LODE_NAMESPACE::cache
