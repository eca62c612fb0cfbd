#include "base/try.hpp"
#include "jit/cache/state.hpp"
#include "jit/cache/toolchain.hpp"

#include <fmt/format.h>

namespace lode {

namespace {

constexpr std::size_t manifest_memory_bytes = std::size_t{32} << 20;
constexpr std::size_t failure_memory_bytes = std::size_t{4} << 20;

}  // namespace

std::string CompileReport::to_string() const {
    if (hit()) return fmt::format("hit ({})", tier);
    return fmt::format("compiled in {:.0f} ms", milliseconds);
}

CachedCompiler::CachedCompiler(CompilerSearch search, CacheOptions options)
    : state_(std::make_shared<State>(cache::make_nvrtc_backend(std::move(search)),
                                     std::move(options))) {}

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
    : options_(std::move(options)),
      backend_(std::move(backend)),
      tiers_(options_.log, counters_),
      images_(options_.memory_bytes),
      manifests_(manifest_memory_bytes),
      failures_(failure_memory_bytes) {}

cache::TierStack& CachedCompiler::State::tiers() {
    std::call_once(tiers_once_, [this] { tiers_.open(options_); });
    return tiers_;
}

Result<CompilerInfo> CachedCompiler::State::info() {
    LODE_TRY_ASSIGN(const auto info, identify());
    return *info;
}

Result<std::shared_ptr<const CompilerInfo>> CachedCompiler::State::identify() {
    const std::lock_guard guard(info_mutex_);
    if (info_) return info_;
    const cache::RecordKey key{cache::RecordKind::toolchain, backend_->fingerprint()};
    if (auto known = tiers().find<CompilerInfo>(key, cache::parse_toolchain)) {
        known->value.include_folders = backend_->include_folders(known->value.path);
        info_ = std::make_shared<const CompilerInfo>(std::move(known->value));
        return info_;
    }
    LODE_TRY_ASSIGN(CompilerInfo info, backend_->info());
    if (backend_->covers(info.path)) tiers().put(key, cache::format_toolchain(info));
    info_ = std::make_shared<const CompilerInfo>(std::move(info));
    return info_;
}

void CachedCompiler::State::identify_anew() {
    auto info = backend_->info();
    if (!info) return;
    ++counters_.heals;
    const std::lock_guard guard(info_mutex_);
    const cache::RecordKey key{cache::RecordKind::toolchain, backend_->fingerprint()};
    if (backend_->covers(info->path)) tiers().put(key, cache::format_toolchain(*info));
    info_ = std::make_shared<const CompilerInfo>(*std::move(info));
}

void CachedCompiler::State::discard(const CachedImage& refused) {
    if (refused.report.key == Digest{}) return;
    ++counters_.heals;
    options_.log.write(LogLevel::warning,
                       fmt::format("The cache drops '{}' for {}: the driver refuses it.",
                                   refused.report.source, refused.report.arch.to_string()));
    images_.remove(refused.report.key);
    tiers().remove({cache::RecordKind::entry, refused.report.key});
}

}  // namespace lode
