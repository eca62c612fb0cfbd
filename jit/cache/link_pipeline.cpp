#include "jit/cache/link_pipeline.hpp"

#include "base/try.hpp"
#include "jit/cache/link_key.hpp"
#include "jit/cache/make_once.hpp"
#include "jit/cache/nvtx_range.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace LODE_NAMESPACE {

/// A link that also tells the cache what the linker calculates.
struct RecordedLink {
    static Result<Image> run(const cache::LinkRequest& request, FileAccesses& accesses) {
        return request.linker.link(request.inputs, request.target, request.options, accesses);
    }
};

namespace cache {
namespace {

CompileReport report_of_link(const LinkRequest& request) {
    CompileReport report;
    for (const auto& input : request.inputs)
        report.source += (report.source.empty() ? "" : " + ") + input.name;
    report.arch = request.target;
    return report;
}

}  // namespace

Result<CachedImage> LinkPipeline::link(const LinkRequest& request) {
    const auto& [linker, inputs, target, options] = request;
    const NvtxRange range("lode::CachedCompiler::link");
    PreparedLink prepared{request, {}, {MissReason::never_compiled}, report_of_link(request)};
    const RequestContext context = requests_.make(prepared.report.source, target);
    LODE_TRY_ASSIGN(const LinkerInfo info, linker.info());
    if (std::string why = uncacheable_link_reason(options); !why.empty()) {
        prepared.miss = {MissReason::uncacheable, std::move(why)};
        return requests_.finish(context, answer(prepared, context), false);
    }
    prepared.key = link_key(info, inputs, target, options);
    bool shared = true;
    auto answered = flights_.run(
        prepared.key.digest,
        [&](const auto& /*is_awaited*/) {
            shared = false;
            return answer(prepared, context);
        },
        [&] { return requests_.gives_up(context); });
    return requests_.finish(context, std::move(answered), shared);
}

std::optional<CachedImage> LinkPipeline::look_up(const PreparedLink& link, Reach reach) {
    const auto found = storage_.find_entry(link.key, reach);
    if (!found) return std::nullopt;
    CachedImage answer{found->value.image, link.report};
    answer.report.tier = found->tier;
    answer.report.key = link.key.digest;
    answer.report.saved_milliseconds = found->value.compile_ms;
    storage_.counters.saved_microseconds +=
        static_cast<std::uint64_t>(std::max(found->value.compile_ms, 0.0) * 1e3);
    return answer;
}

Result<CachedImage> LinkPipeline::answer(const PreparedLink& link, const RequestContext& context) {
    const bool is_kept = !link.key.text.empty();
    if (is_kept) {
        if (auto hit = look_up(link, Reach::everywhere)) return *std::move(hit);
        storage_.count_remote_miss();
        ++storage_.counters.new_requests;
    }
    LODE_TRY(requests_.permit(context, link.miss, link.key.digest));
    requests_.tell(context, {.kind = CompileEvent::Kind::started, .key = link.key.digest});
    if (!is_kept) return link_and_publish(link);
    return make_once({.key = link.key.digest,
                      .name = context.source,
                      .look_up = [&] { return look_up(link, Reach::local); },
                      .look_up_remote = [&] { return look_up(link, Reach::everywhere); },
                      .make = [&] { return link_and_publish(link); }},
                     storage_, requests_.control_of(context, link.key.digest));
}

Result<CachedImage> LinkPipeline::link_and_publish(const PreparedLink& link) {
    CachedImage answer{nullptr, link.report};
    const auto start = std::chrono::steady_clock::now();
    FileAccesses accesses;
    auto linked = RecordedLink::run(link.request, accesses);
    ++(linked ? storage_.counters.compilations : storage_.counters.failures);
    LODE_TRY_ASSIGN(Image image, std::move(linked));
    answer.image = std::make_shared<const Image>(std::move(image));
    if (!accesses.calculations().empty()) {
        answer.report.not_kept = "the linker calculates constants with the C library";
    } else if (!link.key.text.empty()) {
        auto published = publisher_.publish(link.key, answer.image, milliseconds_since(start));
        answer.report.key = published.key;
        answer.report.not_kept = std::move(published.not_kept);
    } else {
        answer.report.not_kept = link.miss.to_string();
    }
    if (!answer.report.not_kept.empty()) ++storage_.counters.not_kept;
    answer.report.miss = link.miss;
    return answer;
}

}  // namespace cache
}  // namespace LODE_NAMESPACE
