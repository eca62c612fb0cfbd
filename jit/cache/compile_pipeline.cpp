#include "jit/cache/compile_pipeline.hpp"

#include "base/try.hpp"
#include "jit/cache/make_once.hpp"
#include "jit/cache/nvtx_range.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

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

CompileReport report_of(const CompileRequest& request) {
    CompileReport report;
    report.source = request.source.name();
    report.arch = request.arch;
    return report;
}

void count_miss(AtomicCounters& counters, MissReason reason) {
    if (reason == MissReason::never_compiled) ++counters.new_requests;
    if (reason == MissReason::dependency_changed) ++counters.changed_headers;
    if (reason == MissReason::entry_lost) ++counters.lost_entries;
}

}  // namespace

Result<CompilerInfo> CompilePipeline::info(Source::Language language) {
    LODE_TRY_ASSIGN(const auto compiler, compiler_of(language).identity.get());
    return compiler->info();
}

Result<CachedImage> CompilePipeline::answer(CompileRequest& request, const RequestContext& context,
                                            bool& shared) {
    if (auto read = read_source(request); !read) {
        // The compiler reports the error: invalid options come before an unreadable source.
        if (storage_.options().policy == JitPolicy::forbid)
            return tl::unexpected(std::move(read).error());
        return compile_uncached(request, {MissReason::unreadable_source}, context);
    }
    if (is_wrapped(request)) return compile_uncached(request, {MissReason::ptx_source}, context);
    LODE_TRY_ASSIGN(const auto compiler, compiler_of(request).identity.get());
    LODE_TRY_ASSIGN(const PreparedRequest prepared, prepare(request, *compiler));
    if (std::string why = uncacheable_reason(request); !why.empty()) {
        const CacheMiss miss{MissReason::uncacheable, std::move(why)};
        LODE_TRY(requests_.permit(context, miss, std::nullopt, request.name_expressions));
        return compile_uncached(request, miss, context, prepared.source_files);
    }
    shared = true;
    return flights_.run(
        prepared.flight_key(request.limits),
        [&](std::function<bool()> is_awaited) {
            shared = false;
            return answer_alone(prepared, context, std::move(is_awaited));
        },
        [&] { return requests_.gives_up(context); });
}

Result<PreparedRequest> CompilePipeline::prepare(const CompileRequest& request,
                                                 const KnownCompiler& compiler) {
    return cache::prepare(request, compiler, storage_.options().workers.jail,
                          source_store_.make(request));
}

void CompilePipeline::with_prepared(CompileRequest request,
                                    const std::function<void(const PreparedRequest&)>& use) {
    if (is_wrapped(request) || !read_source(request)) return;
    const auto compiler = compiler_of(request).identity.get();
    if (!compiler) return;
    const auto prepared = prepare(request, **compiler);
    if (prepared && uncacheable_reason(request).empty()) use(*prepared);
}

Result<CachedImage> CompilePipeline::answer_alone(const PreparedRequest& request,
                                                  const RequestContext& context,
                                                  std::function<bool()> is_awaited) {
    CacheMiss miss;
    if (auto hit = look_up(request, miss)) return *std::move(hit);
    if (auto failure = lookup_.find_failure(request)) {
        ++storage_.counters.replayed_failures;
        return tl::unexpected<Error>(*std::move(failure));
    }
    if (auto hit = look_up_remote(request)) return *std::move(hit);
    storage_.count_remote_miss();
    LODE_TRY(requests_.permit(context, miss, request.key.digest, request.request.name_expressions));
    const CompileControl control =
        requests_.control_of(context, request.key.digest, std::move(is_awaited));
    if (control.is_stopped()) return fail_cancelled(context.source);
    requests_.tell(context, {.kind = CompileEvent::Kind::started, .key = request.key.digest});
    return make_once(
        {.key = request.key.digest,
         .name = context.source,
         .look_up =
             [&] {
                 CacheMiss ignored;
                 return look_up(request, ignored);
             },
         .look_up_remote = [&] { return look_up_remote(request); },
         .make = [&] { return compile_and_publish(request, std::move(miss), control); }},
        storage_, control);
}

std::optional<CachedImage> CompilePipeline::look_up(const PreparedRequest& request,
                                                    CacheMiss& miss) {
    auto hit = lookup_.find(request);
    if (!hit) {
        miss = std::move(hit).error();
        return std::nullopt;
    }
    return answer_of(*std::move(hit), request);
}

std::optional<CachedImage> CompilePipeline::look_up_remote(const PreparedRequest& request) {
    auto hit = lookup_.find_remote(request);
    if (!hit) return std::nullopt;
    return answer_of(*std::move(hit), request);
}

CachedImage CompilePipeline::answer_of(Hit hit, const PreparedRequest& request) {
    using When = Publisher::When;
    const bool is_remote = hit.tier == RemoteTier::tier_name;
    const When when = is_remote ? When::later : When::now;
    if (hit.renewed) publisher_.publish_headers(request, *std::move(hit.renewed), when);
    const double saved = hit.kept.compile_ms;
    storage_.counters.saved_microseconds += static_cast<std::uint64_t>(std::max(saved, 0.0) * 1e3);
    CachedImage answer{renamed(hit.kept.image, request.request.source.name()),
                       report_of(request.request)};
    answer.report.tier = hit.tier;
    answer.report.key = hit.key;
    answer.report.saved_milliseconds = saved;
    return answer;
}

