// Requests: what requests to compile and to link have in common: numbers, events, reports, when
// they stop, and whether a miss may be compiled.
#pragma once

#include "jit/cache/async_tasks.hpp"
#include "jit/cache/request_context.hpp"
#include "jit/cache/storage.hpp"
#include "jit/request/compile_control.hpp"

#include <lode/jit/cache.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace LODE_NAMESPACE::cache {

/// Thread-safe. The arguments must outlive it.
class Requests {
public:
    Requests(Storage& storage, const AsyncTasks& tasks) noexcept
        : storage_(storage), tasks_(tasks) {}

    [[nodiscard]] RequestContext make(std::string source, const Arch& arch);
    /// Calls the hook for events; fills in what all have in common.
    void tell(const RequestContext& context, CompileEvent event) const;
    /// Completes the report of an answer and tells the end of the request.
    [[nodiscard]] Result<CachedImage> finish(const RequestContext& context,
                                             Result<CachedImage> answer, bool shared);
    /// Whether JitPolicy allows a miss to be compiled; `kernels` are named in the refusal.
    [[nodiscard]] Status permit(const RequestContext& context, const CacheMiss& miss,
                                const std::optional<Digest>& key,
                                std::span<const std::string> kernels = {});
    /// The error of a request whose caller has given up, or whose process ends.
    [[nodiscard]] std::optional<Error> gives_up(const RequestContext& context) const;
    /// What the compiler is told: when to stop, and where its phases go.
    [[nodiscard]] CompileControl control_of(const RequestContext& context, const Digest& key,
                                            std::function<bool()> is_awaited = {}) const;

private:
    Storage& storage_;
    const AsyncTasks& tasks_;
    std::atomic<std::uint64_t> count_ = 0;
};

}  // namespace LODE_NAMESPACE::cache
