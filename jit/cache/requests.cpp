#include "jit/cache/requests.hpp"

#include "base/message_text.hpp"
#include "base/process_end.hpp"

#include <lode/base/environment.hpp>

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace LODE_NAMESPACE {

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
            return detail.empty() ? "it is PTX already" : "the driver compiles its PTX: " + detail;
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

std::string_view to_string(CompilePhase phase) noexcept {
    switch (phase) {
        case CompilePhase::waiting_for_process:
            return "waiting_for_process";
        case CompilePhase::waiting_for_worker:
            return "waiting_for_worker";
        case CompilePhase::compiling:
            return "compiling";
        case CompilePhase::storing:
            return "storing";
    }
    return "unknown";
}

std::string_view to_string(CompileEvent::Kind kind) noexcept {
    switch (kind) {
        case CompileEvent::Kind::queued:
            return "queued";
        case CompileEvent::Kind::started:
            return "started";
        case CompileEvent::Kind::refused:
            return "refused";
        case CompileEvent::Kind::phase:
            return "phase";
        case CompileEvent::Kind::hit:
            return "hit";
        case CompileEvent::Kind::done:
            return "done";
        case CompileEvent::Kind::failed:
            return "failed";
    }
    return "unknown";
}

namespace cache {

namespace {

/// Where answers are looked for besides memory, and what of that isn't used.
std::string searched_places(Storage& storage) {
    const CacheOptions& options = storage.options();
    if (options.mode == CacheMode::off) return "nothing on disk, because the cache is off";
    std::vector<std::string> places = storage.tiers().places();
    if (options.remote.is_set()) places.emplace_back("the remote cache");
    return places.empty() ? "nothing on disk" : fmt::format("{}", fmt::join(places, ", "));
}

}  // namespace

RequestContext Requests::make(std::string source, const Arch& arch) {
    RequestContext context;
    context.number = ++count_;
    context.source = std::move(source);
    context.arch = arch;
    return context;
}

void Requests::tell(const RequestContext& context, CompileEvent event) const {
    const auto& hook = storage_.options().events;
    if (!hook) return;
    event.request = context.number;
    event.source = context.source;
    event.arch = context.arch;
    event.milliseconds = context.milliseconds();
    hook(event);
}

Result<CachedImage> Requests::finish(const RequestContext& context, Result<CachedImage> answer,
                                     bool shared) {
    if (!answer) {
        tell(context, {.kind = CompileEvent::Kind::failed, .error = &answer.error()});
        return answer;
    }
    CompileReport& report = answer->report;
    report.milliseconds = context.milliseconds();
    report.shared = shared;
    if (shared) ++storage_.counters.shared;
    tell(context, {.kind = report.hit() ? CompileEvent::Kind::hit : CompileEvent::Kind::done,
                   .key = report.key,
                   .report = &report});
    return answer;
}

Status Requests::permit(const RequestContext& context, const CacheMiss& miss,
                        const std::optional<Digest>& key, std::span<const std::string> kernels) {
    const JitPolicy policy = storage_.options().policy;
    if (policy == JitPolicy::allow) return {};
    const std::string what = fmt::format(
        "'{}' for {}{} isn't in the cache ({}{})", context.source, context.arch.to_string(),
        kernels.empty() ? "" : fmt::format(", with {},", listed(kernels)), miss.to_string(),
        key ? fmt::format("; key {}", key->to_hex()) : "");
    if (policy == JitPolicy::warn) {
        storage_.options().log.write(LogLevel::warning, what + " and is compiled now.");
        return {};
    }
    ++storage_.counters.refused;
    const auto variable = environment_word("LODE_JIT");
    const bool is_variable = variable && *variable == "forbid";
    Error refusal{
        Errc::not_found,
        fmt::format("{}, and compiling at run time is forbidden ({}). Searched: {}. Fill one of "
                    "them beforehand with the same compiler.",
                    what, is_variable ? "LODE_JIT=forbid" : "by CacheOptions::policy in the code",
                    searched_places(storage_))};
    tell(context,
         {.kind = CompileEvent::Kind::refused, .key = key.value_or(Digest()), .error = &refusal});
    return tl::unexpected(std::move(refusal));
}

std::optional<Error> Requests::gives_up(const RequestContext& context) const {
    const bool is_given_up =
        context.is_asynchronous() && (tasks_.is_stopping() || context.is_cancelled());
    if (!is_given_up && !is_process_ending()) return std::nullopt;
    return fail_cancelled(context.source).value();
}

CompileControl Requests::control_of(const RequestContext& context, const Digest& key,
                                    std::function<bool()> is_awaited) const {
    CompileControl control;
    control.prefers_worker = context.is_asynchronous();
    if (context.is_asynchronous()) {
        control.should_stop = [this, pending = context.pending, awaited = std::move(is_awaited)] {
            return tasks_.is_stopping() ||
                   (pending->is_cancelled() && !(awaited != nullptr && awaited()));
        };
    }
    if (storage_.options().events) {
        control.on_phase = [this, &context, key](CompilePhase phase) {
            tell(context, {.kind = CompileEvent::Kind::phase, .key = key, .phase = phase});
        };
    }
    return control;
}

}  // namespace cache
}  // namespace LODE_NAMESPACE
