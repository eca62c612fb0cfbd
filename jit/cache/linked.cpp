// CachedCompiler::link: links from the cache.
#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/cache/link_key.hpp"
#include "jit/cache/nvtx_range.hpp"
#include "jit/cache/state.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace LODE_NAMESPACE {
namespace {

CompileReport report_of_link(std::span<const LinkInput> inputs, const Arch& target) {
    CompileReport report;
    for (const auto& input : inputs)
        report.source += (report.source.empty() ? "" : " + ") + input.name;
    report.arch = target;
    return report;
}

}  // namespace

Result<CachedImage> CachedCompiler::link(const Linker& linker, std::span<const LinkInput> inputs,
                                         const Arch& target, const LinkOptions& options) const {
    return state_->link(linker, inputs, target, options);
}

Result<CachedImage> CachedCompiler::State::link(const Linker& linker,
                                                std::span<const LinkInput> inputs,
                                                const Arch& target, const LinkOptions& options) {
    const ProcessUse use;
    if (!use) return fail_at_process_end();
    const cache::NvtxRange range("lode::CachedCompiler::link");
    const CompileReport report = report_of_link(inputs, target);
    const RequestContext context = new_request(report.source, target);
    LODE_TRY_ASSIGN(const LinkerInfo info, linker.info());
    bool shared = false;
    const auto answered = [&]() -> Result<CachedImage> {
        if (std::string why = cache::uncacheable_link_reason(options); !why.empty()) {
            const cache::Key not_kept;
            const CacheMiss miss{MissReason::uncacheable, std::move(why)};
            return answer_link({linker, inputs, target, options, not_kept, miss, report}, context);
        }
        const cache::Key key = cache::link_key(info, inputs, target, options);
        const CacheMiss miss{MissReason::never_compiled};
        shared = true;
        return flights_.run(
            key.digest,
            [&](const auto& /*is_awaited*/) {
                shared = false;
                return answer_link({linker, inputs, target, options, key, miss, report}, context);
            },
            [](const auto& /*result*/) { return true; },
            [&]() -> std::optional<Error> {
                if (!is_process_ending()) return std::nullopt;
                return fail_cancelled(report.source).value();
            });
    };
    return finish(context, answered(), shared);
}

std::optional<CachedImage> CachedCompiler::State::look_up_link(const LinkRequest& request,
                                                               cache::Reach reach) {
    const auto found = storage_.find_entry(request.key, reach);
    if (!found) return std::nullopt;
    CachedImage answer{found->value.image, request.report};
    answer.report.tier = found->tier;
    answer.report.key = request.key.digest;
    answer.report.saved_milliseconds = found->value.compile_ms;
    storage_.counters.saved_microseconds +=
        static_cast<std::uint64_t>(std::max(found->value.compile_ms, 0.0) * 1e3);
    return answer;
}

Result<CachedImage> CachedCompiler::State::answer_link(const LinkRequest& request,
                                                       const RequestContext& context) {
    using cache::Reach;
    const bool is_kept = !request.key.text.empty();
    if (is_kept) {
        if (auto hit = look_up_link(request, Reach::everywhere)) return *std::move(hit);
        count_remote_miss();
        ++storage_.counters.new_requests;
    }
    LODE_TRY(permit(context, request.miss, request.key.digest));
    tell(context, {.kind = CompileEvent::Kind::started, .key = request.key.digest});
    if (!is_kept) return link_and_publish(request);
    return make_once({.key = request.key.digest,
                      .name = context.source,
                      .look_up = [&] { return look_up_link(request, Reach::local); },
                      .look_up_remote = [&] { return look_up_link(request, Reach::everywhere); },
                      .make = [&] { return link_and_publish(request); }},
                     control_of(context, request.key.digest, {}));
}

Result<CachedImage> CachedCompiler::State::link_and_publish(const LinkRequest& request) {
    CachedImage answer{nullptr, request.report};
    const auto start = std::chrono::steady_clock::now();
    FileAccesses accesses;
    auto linked = request.linker.link(request.inputs, request.target, request.options, accesses);
    ++(linked ? storage_.counters.compilations : storage_.counters.failures);
    LODE_TRY_ASSIGN(Image image, std::move(linked));
    answer.image = std::make_shared<const Image>(std::move(image));
    if (!accesses.calculations().empty()) {
        answer.report.not_kept = "the linker calculates constants with the C library";
    } else if (!request.key.text.empty()) {
        auto published =
            publisher_.publish(request.key, answer.image, cache::milliseconds_since(start));
        answer.report.key = published.key;
        answer.report.not_kept = std::move(published.not_kept);
    } else {
        answer.report.not_kept = request.miss.to_string();
    }
    if (!answer.report.not_kept.empty()) ++storage_.counters.not_kept;
    answer.report.miss = request.miss;
    return answer;
}

}  // namespace LODE_NAMESPACE
