// CallPipeline: answers the calls that a program makes to NVRTC (nvrtc_call.hpp) or nvJitLink
// (link_call.hpp), from the cache or a worker.
//
// What it can't prove is an error: the program's own library has to answer then.
#pragma once

#include "base/once_per_key.hpp"
#include "jit/cache/backend.hpp"
#include "jit/cache/compiler_identity.hpp"
#include "jit/cache/lookup.hpp"
#include "jit/cache/publisher.hpp"
#include "jit/cache/storage.hpp"
#include "jit/request/nvrtc_call.hpp"

#include <memory>
#include <optional>
#include <string>

namespace LODE_NAMESPACE::cache {

/// How a call was answered.
struct AnsweredCall {
    std::shared_ptr<const NvrtcAnswer> answer;
    std::string tier;       ///< "memory", "disk", "pack" or "remote"; empty if it was compiled.
    double compile_ms = 0;  ///< What the compilation took, now or before.
    std::string not_kept;   ///< Why the answer isn't in the cache; empty if it is.
};

/// Thread-safe. The storage must outlive it.
class CallPipeline {
public:
    CallPipeline(std::unique_ptr<CompilerBackend> backend, Storage& storage) noexcept
        : backend_(std::move(backend)), storage_(storage) {}

    /// Errors: why only the program's own library can answer; not_supported with a clause for the
    /// user where the answer isn't a function of what the cache knows.
    [[nodiscard]] Result<AnsweredCall> answer(const NvrtcCall& call);

private:
    [[nodiscard]] std::optional<AnsweredCall> look_up(const PreparedRequest& request, Reach reach);
    [[nodiscard]] Result<AnsweredCall> answer_alone(const NvrtcCall& call,
                                                    const PreparedRequest& request,
                                                    const KnownCompiler& compiler);
    [[nodiscard]] Result<AnsweredCall> compile_and_publish(const NvrtcCall& call,
                                                           const PreparedRequest& request,
                                                           const KnownCompiler& compiler);

    const std::unique_ptr<CompilerBackend> backend_;
    const CallRules& rules_ = backend_->call_rules();
    Storage& storage_;
    CompilerIdentity identity_{*backend_, storage_};
    Lookup lookup_{storage_};
    Publisher publisher_{storage_};
    OncePerKey<Digest, AnsweredCall> flights_;
};

}  // namespace LODE_NAMESPACE::cache
