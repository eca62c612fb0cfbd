#include "base/try.hpp"
#include "jit/cache/nvtx_range.hpp"
#include "jit/cache/request_key.hpp"
#include "jit/cache/state.hpp"

#include <chrono>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace lode {

using cache::CompileTask;
using cache::Entry;
using cache::HeaderSet;
using cache::KeptFailure;
using cache::KeptImage;
using cache::Manifest;
using cache::RecordKind;

namespace {

using Clock = std::chrono::steady_clock;

std::size_t approximate_bytes(const Image& image) {
    constexpr std::size_t small_parts = 1024;  // Names, signatures, reports.
    return sizeof(Image) + image.cubin.size() + image.ptx.size() + 3 * image.log.size() +
           small_parts;
}

CompileReport report_of(const Source& source, const Arch& arch) {
    CompileReport report;
    report.source = source.name();
    report.arch = arch;
    return report;
}

}  // namespace

Result<CachedImage> CachedCompiler::State::compile_past_cache(const Source& source,
                                                              const Arch& arch,
                                                              const CompileOptions& options,
                                                              std::span<const std::string> names,
                                                              std::string why) {
    CompileFiles files;
    auto image = backend_->compile({source, arch, options, names, files});
    ++(image ? counters_.compilations : counters_.failures);
    LODE_TRY_ASSIGN(Image compiled, std::move(image));
    ++counters_.not_kept;
    CachedImage result{std::make_shared<const Image>(std::move(compiled)), report_of(source, arch)};
    result.report.reason = why;
    result.report.not_kept = std::move(why);
    return result;
}

cache::CollectedHeaders CachedCompiler::State::collect(const Journey& journey,
                                                       const CompileFiles& files,
                                                       const Image* image) {
    std::error_code ignored;
    if (std::filesystem::current_path(ignored) != journey.folders.working) {
        return {{}, "the working directory has changed since"};
    }
    if (files.is_watched && files.compiler.questions() > 0) {
        return cache::collect_headers(
            {journey.source, journey.text, journey.options, journey.folders, files, image},
            headers_);
    }
    if (journey.free_of_includes) return {};
    return {{}, "lode can't see which files this compiler reads"};
}

Result<CachedImage> CachedCompiler::State::compile_and_keep(const Journey& journey,
                                                            std::string reason) {
    const cache::NvtxRange range("lode: compile");
    count_miss(reason);
    CompileFiles files;
    const CompileTask task{journey.source, journey.arch, journey.options, journey.names, files};
    const auto start = Clock::now();
    auto outcome = backend_->compile(task);
    const double spent = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (!outcome) {
        ++counters_.failures;
        remember_failure(journey, outcome.error(), files);
        return tl::unexpected<Error>(std::move(outcome).error());
    }
    ++counters_.compilations;
    const auto image = std::make_shared<const Image>(*std::move(outcome));
    CachedImage result{image, report_of(journey.source, journey.arch)};
    result.report.reason = std::move(reason);

    const auto compiler = identify();
    if (compiler && image->compiler != "NVRTC " + (*compiler)->build) {
        identify_anew();
        result.report.not_kept = fmt::format("it turned out to be by '{}'", image->compiler);
        ++counters_.not_kept;
        return result;
    }
    cache::CollectedHeaders headers = collect(journey, files, image.get());
    if (headers.obstacle.empty()) {
        const std::string list = headers.set.key_list();
        const auto key = cache::entry_key(journey.key, sha256(list));
        result.report.key = key.digest;
        result.report.not_kept = keep(Entry{key.text, list, spent, *image}, key.digest, image);
    } else {
        result.report.not_kept = std::move(headers.obstacle);
    }
    if (!result.report.not_kept.empty()) {
        ++counters_.not_kept;
        return result;
    }
    // A request that depends on nothing but its key needs no manifest.
    if (!journey.free_of_includes || !headers.set.is_empty()) {
        keep_manifest(journey, std::move(headers.set));
    }
    return result;
}

std::string CachedCompiler::State::keep(const Entry& entry, const Digest& key,
                                        std::shared_ptr<const Image> image) {
    const cache::Bytes bytes = cache::format_entry(entry);
    // What wouldn't verify on the way back isn't kept.
    if (const auto again = cache::parse_entry(bytes); !again) return again.error().message;
    keep_in_memory(key, {std::move(image), entry.compile_ms});
    tiers().put({RecordKind::entry, key}, bytes);
    return {};
}

void CachedCompiler::State::keep_in_memory(const Digest& key, const KeptImage& kept) {
    images_.put(key, std::make_shared<const KeptImage>(kept), approximate_bytes(*kept.image));
}

void CachedCompiler::State::keep_manifest(const Journey& journey, HeaderSet set) {
    const cache::RecordKey key{RecordKind::manifest, journey.key.digest};
    Manifest manifest{journey.key.text, {}};
    if (const auto known = manifests_.get(journey.key.digest)) manifest = *known;
    // A set that another process adds between this and the put is lost, and compiled once more.
    if (auto stored = tiers().find<Manifest>(
            key, [&](auto bytes) { return cache::parse_manifest_for(bytes, journey.key); })) {
        manifest = std::move(stored->value);
    }
    manifest.add(std::move(set));
    tiers().put(key, cache::format_manifest(manifest));
    const std::size_t bytes = manifest.approximate_bytes();
    manifests_.put(journey.key.digest, std::make_shared<const Manifest>(std::move(manifest)),
                   bytes);
}

void CachedCompiler::State::remember_failure(const Journey& journey, const Error& error,
                                             const CompileFiles& files) {
    if (error.code != Errc::compile_failed) return;
    cache::CollectedHeaders headers = collect(journey, files, nullptr);
    if (!headers.obstacle.empty()) return;
    const std::size_t bytes = sizeof(KeptFailure) + error.message.size() + error.log.size() +
                              headers.set.approximate_bytes();
    failures_.put(flight_key(journey),
                  std::make_shared<const KeptFailure>(KeptFailure{error, std::move(headers.set)}),
                  bytes);
}

std::optional<Error> CachedCompiler::State::remembered_failure(const Journey& journey) {
    const auto kept = failures_.get(flight_key(journey));
    if (!kept) return std::nullopt;
    if (!cache::check_headers(kept->headers, journey.folders, headers_).mismatch.empty()) {
        failures_.remove(flight_key(journey));
        return std::nullopt;
    }
    return kept->error;
}

void CachedCompiler::State::count_miss(std::string_view reason) {
    if (reason.starts_with("it was never")) {
        ++counters_.new_requests;
    } else if (reason.starts_with("its entry")) {
        ++counters_.lost_entries;
    } else {
        ++counters_.changed_headers;
    }
}

}  // namespace lode
