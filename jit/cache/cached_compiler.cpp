#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/cache/nvtx_range.hpp"
#include "jit/cache/state.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

namespace {

using Clock = std::chrono::steady_clock;

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

/// How many asynchronous requests to compile at once.
std::size_t slow_threads(const WorkerOptions& workers) {
    // NVRTC's front end takes a lock, so that more threads gain little without workers.
    constexpr unsigned most_here = 4;
    const unsigned processors = std::max(std::thread::hardware_concurrency(), 1U);
    if (workers.policy == WorkerPolicy::never) return std::min(processors, most_here);
    return workers.max_processes > 0 ? static_cast<std::size_t>(workers.max_processes) : processors;
}

/// Precompiled headers lie in the cache's folder and follow its mode.
pch::Settings pch_settings(const CacheOptions& options) {
    if (options.mode == CacheMode::off || options.folder.empty()) return {};
    // They aren't signed.
    if (options.trust == CacheTrust::signed_only || !options.sign_with.empty()) return {};
    std::error_code ignored;
    return {std::filesystem::absolute(options.folder, ignored).native(),
            options.mode == CacheMode::on, options.precompiled_headers.max_bytes,
            options.precompiled_headers.least_header_bytes, false};
}

}  // namespace

CachedCompiler::CachedCompiler(CompilerSearch search, CacheOptions options) {
    auto backend = cache::make_nvrtc_backend(std::move(search), options.workers,
                                             pch_settings(options), options.log);
    *this = CachedCompiler(std::make_shared<State>(std::move(backend), std::move(options)));
}

// Asynchronous work holds the state itself. The copies share a count of their own, which tells when
// the last copy is gone.
CachedCompiler::CachedCompiler(const std::shared_ptr<State>& state)
    : state_(state.get(), [state](State* /*same*/) { state->shut_down(); }) {}

Result<CompilerInfo> CachedCompiler::info() const {
    return state_->info();
}

Result<CachedImage> CachedCompiler::compile(const Source& source, const Arch& arch,
                                            const CompileOptions& options,
                                            std::span<const std::string> name_expressions) const {
    return state_->compile(source, arch, options, name_expressions);
}

Result<CachedImage> CachedCompiler::compile(const CompileRequest& request) const {
    return state_->compile(request.source, request.arch, request.options, request.name_expressions,
                           request.limits);
}

Pending<CachedImage> CachedCompiler::compile_async(CompileRequest request) const {
    return compile_async(std::move(request), {});
}

Pending<CachedImage> CachedCompiler::compile_async(
    CompileRequest request, std::function<Status(CompileRequest&)> complete) const {
    return Pending<CachedImage>(state_->compile_async(std::move(request), std::move(complete)),
                                state_);
}

Result<std::vector<std::filesystem::path>> CachedCompiler::dependencies(
    const CompileRequest& request) const {
    return state_->dependencies(request);
}

