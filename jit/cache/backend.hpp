// CompilerBackend: the cache's interface to the compiler.
#pragma once

#include "jit/compile.hpp"
#include "jit/nvrtc/provider.hpp"
#include "jit/pch/settings.hpp"
#include "jit/request/nvrtc_call.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>
#include <lode/base/log.hpp>
#include <lode/jit/cache.hpp>
#include <lode/jit/compile_request.hpp>
#include <lode/jit/compiler.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE::cache {

class BackendWorkers;

/// What the cache has to know of the calls that programs make to a compiler.
struct CallRules {
    std::string_view compiler;  ///< Its name.
    /// From this version on, later calls in a process give what they give in a new one.
    std::pair<int, int> settled_since;
    /// Why the answer isn't known to be a function of the call and of what it reads; or empty.
    std::string (*uncacheable_reason)(const NvrtcCall& call);
    /// The call's texts as a request, for lode's checks of texts and paths.
    CompileRequest (*request_of)(const NvrtcCall& call);
    /// Whether the same call gives the same answer again, and leaves the program compiled. Other
    /// results report the state of the machine, or come before the compilation.
    bool (*is_lasting)(const NvrtcAnswer& answer);
    /// Variables whose values are in the key, besides key_variables().
    std::span<const std::string_view> variables = {};
};

/// Those of NVRTC.
[[nodiscard]] const CallRules& nvrtc_call_rules() noexcept;

/// Thread-safe except for fingerprint() and covers(). Only properties() and compile() open the
/// compiler.
class CompilerBackend {
public:
    CompilerBackend() = default;
    virtual ~CompilerBackend() = default;
    CompilerBackend(const CompilerBackend&) = delete;
    CompilerBackend& operator=(const CompilerBackend&) = delete;

    /// Identifies everything that decides which compiler properties() finds and what it is.
    [[nodiscard]] virtual Digest fingerprint() = 0;

    /// Whether the last fingerprint() identifies this library, which properties() opened; false
    /// where an earlier place has an unusable one. Call it after fingerprint(), on the same thread.
    [[nodiscard]] virtual bool covers(const std::filesystem::path& library) = 0;

    /// The folders with a known compiler's headers.
    [[nodiscard]] virtual std::vector<std::filesystem::path> include_folders(
        const std::filesystem::path& library) = 0;

    /// CompilerInfo::product
    [[nodiscard]] virtual std::string_view product() const { return call_rules().compiler; }

    [[nodiscard]] virtual Result<CompilerProperties> properties() = 0;
    /// The context has files and a control.
    [[nodiscard]] virtual Result<Image> compile(const CompileRequest& request,
                                                const CompileContext& context) = 0;
    [[nodiscard]] virtual const CallRules& call_rules() const { return nvrtc_call_rules(); }
    /// The answer to a program's call, from a worker alone, which has compiled nothing else if
    /// `in_new_process`. Notes what the compilation reads. Errors: those of a worker;
    /// not_supported, if this compiler has no workers.
    [[nodiscard]] virtual Result<NvrtcAnswer> answer(const NvrtcCall& /*call*/,
                                                     bool /*in_new_process*/,
                                                     CompileFiles& /*files*/,
                                                     const CompileControl& /*control*/) {
        return fail(Errc::not_supported, "This compiler answers no calls of programs.");
    }
    /// Ends the workers, if it has any; the next compilation starts them again. No call may be in
    /// progress.
    virtual void quiesce() {}
};

/// Where precompiled headers are kept: in the cache's folder, by its mode.
[[nodiscard]] pch::Settings pch_settings(const CacheOptions& options);

/// NVRTC, searched for as by Compiler, in this process or in workers; these may use precompiled
/// headers.
[[nodiscard]] std::unique_ptr<CompilerBackend> make_nvrtc_backend(CompilerSearch search,
                                                                  const WorkerOptions& workers,
                                                                  pch::Settings pch, Log log);

/// The same with these workers.
[[nodiscard]] std::unique_ptr<CompilerBackend> make_nvrtc_backend(
    CompilerSearch search, std::shared_ptr<BackendWorkers> workers, pch::Settings pch);

/// Those of languages other than CUDA C++.
using Backends = std::map<Source::Language, std::unique_ptr<CompilerBackend>>;

/// The tools of the other languages, searched for as by Compiler. They run in this process or in
/// workers, LLVM in workers alone.
[[nodiscard]] Backends make_tools_backends(const CompilerSearch& search,
                                           const std::shared_ptr<BackendWorkers>& workers);

/// The nvJitLink in a file, for the calls of programs (link_call.hpp) alone.
[[nodiscard]] std::unique_ptr<CompilerBackend> make_linker_backend(std::filesystem::path library,
                                                                   const WorkerOptions& workers);

}  // namespace LODE_NAMESPACE::cache
