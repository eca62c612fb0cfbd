#include "base/try.hpp"
#include "jit/cache/key_lock.hpp"
#include "jit/cache/nvtx_range.hpp"
#include "jit/cache/request_key.hpp"
#include "jit/cache/state.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

namespace lode {

using cache::HeaderCheck;
using cache::HeaderSet;
using cache::KeptImage;
using cache::Key;
using cache::KeyLock;
using cache::Manifest;
using cache::RecordKind;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view never_compiled = "it was never compiled before";
constexpr std::string_view entry_lost = "its entry is gone";

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The same code under another name: where the compiler named the source, it names the new one.
std::shared_ptr<const Image> renamed(const std::shared_ptr<const Image>& image,
                                     const std::string& name) {
    if (image->name == name) return image;
    auto copy = std::make_shared<Image>(*image);
    const std::string old = std::exchange(copy->name, name);
    for (auto& diagnostic : copy->diagnostics) {
        if (diagnostic.file == old) diagnostic.file = name;
    }
    // The log names places as "file(line)".
    const std::string old_place = old + "(";
    const std::string new_place = name + "(";
    for (std::size_t at = 0; (at = copy->log.find(old_place, at)) != std::string::npos;
         at += new_place.size()) {
        copy->log.replace(at, old_place.size(), new_place);
    }
    return copy;
}

}  // namespace

cache::Request cache::Journey::request(const CompilerInfo& compiler) const {
    return {source, text, arch, options, names, "NVRTC " + compiler.build, folders};
}

Digest CachedCompiler::State::flight_key(const Journey& journey) const {
    // The same key text may stand for other headers in other folders.
    Hasher hasher;
    hasher.field(journey.key.text).field(journey.source.name());
    hasher.field(journey.folders.to_string());
    return hasher.finish();
}

Result<CachedImage> CachedCompiler::State::compile(const Source& source, const Arch& arch,
                                                   const CompileOptions& options,
                                                   std::span<const std::string> names) {
    const cache::NvtxRange range("lode::CachedCompiler::compile");
    const auto start = Clock::now();
    bool answered_here = false;
    const auto ask = [&]() -> Result<CachedImage> {
        answered_here = true;
        auto read = source.read();
        if (!read) {
            // The compiler says what is wrong, which may be an option before it is the source.
            if (options_.policy == JitPolicy::forbid)
                return tl::unexpected(std::move(read).error());
            return compile_past_cache(source, arch, options, names, "its source can't be read");
        }
        const std::string text = *std::move(read);
        const Source pinned = source.pinned(text);
        if (source.language() == Source::Language::ptx) {
            return compile_past_cache(pinned, arch, options, names, "it is PTX already");
        }
        LODE_TRY_ASSIGN(const auto compiler, identify());
        Journey journey{pinned, text, arch, options, names, {}, {}, false};
        LODE_TRY(prepare(journey, *compiler));
        if (std::string why = cache::uncacheable_reason(journey.request(*compiler)); !why.empty()) {
            LODE_TRY(permit(source, arch, why));
            return compile_past_cache(pinned, arch, options, names, std::move(why));
        }
        answered_here = false;
        return flights_.run(flight_key(journey), [&] {
            answered_here = true;
            return answer(journey);
        });
    };
    LODE_TRY_ASSIGN(CachedImage answer, ask());
    answer.report.milliseconds = milliseconds_since(start);
    if (!answered_here) {
        answer.report.shared = true;
        ++counters_.shared;
    }
    if (options_.hook) options_.hook(answer.report);
    return answer;
}

Status CachedCompiler::State::prepare(Journey& journey, const CompilerInfo& compiler) const {
    journey.folders =
        cache::search_folders(journey.source, journey.options, compiler.include_folders);
    LODE_TRY_ASSIGN(journey.key, cache::request_key(journey.request(compiler)));
    journey.free_of_includes =
        journey.options.pre_includes.empty() && cache::is_free_of_includes(journey.text);
    return {};
}

Result<CachedImage> CachedCompiler::State::answer(const Journey& journey) {
    std::string reason;
    if (auto hit = look_up(journey, reason)) return *std::move(hit);
    if (auto failure = remembered_failure(journey)) {
        ++counters_.replayed_failures;
        return tl::unexpected<Error>(*std::move(failure));
    }
    LODE_TRY(permit(journey.source, journey.arch, reason));
    return compile_once(journey, std::move(reason));
}

Status CachedCompiler::State::permit(const Source& source, const Arch& arch,
                                     std::string_view reason) {
    if (options_.policy == JitPolicy::allow) return {};
    const std::string what =
        fmt::format("'{}' for {} isn't in the cache ({})", source.name(), arch.to_string(), reason);
    if (options_.policy == JitPolicy::warn) {
        options_.log.write(LogLevel::warning, what + " and is compiled now.");
        return {};
    }
    ++counters_.refused;
    return fail(Errc::not_found,
                fmt::format("{}, and compiling at run time is forbidden (LODE_JIT=forbid). Fill "
                            "the cache or its packs before.",
                            what));
}

