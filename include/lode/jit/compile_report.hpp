/// \file
/// CompileReport: how a request to compile was answered, and CompileEvent: its progress.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/arch.hpp>
#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// The reason for a cache miss.
enum class MissReason : std::uint8_t {
    none,                ///< It is a hit.
    never_compiled,      ///< The cache knows nothing of the request.
    dependency_changed,  ///< A header, a folder or a variable differs from every known state.
    entry_lost,          ///< The entry was evicted or removed.
    unreadable_source,   ///< The source can't be read; the compiler reports the error.
    ptx_source,          ///< PTX that is left to the driver.
    uncacheable          ///< The result depends on more than the key contains.
};

/// A miss and its explanation.
struct CacheMiss {
    MissReason reason = MissReason::none;  ///< The kind of miss; none for a hit.
    /// The dependency or the flag, as a clause; empty if the reason says everything.
    std::string detail = {};

    /// "header include 0 util.h has changed"; empty for MissReason::none.
    [[nodiscard]] std::string to_string() const;
    /// Whether it is a miss.
    explicit operator bool() const noexcept { return reason != MissReason::none; }
};

/// How one request was answered.
struct CompileReport {
    std::string source;             ///< Source::name().
    Arch arch = {};                 ///< The requested target.
    std::string tier;               ///< "memory", "disk", "pack" or "remote"; empty when compiled.
    CacheMiss miss;                 ///< Why it was compiled; none for a hit.
    std::string not_kept;           ///< Why the result isn't in the cache; empty if it is.
    Digest key = {};                ///< The entry's key; all zeros if there is no entry.
    double milliseconds = 0;        ///< Time for this request, including waiting.
    double saved_milliseconds = 0;  ///< For a hit: the time that the original compilation took.
    bool shared = false;            ///< Answered by another thread's compilation.

    /// Whether the cache had the answer.
    [[nodiscard]] bool hit() const noexcept { return !tier.empty(); }
    /// "hit (disk)", "compiled in 14 ms".
    [[nodiscard]] std::string to_string() const;
};

/// What a compilation does, or waits for.
enum class CompilePhase : std::uint8_t {
    waiting_for_process,  ///< Another process, here or elsewhere, compiles it.
    waiting_for_worker,   ///< All worker processes are busy.
    compiling,            ///< NVRTC compiles, or nvJitLink links.
    storing               ///< The result is written to the cache.
};

/// The enumerator's own spelling, such as "compiling".
std::string_view to_string(CompilePhase phase) noexcept;

/// One step of one request. Views: they are valid during the call.
struct CompileEvent {
    /// The step. A request has at most one `queued` and one `started` or `refused`, any number of
    /// phases, and exactly one of the last three.
    enum class Kind : std::uint8_t {
        queued,   ///< An asynchronous request was made.
        started,  ///< The cache has no answer; its compilation begins.
        refused,  ///< The cache has no answer, and JitPolicy::forbid refuses; `failed` follows.
        phase,    ///< The compilation enters a phase.
        hit,      ///< The cache had the answer.
        done,     ///< It was compiled, by this request or by another that asked for the same.
        failed    ///< The request ended with an error.
    };

    Kind kind = Kind::queued;                      ///< The step.
    std::uint64_t request = 0;                     ///< The request's number in its compiler.
    std::string_view source = {};                  ///< Source::name().
    Arch arch = {};                                ///< The target; sm_0 until it is chosen.
    Digest key = {};                               ///< The request's key; zeros if not known.
    CompilePhase phase = CompilePhase::compiling;  ///< For Kind::phase.
    double milliseconds = 0;                       ///< Since the request was made.
    const CompileReport* report = nullptr;         ///< For Kind::hit and Kind::done.
    const Error* error = nullptr;                  ///< For Kind::refused and Kind::failed.
};

/// The enumerator's own spelling, such as "queued".
std::string_view to_string(CompileEvent::Kind kind) noexcept;

/// Receives the events of all requests, on the threads that work on them; calls may be concurrent,
/// and those of one request are in order. It must not throw and must not call the compiler. With a
/// host's executor, it may be called until the last task has ended.
using CompileEventHook = std::function<void(const CompileEvent&)>;

}  // namespace LODE_NAMESPACE

LODE_API_END
