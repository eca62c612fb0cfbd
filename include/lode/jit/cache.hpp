/// \file
/// CachedCompiler: a Compiler that never compiles the same thing twice.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/arch.hpp>
#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/base/log.hpp>
#include <lode/base/pending.hpp>
#include <lode/jit/compile_report.hpp>
#include <lode/jit/compile_request.hpp>
#include <lode/jit/compiler.hpp>
#include <lode/jit/linker.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/precompiled_headers.hpp>
#include <lode/jit/remote_cache.hpp>
#include <lode/jit/source.hpp>
#include <lode/jit/workers.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Whether compiled code is kept outside this process. The cache in memory is on in every mode.
enum class CacheMode : std::uint8_t {
    off,        ///< Use neither the folder nor the packs.
    read_only,  ///< Read the folder and the packs, write nothing.
    on          ///< Read the folder and the packs, write to the folder.
};

/// What to do on a cache miss.
enum class JitPolicy : std::uint8_t {
    allow,  ///< Compile.
    warn,   ///< Compile, and log a warning: for tests of a warm start.
    forbid  ///< Fail with not_found and the source's name: for production with a filled cache.
};

/// The compiler of PTX sources that are loaded on a GPU.
enum class PtxPolicy : std::uint8_t {
    driver,   ///< The driver, at every load; it has a cache of its own.
    assemble  ///< nvJitLink, once, into this cache; the driver where nvJitLink can't.
};

/// Which stored records a cache takes, from its folder, from packs and from elsewhere.
enum class CacheTrust : std::uint8_t {
    any,         ///< Those that are intact.
    signed_only  ///< Intact records that a trusted key has signed.
};

/// What a CachedCompiler stores, and where.
struct CacheOptions {
    /// 2 GiB.
    static constexpr std::uint64_t default_max_bytes = std::uint64_t{2} << 30;
    /// 64 MiB.
    static constexpr std::size_t default_memory_bytes = std::size_t{64} << 20;

    CacheMode mode = CacheMode::on;  ///< Whether the folder and the packs are used.
    /// Created with mode 0700 if it is missing. Used only if it belongs to this user and no other
    /// user can write to it. With an empty path nothing is kept on disk.
    std::filesystem::path folder = {};
    std::uint64_t max_bytes = default_max_bytes;      ///< The maximum size of the folder, in bytes.
    std::size_t memory_bytes = default_memory_bytes;  ///< The same for images in memory.
    std::vector<std::filesystem::path> packs = {};    ///< Read-only packs, searched in order.
    RemoteCacheOptions remote = {};                   ///< Shared by machines; searched last.
    /// With `signed_only` and no `sign_with`, results are kept in memory only. Workers make no
    /// precompiled headers with `signed_only`.
    CacheTrust trust = CacheTrust::any;
    /// Files or folders of public keys, trusted or revoked, in the form of docs/cache.md.
    std::vector<std::filesystem::path> keys = {};
    /// A secret key, readable by its owner alone, that signs what this cache stores; it is trusted
    /// unless it is revoked. If it isn't empty, `trust` counts as `signed_only`.
    std::filesystem::path sign_with = {};
    JitPolicy policy = JitPolicy::allow;  ///< What to do on a cache miss.
    /// nvJitLink's code of PTX that has functions or static shared memory is slower than the
    /// driver's: it is compiled as a part of a program, not as the whole.
    PtxPolicy ptx = PtxPolicy::driver;
    /// How long to wait for another process that compiles the same request before compiling it too.
    std::chrono::milliseconds lock_wait = std::chrono::seconds(120);
    /// Receives every answered request once, for `lode warm`; empty for none. Several processes may
    /// write to one file.
    std::filesystem::path record = {};
    WorkerOptions workers = {};  ///< Whether compilations run in processes of their own.
    /// Runs asynchronous requests; if empty, lode starts threads for them. Until a task has run,
    /// what was made for it stays in memory; one that is destroyed instead is cancelled, without
    /// an event.
    Executor executor = {};
    PrecompiledHeaders precompiled_headers = {};  ///< For workers; kept in the folder.
    Log log = {};  ///< Receives warnings about the folder and the packs, for example.
    CompileEventHook events = {};  ///< Receives the progress of every request.

    /// Options from LODE_CACHE, LODE_CACHE_DIR, LODE_CACHE_KEYS, LODE_CACHE_MAX_BYTES,
    /// LODE_CACHE_PACKS, LODE_CACHE_SIGN_WITH, LODE_CACHE_TRUST, LODE_JIT, LODE_PCH_MAX_BYTES,
    /// LODE_PTX, LODE_RECORD, XDG_CACHE_HOME and HOME, RemoteCacheOptions::from_environment() and
    /// WorkerOptions::from_environment(). Errors: invalid_argument with the variable and its value.
    [[nodiscard]] static Result<CacheOptions> from_environment();
};

