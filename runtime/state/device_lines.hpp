// Line information for the software device, which is given the same code as a GPU.
#pragma once

#include <lode/base/image.hpp>
#include <lode/base/log.hpp>
#include <lode/jit/cache.hpp>
#include <lode/jit/compiler.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::detail {

/// Remembers what images were compiled from. Where the software device has to name a place in code
/// without line information, the same request is compiled again with it: neither key, record,
/// events nor counters of the user's request depend on the device. Thread-safe.
class DeviceLines {
public:
    using Requests = std::vector<std::shared_ptr<const CompileRequest>>;

    /// How many requests are remembered; a library has its own from when it is loaded.
    static constexpr std::size_t most = 256;

    /// `search` and `options` are those of the user's compiler; `log` receives why lines are
    /// missing, at the level of information.
    DeviceLines(CompilerSearch search, CacheOptions options, Log log);

    /// Remembers a request and its result, unless the result has lines or isn't PTX.
    void remember(const Image& image, CompileRequest request);

    /// The request that an image is the result of; of a linked image, all those whose results
    /// define a function that it has too.
    [[nodiscard]] Requests requests_of(const Image& image) const;

    /// The PTX of a request with line information; nullopt if it doesn't compile, or if
    /// JitPolicy::forbid refuses it. Blocks.
    [[nodiscard]] std::optional<std::string> compile(CompileRequest request) const;

    /// CachedCompiler::quiesce() and resume()
    [[nodiscard]] Status quiesce() const { return compiler_.quiesce(); }
    void resume() const noexcept { compiler_.resume(); }

private:
    struct Entry {
        std::size_t hash = 0;  ///< Hash of the PTX.
        std::string name;
        std::vector<std::string> functions;
        std::shared_ptr<const CompileRequest> request;
    };

    const CachedCompiler compiler_;
    const Log log_;
    mutable std::mutex mutex_;
    std::deque<Entry> entries_;  ///< The newest comes last.
};

}  // namespace LODE_NAMESPACE::detail