Result<CachedImage> CompilePipeline::compile_and_publish(const PreparedRequest& request,
                                                         CacheMiss miss,
                                                         const CompileControl& control) {
    const NvtxRange range("lode: compile");
    count_miss(storage_.counters, miss.reason);
    CompileFiles files;
    const auto start = std::chrono::steady_clock::now();
    auto& [backend, identity] = compiler_of(request.request);
    auto outcome = backend->compile(
        request.request,
        {.files = &files, .control = &control, .source_files = request.source_files});
    const double spent = milliseconds_since(start);
    if (!outcome) {
        ++storage_.counters.failures;
        publisher_.publish_failure(request, files, outcome.error());
        return tl::unexpected<Error>(std::move(outcome).error());
    }
    ++storage_.counters.compilations;
    const auto image = std::make_shared<const Image>(*std::move(outcome));
    CachedImage result{image, report_of(request.request)};
    result.report.miss = std::move(miss);

    const auto compiler = identity.get();
    if (compiler && (image->compiler != (*compiler)->info().name() ||
                     files.compiler_files != (*compiler)->properties.files ||
                     request.compiler_digest != (*compiler)->digest)) {
        identity.refresh();
        result.report.not_kept = fmt::format(
            "its compiler turned out to be another one than that of the key ({})", image->compiler);
    } else if (compiler && !(*compiler)->is_settled) {
        result.report.not_kept = "the compiler's files have just changed";
        identity.refresh();
    } else {
        control.enter(CompilePhase::storing);
        auto published = publisher_.publish(request, files, image, spent);
        result.report.key = published.key;
        result.report.not_kept = std::move(published.not_kept);
    }
    if (!result.report.not_kept.empty()) ++storage_.counters.not_kept;
    return result;
}

Result<CachedImage> CompilePipeline::compile_uncached(const CompileRequest& request, CacheMiss miss,
                                                      const RequestContext& context,
                                                      const SourceFiles& source_files) {
    const CompileControl control = requests_.control_of(context, {}, {});
    if (control.is_stopped()) return fail_cancelled(context.source);
    requests_.tell(context, {.kind = CompileEvent::Kind::started});
    CompileFiles files;
    auto image = compiler_of(request).backend->compile(
        request, {.files = &files, .control = &control, .source_files = source_files});
    ++(image ? storage_.counters.compilations : storage_.counters.failures);
    LODE_TRY_ASSIGN(Image compiled, std::move(image));
    ++storage_.counters.not_kept;
    CachedImage result{std::make_shared<const Image>(std::move(compiled)), report_of(request)};
    result.report.not_kept = miss.to_string();
    result.report.miss = std::move(miss);
    return result;
}

PrefetchReport CompilePipeline::prefetch(std::span<const CompileRequest> requests) {
    // What is read ahead lies in memory until it is asked for.
    constexpr std::size_t at_once = 64;
    PrefetchReport report;
    report.requests = requests.size();
    for (; !requests.empty(); requests = requests.subspan(std::min(requests.size(), at_once))) {
        std::vector<const CompileRequest*> missing;
        std::vector<RecordKey> keys;
        for (const auto& request : requests.first(std::min(requests.size(), at_once))) {
            with_prepared(request, [&](const PreparedRequest& prepared) {
                CacheMiss ignored;
                if (look_up(prepared, ignored)) {
                    ++report.local;
                    return;
                }
                missing.push_back(&request);
                keys.push_back({RecordKind::manifest, prepared.key.digest});
            });
        }
        if (storage_.remote() == nullptr || missing.empty()) continue;
        storage_.remote()->prefetch(keys);
        for (const CompileRequest* request : missing) {
            with_prepared(*request, [&](const PreparedRequest& prepared) {
                if (look_up_remote(prepared)) {
                    ++report.remote;
                } else {
                    storage_.count_remote_miss();
                }
            });
        }
    }
    storage_.wait_for_writes();
    return report;
}

bool CompilePipeline::is_current(const CompileRequest& request, const Digest& key) {
    bool current = false;
    with_prepared(request, [&](const PreparedRequest& prepared) {
        std::optional<KnownSet> renewed;
        current = lookup_.is_current(prepared, key, renewed);
        if (renewed) publisher_.publish_headers(prepared, *std::move(renewed));
    });
    return current;
}

std::optional<std::vector<std::filesystem::path>> CompilePipeline::headers_of(
    const CompileRequest& request) {
    std::optional<std::vector<std::filesystem::path>> headers;
    with_prepared(request,
                  [&](const PreparedRequest& prepared) { headers = lookup_.headers_of(prepared); });
    return headers;
}

}  // namespace LODE_NAMESPACE::cache