/// Totals so far, over all copies of one CachedCompiler.
struct CacheCounters {
    std::uint64_t memory_hits = 0;      ///< Answered from this process's memory.
    std::uint64_t disk_hits = 0;        ///< Answered from the folder.
    std::uint64_t pack_hits = 0;        ///< Answered from a pack.
    std::uint64_t remote_hits = 0;      ///< Answered from the remote cache.
    std::uint64_t new_requests = 0;     ///< Misses: the request was new.
    std::uint64_t changed_headers = 0;  ///< Misses: a header differs from every known state.
    std::uint64_t lost_entries = 0;     ///< Misses: evicted or removed.
    std::uint64_t compilations = 0;     ///< Successful ones.
    std::uint64_t failures = 0;         ///< Failed compilations.
    /// Requests answered with the error of an earlier failed compilation.
    std::uint64_t replayed_failures = 0;
    std::uint64_t refused = 0;   ///< Requests that JitPolicy::forbid refused.
    std::uint64_t not_kept = 0;  ///< Compilations whose result can't be cached.
    std::uint64_t shared = 0;    ///< Answered by another thread's compilation.
    std::uint64_t waits = 0;     ///< Waits for another process's compilation.
    std::uint64_t repairs = 0;   ///< Damaged or refused records removed.
    /// Records that weren't used because no trusted key has signed them.
    std::uint64_t untrusted = 0;
    /// Times that the folder, a pack or a file of keys couldn't be used.
    std::uint64_t faults = 0;
    /// Requests that the remote cache was asked for and didn't answer.
    std::uint64_t remote_misses = 0;
    std::uint64_t remote_faults = 0;   ///< Reads and writes of the remote cache that failed.
    std::uint64_t remote_writes = 0;   ///< Records sent to the remote cache.
    std::uint64_t remote_dropped = 0;  ///< Records not sent: a full queue, a fault, the end.
    /// Bytes read from the folder, the packs and the remote cache.
    std::uint64_t bytes_read = 0;
    /// Bytes written to the folder and the remote cache.
    std::uint64_t bytes_written = 0;
    std::uint64_t remote_bytes_read = 0;     ///< Bytes read from the remote cache.
    std::uint64_t remote_bytes_written = 0;  ///< Bytes written to the remote cache.
    /// Total time of the compilations that hits avoided.
    double saved_milliseconds = 0;

    /// Hits in memory, in the folder, in packs and in the remote cache together.
    [[nodiscard]] std::uint64_t hits() const noexcept {
        return memory_hits + disk_hits + pack_hits + remote_hits;
    }
};

/// Compiled code and where it came from.
struct CachedImage {
    std::shared_ptr<const Image> image;  ///< Shared with the cache; never null.
    CompileReport report;                ///< How the request was answered.
};

/// What prefetch() found.
struct PrefetchReport {
    std::size_t requests = 0;  ///< All that were asked for.
    std::size_t local = 0;     ///< Already in memory, in the folder or in a pack.
    std::size_t remote = 0;    ///< Now in the folder, from the remote cache.
};

/// Why a request hits or misses.
struct CacheExplanation {
    /// A key field that differs from the nearest request on disk.
    struct Difference {
        std::string field;    ///< e.g. "flag", "arch", "source.sha256".
        std::string wanted;   ///< This request's values, separated by commas; empty if it has none.
        std::string nearest;  ///< The nearest request's values.
    };

    std::string tier;     ///< The tier that would give a hit; empty for a miss.
    CacheMiss miss;       ///< Why it is a miss; none for a hit.
    Digest key = {};      ///< The entry's on a hit, the request's on a miss.
    std::string nearest;  ///< The source name of the nearest request; empty if there is none.
    std::vector<Difference> differences;  ///< From the nearest request, by field name.
};

namespace detail {
class CachedCompilerState;
}

/// A Compiler with a cache in memory, in the user's folder and in packs. A hit doesn't open NVRTC.
///
/// A hit returns the bytes that the compiler made for the same source text, contents of every
/// header that it read, options, target, names and compiler build. Every record is fully verified
/// when it is read; one that fails counts as a miss, and the next result replaces it. Problems with
/// the folder cause a log line and a count, but never a failed compilation. Concurrent requests for
/// one key share one compilation, in this process and across processes. Failures aren't kept on
/// disk; while the source and its headers stay the same, the error is returned again from memory.
///
/// Construction touches no file. Copies share everything. Thread-safe. A forked child must create
/// its own.
class CachedCompiler {
public:
    /// Opens nothing yet.
    explicit CachedCompiler(CompilerSearch search = {}, CacheOptions options = {});

