// CachedCompiler: a Compiler that never compiles the same thing twice and never serves a wrong one.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/base/log.hpp>
#include <lode/jit/compiler.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lode {

/// What becomes of compiled code outside this process. Within it, memory always serves.
enum class CacheMode : std::uint8_t {
    off,        ///< No disk, no packs.
    read_only,  ///< Read the folder and the packs, write nothing.
    on
};

/// What a compilation that no tier can spare leads to.
enum class JitPolicy : std::uint8_t {
    allow,
    warn,   ///< Compile, and log a warning: for tests of a warm start.
    forbid  ///< Fail with not_found, naming the source: for production with a filled cache.
};

/// How one request was answered.
struct CompileReport {
    std::string source;             ///< Source::name().
    Arch arch = {};                 ///< The target asked for.
    std::string tier;               ///< "memory", "disk" or "pack" for a hit; empty when compiled.
    std::string reason;             ///< Why it was compiled, as a clause; empty for a hit.
    std::string not_kept;           ///< Why the result isn't in the cache now; empty when it is.
    Digest key = {};                ///< The entry's; all zeros where there is none.
    double milliseconds = 0;        ///< Spent on this request, waiting included.
    double saved_milliseconds = 0;  ///< What the compilation took that a hit spares.
    bool shared = false;            ///< Another thread's work gave the answer.

    [[nodiscard]] bool hit() const noexcept { return !tier.empty(); }
    /// "hit (disk)", "compiled in 14 ms".
    [[nodiscard]] std::string to_string() const;
};

/// Receives a report when a request succeeds. Any thread; mustn't throw or call the compiler.
using CompileHook = std::function<void(const CompileReport&)>;

/// What a CachedCompiler keeps, and where.
struct CacheOptions {
    static constexpr std::uint64_t default_max_bytes = std::uint64_t{2} << 30;
    static constexpr std::size_t default_memory_bytes = std::size_t{64} << 20;

    CacheMode mode = CacheMode::on;
    /// Made when missing, mode 0700; must belong to this user alone. Empty: no disk.
    std::filesystem::path folder = {};
    std::uint64_t max_bytes = default_max_bytes;  ///< Of the folder.
    std::size_t memory_bytes = default_memory_bytes;
    std::vector<std::filesystem::path> packs = {};  ///< Read-only packs, searched in order.
    JitPolicy policy = JitPolicy::allow;
    /// How long to wait for another process that compiles the same thing before doing it too.
    std::chrono::milliseconds lock_wait = std::chrono::seconds(120);
    Log log = {};
    CompileHook hook = {};

    /// From LODE_CACHE, LODE_CACHE_DIR, LODE_CACHE_MAX_BYTES, LODE_CACHE_PACKS, LODE_JIT,
    /// XDG_CACHE_HOME and HOME. Errors: invalid_argument with the variable and its value.
    [[nodiscard]] static Result<CacheOptions> from_environment();
};

/// What has happened so far, for every copy of one CachedCompiler together.
struct CacheCounters {
    std::uint64_t memory_hits = 0;
    std::uint64_t disk_hits = 0;
    std::uint64_t pack_hits = 0;
    std::uint64_t new_requests = 0;     ///< Misses: nothing was known.
    std::uint64_t changed_headers = 0;  ///< Misses: a header differs from every known state.
    std::uint64_t lost_entries = 0;     ///< Misses: evicted, or healed away.
    std::uint64_t compilations = 0;     ///< Successful ones.
    std::uint64_t failures = 0;         ///< Failed compilations.
    std::uint64_t replayed_failures = 0;
    std::uint64_t refused = 0;   ///< By JitPolicy::forbid.
    std::uint64_t not_kept = 0;  ///< Compilations whose result can't be cached.
    std::uint64_t shared = 0;    ///< Answered by another thread's work.
    std::uint64_t waits = 0;     ///< For another process's compilation.
    std::uint64_t heals = 0;     ///< Damaged or refused records removed.
    std::uint64_t faults = 0;    ///< Tiers taken out of use.
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
    double saved_milliseconds = 0;

    [[nodiscard]] std::uint64_t hits() const noexcept {
        return memory_hits + disk_hits + pack_hits;
    }
};

/// Compiled code and where it came from.
struct CachedImage {
    std::shared_ptr<const Image> image;
    CompileReport report;
};

/// Why a request hits or misses.
struct CacheExplanation {
    /// One field of the key that differs from the nearest request on disk.
    struct Difference {
        std::string field;    ///< e.g. "flag", "arch", "source.sha256".
        std::string wanted;   ///< This request's values, with commas; empty when it has none.
        std::string nearest;  ///< The nearest one's.
    };

    std::string tier;     ///< Where it would hit; empty for a miss.
    std::string reason;   ///< Of the miss, as a clause.
    Digest key = {};      ///< The entry's on a hit, the request's on a miss.
    std::string nearest;  ///< The source name of the nearest request; empty when there is none.
    std::vector<Difference> differences;
};

/// A Compiler behind a cache: memory, the user's folder, packs; NVRTC isn't opened on a hit.
///
/// A hit is the same bytes that the compiler gave for the same source text, contents of every
/// header that it read, options, target, names and compiler build: every record is checked as a
/// whole when it is read. Whatever doesn't check out is a miss that heals; whatever is wrong with
/// the folder costs one log line and a counter, never the compilation. Concurrent requests for one
/// key share one compilation, in this process and across processes. Failures aren't kept; while the
/// source and its headers stay as they are, their text is replayed from memory.
///
/// Construction touches no file. Copies share everything. Thread-safe. A forked child must make
/// its own.
class CachedCompiler {
public:
    explicit CachedCompiler(CompilerSearch search = {}, CacheOptions options = {});

    /// What the compiler is, remembered from an earlier process where that still holds.
    /// Errors: those of Compiler::info.
    [[nodiscard]] Result<CompilerInfo> info() const;

    /// Compiler::compile, or what it gave before. Errors: those of Compiler::compile; not_found
    /// where JitPolicy::forbid refuses.
    [[nodiscard]] Result<CachedImage> compile(
        const Source& source, const Arch& arch, const CompileOptions& options = {},
        std::span<const std::string> name_expressions = {}) const;

    /// Looks a request up without compiling, and on a miss for the request on disk whose key
    /// differs in the fewest fields. Errors: those of compile() before it compiles.
    [[nodiscard]] Result<CacheExplanation> explain(
        const Source& source, const Arch& arch, const CompileOptions& options = {},
        std::span<const std::string> name_expressions = {}) const;

    /// Removes an image that the driver refuses from every tier: the next compile() makes it anew.
    void discard(const CachedImage& refused) const;

    [[nodiscard]] CacheCounters counters() const;
    [[nodiscard]] const CacheOptions& options() const noexcept;

    /// For tests and other compilers: everything below the public functions.
    class State;
    explicit CachedCompiler(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}

private:
    std::shared_ptr<State> state_;
};

}  // namespace lode
