#include "jit/cache/compiler_identity.hpp"

#include "base/try.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace LODE_NAMESPACE::cache {
namespace {

bool is_unchanged(const CompilerFile& file) {
    return stamp_of(file.path) == file.stamp;
}

/// The digest of a compiler's files, and whether every later change of one changes its stamp.
struct FilesDigest {
    std::string digest;
    bool is_settled = true;
};

FilesDigest digest_of(const std::vector<CompilerFile>& files, bool of_contents) {
    FilesDigest made;
    Hasher hasher;
    for (const auto& file : files) {
        if (!of_contents) {
            hasher.field(file.path.string()).field(fmt::format("{}", file.stamp.changed_ns));
            continue;
        }
        const auto read = read_file_digest(file.path);
        made.is_settled = made.is_settled && read && read->settled && read->stamp == file.stamp;
        hasher.field(read ? read->content.to_hex() : "");
    }
    made.digest = hasher.finish().to_hex();
    return made;
}

bool is_current(const KnownCompiler& known) {
    return known.is_settled && std::ranges::all_of(known.properties.files, is_unchanged);
}

}  // namespace

Result<CompilerProperties> CompilerIdentity::ask() {
    return backend_.properties().map_error([&](Error error) {
        const CacheOptions& options = storage_.options();
        if (error.code != Errc::compiler_missing || options.packs.empty() ||
            options.mode == CacheMode::off)
            return error;
        error.message = fmt::format(
            "The compiler is part of each key, so nothing could be looked up in {}. Install the "
            "compiler that filled the packs, or ship images, which need none. {}",
            fmt::join(storage_.tiers().places(), ", "), error.message);
        return error;
    });
}

void CompilerIdentity::keep(CompilerProperties properties, const RecordKey& key) {
    properties.info.product = backend_.product();
    // In this process its files stay mapped, whatever becomes of their names.
    if (known_ && known_->is_settled && known_->properties.files == properties.files &&
        known_->info().build == properties.info.build)
        return;
    // Without a folder and a server, keys are compared in this process alone.
    const bool of_contents = storage_.options().mode != CacheMode::off;
    auto [digest, is_settled] = digest_of(properties.files, of_contents);
    known_ = std::make_shared<const KnownCompiler>(
        KnownCompiler{std::move(properties), std::move(digest), is_settled});
    if (is_settled && backend_.covers(known_->info().path))
        storage_.tiers().put(key, format_toolchain(*known_));
}

Result<std::shared_ptr<const KnownCompiler>> CompilerIdentity::get() {
    const std::lock_guard guard(mutex_);
    if (known_ && is_current(*known_)) return known_;
    const RecordKey key{RecordKind::toolchain, backend_.fingerprint()};
    auto recorded = storage_.tiers().find<KnownCompiler>(key, parse_toolchain);
    if (recorded && is_current(recorded->value)) {
        auto& info = recorded->value.properties.info;
        info.include_folders = backend_.include_folders(info.path);
        info.product = backend_.product();
        known_ = std::make_shared<const KnownCompiler>(std::move(recorded->value));
        return known_;
    }
    LODE_TRY_ASSIGN(CompilerProperties properties, ask());
    keep(std::move(properties), key);
    return known_;
}

void CompilerIdentity::refresh() {
    auto properties = backend_.properties();
    if (!properties) return;
    ++storage_.counters.repairs;
    const std::lock_guard guard(mutex_);
    keep(*std::move(properties), {RecordKind::toolchain, backend_.fingerprint()});
}

}  // namespace LODE_NAMESPACE::cache
