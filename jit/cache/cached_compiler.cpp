#include "base/try.hpp"
#include "jit/cache/nvtx_range.hpp"
#include "jit/cache/state.hpp"
#include "jit/cache/store/key_lock.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace lode {

using cache::KeyLock;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The same code under another source name: replaces the name wherever the compiler wrote it.
std::shared_ptr<const Image> renamed(const std::shared_ptr<const Image>& image,
                                     const std::string& name) {
    if (image->name == name) return image;
    auto copy = std::make_shared<Image>(*image);
    const std::string old = std::exchange(copy->name, name);
    for (auto& diagnostic : copy->diagnostics) {
        if (diagnostic.file == old) diagnostic.file = name;
    }
    // The log names locations as "file(line)".
    const std::string old_place = old + "(";
    const std::string new_place = name + "(";
    for (std::size_t at = 0; (at = copy->log.find(old_place, at)) != std::string::npos;
         at += new_place.size()) {
        copy->log.replace(at, old_place.size(), new_place);
    }
    return copy;
}

CompileReport report_of(const Source& source, const Arch& arch) {
    CompileReport report;
    report.source = source.name();
    report.arch = arch;
    return report;
}

void count_miss(cache::AtomicCounters& counters, MissReason reason) {
    if (reason == MissReason::never_compiled) ++counters.new_requests;
    if (reason == MissReason::dependency_changed) ++counters.changed_headers;
    if (reason == MissReason::entry_lost) ++counters.lost_entries;
}

}  // namespace

std::string CacheMiss::to_string() const {
    switch (reason) {
        case MissReason::none:
            return {};
        case MissReason::never_compiled:
            return "it was never compiled before";
        case MissReason::entry_lost:
            return "its entry is gone";
        case MissReason::unreadable_source:
            return "its source can't be read";
        case MissReason::ptx_source:
            return "it is PTX already";
        case MissReason::dependency_changed:
        case MissReason::uncacheable:
            break;
    }
    return detail;
}

std::string CompileReport::to_string() const {
    if (hit()) return fmt::format("hit ({})", tier);
    return fmt::format("compiled in {:.0f} ms", milliseconds);
}

CachedCompiler::CachedCompiler(CompilerSearch search, CacheOptions options) {
    auto backend = cache::make_nvrtc_backend(std::move(search), options.workers);
    state_ = std::make_shared<State>(std::move(backend), std::move(options));
}

Result<CompilerInfo> CachedCompiler::info() const {
    return state_->info();
}

Result<CachedImage> CachedCompiler::compile(const Source& source, const Arch& arch,
                                            const CompileOptions& options,
                                            std::span<const std::string> name_expressions) const {
    return state_->compile(source, arch, options, name_expressions);
}

Result<CacheExplanation> CachedCompiler::explain(
    const Source& source, const Arch& arch, const CompileOptions& options,
    std::span<const std::string> name_expressions) const {
    return state_->explain(source, arch, options, name_expressions);
}

void CachedCompiler::discard(const CachedImage& refused) const {
    state_->discard(refused);
}

CacheCounters CachedCompiler::counters() const {
    return state_->counters();
}

const CacheOptions& CachedCompiler::options() const noexcept {
    return state_->options();
}

CachedCompiler::State::State(std::unique_ptr<cache::CompilerBackend> backend, CacheOptions options)
    : backend_(std::move(backend)), storage_(std::move(options)) {}

Result<CompilerInfo> CachedCompiler::State::info() {
    LODE_TRY_ASSIGN(const auto info, identity_.get());
    return *info;
}

Result<CachedImage> CachedCompiler::State::compile(const Source& source, const Arch& arch,
                                                   const CompileOptions& options,
                                                   std::span<const std::string> names) {
    const cache::NvtxRange range("lode::CachedCompiler::compile");
    const auto start = Clock::now();
    bool shared = false;
    LODE_TRY_ASSIGN(CachedImage answer, request(source, arch, options, names, shared));
    answer.report.milliseconds = milliseconds_since(start);
    answer.report.shared = shared;
    if (shared) ++storage_.counters.shared;
    if (recorder_) recorder_->record(source, arch, options, names, answer);
    if (this->options().hook) this->options().hook(answer.report);
    return answer;
}

Result<CachedImage> CachedCompiler::State::request(const Source& source, const Arch& arch,
                                                   const CompileOptions& options,
                                                   std::span<const std::string> names,
                                                   bool& shared) {
    auto read = source.read();
    if (!read) {
        // The compiler reports the error: invalid options come before an unreadable source.
        if (this->options().policy == JitPolicy::forbid)
            return tl::unexpected(std::move(read).error());
        return compile_uncached(source, arch, options, names, {MissReason::unreadable_source});
    }
    const std::string text = *std::move(read);
    const Source pinned = source.pinned(text);
    if (source.language() == Source::Language::ptx)
        return compile_uncached(pinned, arch, options, names, {MissReason::ptx_source});
    LODE_TRY_ASSIGN(const auto compiler, identity_.get());
    LODE_TRY_ASSIGN(const PreparedRequest prepared,
                    cache::prepare(pinned, text, arch, options, names, *compiler));
    if (std::string why = cache::uncacheable_reason(prepared.request(*compiler)); !why.empty()) {
        const CacheMiss miss{MissReason::uncacheable, std::move(why)};
        LODE_TRY(permit(source, arch, miss));
        return compile_uncached(pinned, arch, options, names, miss);
    }
    shared = true;
    return flights_.run(prepared.flight_key(), [&] {
        shared = false;
        return answer(prepared);
    });
}

