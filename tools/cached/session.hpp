// Session: the cache of one process, for the stand-ins of `lode cached`.
#pragma once

#include "jit/cache/call_pipeline.hpp"
#include "jit/files/file_state.hpp"

#include <lode/base/error.hpp>

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace lode::cached {

/// The original's calls, answered by the cache that the LODE_CACHE variables describe. Thread-safe.
class Session {
public:
    using MakeBackend = std::unique_ptr<cache::CompilerBackend>(
        const std::filesystem::path& library, const CacheOptions& options);

    /// The one of this process, for the original in a file; a forked child gets its own. Its end
    /// comes with the process's: then, and for a second original, nullptr.
    [[nodiscard]] static std::shared_ptr<Session> of_process(const std::filesystem::path& library,
                                                             MakeBackend* make_backend) noexcept;

    /// Errors: why the original has to answer, as a clause.
    [[nodiscard]] Result<cache::AnsweredCall> answer(const NvrtcCall& call);

    Session(std::filesystem::path library, MakeBackend* make_backend, Result<CacheOptions> options);

private:
    const std::filesystem::path library_;
    const std::optional<FileStamp> stamp_ = stamp_of(library_);
    std::mutex warning_mutex_;
    std::string warning_;   ///< The cache's last, such as that its folder isn't used; else empty.
    std::string unusable_;  ///< Why there is no pipeline; else empty.
    std::unique_ptr<cache::Storage> storage_;
    std::unique_ptr<cache::CallPipeline> pipeline_;
};

}  // namespace lode::cached