Result<CachedImage> CachedCompiler::State::compile_once(const Journey& journey,
                                                        std::string reason) {
    const cache::DiskTier* disk = tiers().disk();
    if (disk == nullptr || !disk->writable()) return compile_and_keep(journey, std::move(reason));

    KeyLock lock(disk->folder(), journey.key.digest);
    const auto deadline = Clock::now() + options_.lock_wait;
    std::chrono::microseconds pause{200};
    constexpr std::chrono::microseconds longest_pause{20'000};
    for (bool waited = false;;) {
        const auto outcome = lock.attempt();
        if (outcome == KeyLock::Outcome::failed) break;
        // Whoever held the lock until now may have published meanwhile.
        std::string ignored;
        if (auto hit = look_up(journey, ignored)) return *std::move(hit);
        if (outcome == KeyLock::Outcome::taken || Clock::now() >= deadline) break;
        if (!std::exchange(waited, true)) ++counters_.waits;
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 3 / 2, longest_pause);
    }
    return compile_and_keep(journey, std::move(reason));
}

std::optional<CachedImage> CachedCompiler::State::look_up(const Journey& journey,
                                                          std::string& reason) {
    reason = never_compiled;
    // What depends on nothing but its key has no manifest.
    if (journey.free_of_includes) {
        // Only a folder that is gone makes a difference, by an error.
        const HeaderCheck check = cache::check_headers({}, journey.folders, headers_);
        if (!check.mismatch.empty()) {
            reason = check.mismatch;
            return std::nullopt;
        }
        if (auto hit = find_entry(journey, cache::entry_key(journey.key, sha256("")))) return hit;
    }

    const auto known = manifests_.get(journey.key.digest);
    if (known) {
        if (auto hit = look_in(journey, *known, true, reason)) return hit;
    }
    // Another process may know of more.
    auto stored = tiers().find<Manifest>(
        {RecordKind::manifest, journey.key.digest},
        [&](auto bytes) { return cache::parse_manifest_for(bytes, journey.key); });
    if (!stored) return std::nullopt;
    // Stamps say something on the machine alone where they were taken.
    if (stored->tier != "disk") stored->value.forget_stamps();
    if (known && stored->value == *known) return std::nullopt;
    return look_in(journey, stored->value, false, reason);
}

std::optional<CachedImage> CachedCompiler::State::look_in(const Journey& journey,
                                                          const Manifest& known, bool from_memory,
                                                          std::string& reason) {
    bool first = true;
    for (const auto& [set, list] : known.sets) {
        const HeaderCheck check = cache::check_headers(set, journey.folders, headers_);
        if (!check.mismatch.empty()) {
            if (std::exchange(first, false)) reason = check.mismatch;
            continue;
        }
        auto hit = find_entry(journey, cache::entry_key(journey.key, list));
        if (!hit) {
            reason = entry_lost;
            continue;
        }
        if (!check.renewed.empty() || !check.renewed_probes.empty()) {
            HeaderSet renewed = set;
            for (const auto& [index, stamp, settled] : check.renewed) {
                renewed.headers[index].stamp = stamp;
                renewed.headers[index].settled = settled;
            }
            for (const auto& [index, stamp] : check.renewed_probes)
                renewed.probes[index].file = {stamp.device, stamp.inode, 0, 0, 0};
            keep_manifest(journey, std::move(renewed));
        } else if (!from_memory) {
            manifests_.put(journey.key.digest, std::make_shared<const Manifest>(known),
                           known.approximate_bytes());
        }
        return hit;
    }
    return std::nullopt;
}

std::optional<CachedImage> CachedCompiler::State::find_entry(const Journey& journey,
                                                             const Key& key) {
    if (const auto kept = images_.get(key.digest)) {
        ++counters_.memory_hits;
        return found(journey, key.digest, *kept, "memory");
    }
    auto stored = tiers().find<cache::Entry>({RecordKind::entry, key.digest}, [&](auto bytes) {
        return cache::parse_entry_for(bytes, key);
    });
    if (!stored) return std::nullopt;
    ++(stored->tier == "disk" ? counters_.disk_hits : counters_.pack_hits);
    const KeptImage kept{std::make_shared<const Image>(std::move(stored->value.image)),
                         stored->value.compile_ms};
    keep_in_memory(key.digest, kept);
    return found(journey, key.digest, kept, stored->tier);
}

CachedImage CachedCompiler::State::found(const Journey& journey, const Digest& key,
                                         const KeptImage& kept, std::string_view tier) {
    counters_.saved_microseconds +=
        static_cast<std::uint64_t>(std::max(kept.compile_ms, 0.0) * 1e3);
    CachedImage hit{renamed(kept.image, journey.source.name()), {}};
    hit.report.source = journey.source.name();
    hit.report.arch = journey.arch;
    hit.report.tier = tier;
    hit.report.key = key;
    hit.report.saved_milliseconds = kept.compile_ms;
    return hit;
}

}  // namespace lode