Result<CachedImage> CachedCompiler::State::answer(const PreparedRequest& request) {
    CacheMiss miss;
    if (auto hit = look_up(request, miss)) return *std::move(hit);
    if (auto failure = lookup_.find_failure(request)) {
        ++storage_.counters.replayed_failures;
        return tl::unexpected<Error>(*std::move(failure));
    }
    LODE_TRY(permit(request.source, request.arch, miss));
    return compile_once(request, std::move(miss));
}

std::optional<CachedImage> CachedCompiler::State::look_up(const PreparedRequest& request,
                                                          CacheMiss& miss) {
    auto hit = lookup_.find(request);
    if (!hit) {
        miss = std::move(hit).error();
        return std::nullopt;
    }
    if (hit->renewed) publisher_.publish_headers(request, *std::move(hit->renewed));
    const double saved = hit->kept.compile_ms;
    storage_.counters.saved_microseconds += static_cast<std::uint64_t>(std::max(saved, 0.0) * 1e3);
    CachedImage answer{renamed(hit->kept.image, request.source.name()),
                       report_of(request.source, request.arch)};
    answer.report.tier = hit->tier;
    answer.report.key = hit->key;
    answer.report.saved_milliseconds = saved;
    return answer;
}

Status CachedCompiler::State::permit(const Source& source, const Arch& arch,
                                     const CacheMiss& miss) {
    const JitPolicy policy = options().policy;
    if (policy == JitPolicy::allow) return {};
    const std::string what = fmt::format("'{}' for {} isn't in the cache ({})", source.name(),
                                         arch.to_string(), miss.to_string());
    if (policy == JitPolicy::warn) {
        options().log.write(LogLevel::warning, what + " and is compiled now.");
        return {};
    }
    ++storage_.counters.refused;
    return fail(Errc::not_found,
                fmt::format("{}, and compiling at run time is forbidden (LODE_JIT=forbid). Fill "
                            "the cache or a pack beforehand.",
                            what));
}

Result<CachedImage> CachedCompiler::State::compile_once(const PreparedRequest& request,
                                                        CacheMiss miss) {
    const cache::DiskTier* disk = storage_.tiers().disk();
    if (disk == nullptr || !disk->writable()) return compile_and_publish(request, std::move(miss));

    KeyLock lock(disk->folder(), request.key.digest);
    const auto deadline = Clock::now() + options().lock_wait;
    std::chrono::microseconds pause{200};
    constexpr std::chrono::microseconds longest_pause{20'000};
    for (bool waited = false;;) {
        const auto outcome = lock.attempt();
        if (outcome == KeyLock::Outcome::failed) break;
        // The previous holder of the lock may have published the entry.
        CacheMiss ignored;
        if (auto hit = look_up(request, ignored)) return *std::move(hit);
        if (outcome == KeyLock::Outcome::taken || Clock::now() >= deadline) break;
        if (!std::exchange(waited, true)) ++storage_.counters.waits;
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 3 / 2, longest_pause);
    }
    return compile_and_publish(request, std::move(miss));
}

Result<CachedImage> CachedCompiler::State::compile_and_publish(const PreparedRequest& request,
                                                               CacheMiss miss) {
    const cache::NvtxRange range("lode: compile");
    count_miss(storage_.counters, miss.reason);
    CompileFiles files;
    const auto start = Clock::now();
    auto outcome =
        backend_->compile({request.source, request.arch, request.options, request.names, files});
    const double spent = milliseconds_since(start);
    if (!outcome) {
        ++storage_.counters.failures;
        publisher_.publish_failure(request, files, outcome.error());
        return tl::unexpected<Error>(std::move(outcome).error());
    }
    ++storage_.counters.compilations;
    const auto image = std::make_shared<const Image>(*std::move(outcome));
    CachedImage result{image, report_of(request.source, request.arch)};
    result.report.miss = std::move(miss);

    const auto compiler = identity_.get();
    if (compiler && image->compiler != (*compiler)->name()) {
        identity_.refresh();
        result.report.not_kept = fmt::format("its compiler turned out to be '{}'", image->compiler);
    } else {
        auto published = publisher_.publish(request, files, image, spent);
        result.report.key = published.key;
        result.report.not_kept = std::move(published.not_kept);
    }
    if (!result.report.not_kept.empty()) ++storage_.counters.not_kept;
    return result;
}

Result<CachedImage> CachedCompiler::State::compile_uncached(const Source& source, const Arch& arch,
                                                            const CompileOptions& options,
                                                            std::span<const std::string> names,
                                                            CacheMiss miss) {
    CompileFiles files;
    auto image = backend_->compile({source, arch, options, names, files});
    ++(image ? storage_.counters.compilations : storage_.counters.failures);
    LODE_TRY_ASSIGN(Image compiled, std::move(image));
    ++storage_.counters.not_kept;
    CachedImage result{std::make_shared<const Image>(std::move(compiled)), report_of(source, arch)};
    result.report.not_kept = miss.to_string();
    result.report.miss = std::move(miss);
    return result;
}

}  // namespace lode
