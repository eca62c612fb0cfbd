// CachedCompiler::link: links from the cache.
#include "base/try.hpp"
#include "jit/cache/link_key.hpp"
#include "jit/cache/nvtx_range.hpp"
#include "jit/cache/state.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode {
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
    const cache::NvtxRange range("lode::CachedCompiler::link");
    const RequestContext context = new_request({});
    LODE_TRY_ASSIGN(const LinkerInfo info, linker.info());
    const CompileReport report = report_of_link(inputs, target);
    bool shared = false;
    const auto answered = [&]() -> Result<CachedImage> {
        if (std::string why = cache::uncacheable_link_reason(options); !why.empty()) {
            return answer_link(linker, inputs, target, options, {},
                               {MissReason::uncacheable, std::move(why)}, report, context);
        }
        const cache::Key key = cache::link_key(info, inputs, target, options);
        shared = true;
        return flights_.run(key.digest, [&] {
            shared = false;
            return answer_link(linker, inputs, target, options, key, {MissReason::never_compiled},
                               report, context);
        });
    };
    return finish(context, report.source, target, answered(), shared);
}

Result<CachedImage> CachedCompiler::State::answer_link(
    const Linker& linker, std::span<const LinkInput> inputs, const Arch& target,
    const LinkOptions& options, const cache::Key& key, CacheMiss miss, const CompileReport& report,
    const RequestContext& context) {
    CachedImage answer{nullptr, report};
    const bool is_kept = !key.text.empty();
    if (is_kept) {
        if (const auto found = storage_.find_entry(key, cache::Reach::everywhere)) {
            answer.image = found->value.image;
            answer.report.tier = found->tier;
            answer.report.key = key.digest;
            answer.report.saved_milliseconds = found->value.compile_ms;
            storage_.counters.saved_microseconds +=
                static_cast<std::uint64_t>(std::max(found->value.compile_ms, 0.0) * 1e3);
            return answer;
        }
        ++storage_.counters.new_requests;
    }
    LODE_TRY(permit(Source::text({}, answer.report.source), target, miss, key.digest));
    tell(context, {.kind = CompileEvent::Kind::started,
                   .source = answer.report.source,
                   .arch = target,
                   .key = key.digest});
    const auto start = std::chrono::steady_clock::now();
    auto linked = linker.link(inputs, target, options);
    ++(linked ? storage_.counters.compilations : storage_.counters.failures);
    LODE_TRY_ASSIGN(Image image, std::move(linked));
    answer.image = std::make_shared<const Image>(std::move(image));
    if (is_kept) {
        auto published = publisher_.publish(key, answer.image, cache::milliseconds_since(start));
        answer.report.key = published.key;
        answer.report.not_kept = std::move(published.not_kept);
    } else {
        answer.report.not_kept = miss.to_string();
    }
    if (!answer.report.not_kept.empty()) ++storage_.counters.not_kept;
    answer.report.miss = std::move(miss);
    return answer;
}

}  // namespace lode