bool CachedCompiler::is_current(const CompileRequest& request, const Digest& key) const {
    return state_->is_current(request, key);
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

CachedCompiler::State::CachedCompilerState(std::unique_ptr<cache::CompilerBackend> backend,
                                           CacheOptions options,
                                           const cache::FileOperations& operations)
    : backend_(std::move(backend)),
      storage_(std::move(options), operations),
      tasks_(this->options().executor, slow_threads(this->options().workers)) {
    // The handler for the end of the process is registered now, before any of a library.
    [[maybe_unused]] const ProcessUse use;
}

Result<CompilerInfo> CachedCompiler::State::info() {
    const ProcessUse use;
    if (!use) return fail_at_process_end();
    LODE_TRY_ASSIGN(const auto compiler, identity_.get());
    return compiler->info();
}

Result<CachedImage> CachedCompiler::State::compile(const Source& source, const Arch& arch,
                                                   const CompileOptions& options,
                                                   std::span<const std::string> names,
                                                   const CompileLimits& limits) {
    const ProcessUse use;
    if (!use) return fail_at_process_end();
    const cache::NvtxRange range("lode::CachedCompiler::compile");
    const RequestContext context = new_request(limits);
    bool shared = false;
    auto asked = request(source, arch, options, names, context, shared);
    auto answer = finish(context, source.name(), arch, std::move(asked), shared);
    if (answer && recorder_) recorder_->record(source, arch, options, names, *answer);
    return answer;
}

Result<CachedImage> CachedCompiler::State::request(const Source& source, const Arch& arch,
                                                   const CompileOptions& options,
                                                   std::span<const std::string> names,
                                                   const RequestContext& context, bool& shared) {
    auto read = source.read();
    if (!read) {
        // The compiler reports the error: invalid options come before an unreadable source.
        if (this->options().policy == JitPolicy::forbid)
            return tl::unexpected(std::move(read).error());
        return compile_uncached(source, arch, options, names, {MissReason::unreadable_source},
                                context);
    }
    const std::string text = *std::move(read);
    const Source pinned = source.pinned(text);
    if (source.language() == Source::Language::ptx)
        return compile_uncached(pinned, arch, options, names, {MissReason::ptx_source}, context);
    LODE_TRY_ASSIGN(const auto compiler, identity_.get());
    LODE_TRY_ASSIGN(const PreparedRequest prepared,
                    prepare(pinned, text, arch, options, names, *compiler));
    if (std::string why = cache::uncacheable_reason(prepared.request(*compiler)); !why.empty()) {
        const CacheMiss miss{MissReason::uncacheable, std::move(why)};
        LODE_TRY(permit(source, arch, miss, std::nullopt));
        return compile_uncached(pinned, arch, options, names, miss, context, prepared.source_files);
    }
    const auto gives_up = [&]() -> std::optional<Error> {
        const bool is_given_up =
            context.is_asynchronous && (tasks_.is_stopping() || context.stop.stop_requested());
        if (!is_given_up && !is_process_ending()) return std::nullopt;
        return fail_cancelled(source.name()).value();
    };
    shared = true;
    return flights_.run(
        prepared.flight_key(context.limits),
        [&](std::function<bool()> is_awaited) {
            shared = false;
            return answer(prepared, context, std::move(is_awaited));
        },
        // The other request was given up; this one wasn't.
        [](const Result<CachedImage>& result) {
            return result || result.error().code != Errc::cancelled;
        },
        gives_up);
}

Result<CachedImage> CachedCompiler::State::answer(const PreparedRequest& request,
                                                  const RequestContext& context,
                                                  std::function<bool()> is_awaited) {
    CacheMiss miss;
    if (auto hit = look_up(request, miss)) return *std::move(hit);
    if (auto failure = lookup_.find_failure(request)) {
        ++storage_.counters.replayed_failures;
        return tl::unexpected<Error>(*std::move(failure));
    }
    if (auto hit = look_up_remote(request)) return *std::move(hit);
    count_remote_miss();
    LODE_TRY(permit(request.source, request.arch, miss, request.key.digest));
    const CompileControl control = control_of(context, request.source, request.arch,
                                              request.key.digest, std::move(is_awaited));
    if (control.is_stopped()) return fail_cancelled(request.source.name());
    tell(context, {.kind = CompileEvent::Kind::started,
                   .source = request.source.name(),
                   .arch = request.arch,
                   .key = request.key.digest});
    return make_once(
        {.key = request.key.digest,
         .name = request.source.name(),
         .look_up =
             [&] {
                 CacheMiss ignored;
                 return look_up(request, ignored);
             },
         .look_up_remote = [&] { return look_up_remote(request); },
         .make = [&] { return compile_and_publish(request, std::move(miss), control); }},
        control);
}

std::optional<CachedImage> CachedCompiler::State::look_up(const PreparedRequest& request,
                                                          CacheMiss& miss) {
    auto hit = lookup_.find(request);
    if (!hit) {
        miss = std::move(hit).error();
        return std::nullopt;
    }
    return answer_of(*std::move(hit), request);
}

std::optional<CachedImage> CachedCompiler::State::look_up_remote(const PreparedRequest& request) {
    auto hit = lookup_.find_remote(request);
    if (!hit) return std::nullopt;
    return answer_of(*std::move(hit), request);
}

CachedImage CachedCompiler::State::answer_of(cache::Hit hit, const PreparedRequest& request) {
    using When = cache::Publisher::When;
    const bool is_remote = hit.tier == cache::RemoteTier::tier_name;
    const When when = is_remote ? When::later : When::now;
    if (hit.renewed) publisher_.publish_headers(request, *std::move(hit.renewed), when);
    const double saved = hit.kept.compile_ms;
    storage_.counters.saved_microseconds += static_cast<std::uint64_t>(std::max(saved, 0.0) * 1e3);
    CachedImage answer{renamed(hit.kept.image, request.source.name()),
                       report_of(request.source, request.arch)};
    answer.report.tier = hit.tier;
    answer.report.key = hit.key;
    answer.report.saved_milliseconds = saved;
    return answer;
}

Status CachedCompiler::State::permit(const Source& source, const Arch& arch, const CacheMiss& miss,
                                     const std::optional<Digest>& key) {
    const JitPolicy policy = options().policy;
    if (policy == JitPolicy::allow) return {};
    const std::string what =
        fmt::format("'{}' for {} isn't in the cache ({}{})", source.name(), arch.to_string(),
                    miss.to_string(), key ? fmt::format("; key {}", key->to_hex()) : "");
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

Result<CachedImage> CachedCompiler::State::compile_and_publish(const PreparedRequest& request,
                                                               CacheMiss miss,
                                                               const CompileControl& control) {
    const cache::NvtxRange range("lode: compile");
    count_miss(storage_.counters, miss.reason);
    CompileFiles files;
    const auto start = Clock::now();
    auto outcome = backend_->compile({request.source, request.arch, request.options, request.names,
                                      control, files, request.source_files});
    const double spent = cache::milliseconds_since(start);
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
    if (compiler && (image->compiler != (*compiler)->info().name() ||
                     files.compiler_files != (*compiler)->properties.files ||
                     request.compiler_digest != (*compiler)->digest)) {
        identity_.refresh();
        result.report.not_kept = fmt::format(
            "its compiler turned out to be another one than that of the key ({})", image->compiler);
    } else if (compiler && !(*compiler)->is_settled) {
        result.report.not_kept = "the compiler's files have just changed";
        identity_.refresh();
    } else {
        control.enter(CompilePhase::storing);
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
                                                            CacheMiss miss,
                                                            const RequestContext& context,
                                                            const SourceFiles& source_files) {
    const CompileControl control = control_of(context, source, arch, {}, {});
    if (control.is_stopped()) return fail_cancelled(source.name());
    tell(context, {.kind = CompileEvent::Kind::started, .source = source.name(), .arch = arch});
    CompileFiles files;
    auto image = backend_->compile({source, arch, options, names, control, files, source_files});
    ++(image ? storage_.counters.compilations : storage_.counters.failures);
    LODE_TRY_ASSIGN(Image compiled, std::move(image));
    ++storage_.counters.not_kept;
    CachedImage result{std::make_shared<const Image>(std::move(compiled)), report_of(source, arch)};
    result.report.not_kept = miss.to_string();
    result.report.miss = std::move(miss);
    return result;
}

}  // namespace LODE_NAMESPACE