    /// The properties of a language's compiler; taken from an earlier process's record while that
    /// still holds. Errors: those of Compiler::info.
    [[nodiscard]] Result<CompilerInfo> info(
        Source::Language language = Source::Language::cuda) const;

    /// The result of Compiler::compile(), possibly from the cache. Blocks until it is available.
    /// Errors: those of Compiler::compile(); not_found if JitPolicy::forbid refuses.
    [[nodiscard]] Result<CachedImage> compile(
        const Source& source, const Arch& arch, const CompileOptions& options = {},
        std::span<const std::string> name_expressions = {}) const;

    /// The same with limits, which the result doesn't depend on. Errors: also timed_out and
    /// out_of_memory for a limit; not_supported for a limit with WorkerPolicy::never.
    [[nodiscard]] Result<CachedImage> compile(const CompileRequest& request) const;

    /// The same without blocking: the source is read, and the cache searched, on another thread.
    /// Requests that the cache answers don't wait for others to be compiled. The last copy of the
    /// compiler cancels what is under way and waits for it to end. Errors: also cancelled.
    [[nodiscard]] Pending<CachedImage> compile_async(CompileRequest request) const;
    /// The same with a request that `complete` completes on the other thread, for example with the
    /// target; its error is the request's.
    [[nodiscard]] Pending<CachedImage> compile_async(
        CompileRequest request, std::function<Status(CompileRequest&)> complete) const;

    /// Brings the answers of requests from the remote cache into the folder, many in one round
    /// trip. Compiles nothing; ignores requests with an error and those that can't be cached.
    [[nodiscard]] PrefetchReport prefetch(std::span<const CompileRequest> requests) const;

    /// The files that the result of a request depends on, absolute: the source, unless its code is
    /// in memory, and every header that the compiler reads. Compiles if the cache has no answer.
    /// Errors: those of compile(); not_supported if the result can't be cached.
    [[nodiscard]] Result<std::vector<std::filesystem::path>> dependencies(
        const CompileRequest& request) const;

    /// The result of Linker::link(), possibly from the cache. Blocks until it is available.
    ///
    /// A hit returns the bytes that this build of nvJitLink made of the same inputs, names, target
    /// and options. JitPolicy and the events apply as to compile(); links count as compilations. A
    /// link whose LinkOptions::extra_flags name a file of options isn't kept. Errors: those of
    /// Linker::link(); not_found if JitPolicy::forbid refuses.
    [[nodiscard]] Result<CachedImage> link(const Linker& linker, std::span<const LinkInput> inputs,
                                           const Arch& target,
                                           const LinkOptions& options = {}) const;

    /// Looks a request up without compiling. After a miss it also searches the disk for the request
    /// with the same source name whose key differs in the fewest fields. Errors: those that
    /// compile() finds before it compiles.
    [[nodiscard]] Result<CacheExplanation> explain(
        const Source& source, const Arch& arch, const CompileOptions& options = {},
        std::span<const std::string> name_expressions = {}) const;

    /// Whether a request would be answered by the entry `key` of the cache: false once the source
    /// or a header has changed. Compiles nothing.
    [[nodiscard]] bool is_current(const CompileRequest& request, const Digest& key) const;

    /// Removes an image that the driver refuses from memory and the folder; the next compile()
    /// compiles it again.
    void discard(const CachedImage& refused) const;

    /// Prepares for a checkpoint of the process: waits for the requests under way, writes and sends
    /// what is queued, and ends the workers and lode's threads, files and connections. What is in
    /// memory stays. Until resume(), every request waits, also compile_async(). Tasks that
    /// CacheOptions::executor hasn't begun aren't waited for. Errors: invalid_argument in a
    /// function that a request calls, which would wait for itself.
    [[nodiscard]] Status quiesce() const;
    /// Lets requests continue; they start what they need. Does nothing unless it is quiesced.
    void resume() const noexcept;

    /// Totals so far, over all copies.
    [[nodiscard]] CacheCounters counters() const;
    /// The options as given at construction.
    [[nodiscard]] const CacheOptions& options() const noexcept;

    /// The implementation: for lode's own tests and other compilers, not for hosts.
    using State = detail::CachedCompilerState;
    /// For lode's own tests and other compilers, not for hosts.
    explicit CachedCompiler(const std::shared_ptr<State>& state);

private:
    std::shared_ptr<State> state_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
