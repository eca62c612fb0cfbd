#include "jit/cache/compiler_identity.hpp"

#include "base/try.hpp"
#include "jit/cache/toolchain.hpp"

#include <utility>

namespace lode::cache {

void CompilerIdentity::keep(CompilerInfo info, const RecordKey& key) {
    if (backend_.covers(info.path)) storage_.tiers().put(key, format_toolchain(info));
    info_ = std::make_shared<const CompilerInfo>(std::move(info));
}

Result<std::shared_ptr<const CompilerInfo>> CompilerIdentity::get() {
    const std::lock_guard guard(mutex_);
    if (info_) return info_;
    const RecordKey key{RecordKind::toolchain, backend_.fingerprint()};
    if (auto known = storage_.tiers().find<CompilerInfo>(key, parse_toolchain)) {
        known->value.include_folders = backend_.include_folders(known->value.path);
        info_ = std::make_shared<const CompilerInfo>(std::move(known->value));
        return info_;
    }
    LODE_TRY_ASSIGN(CompilerInfo info, backend_.info());
    keep(std::move(info), key);
    return info_;
}

void CompilerIdentity::refresh() {
    auto info = backend_.info();
    if (!info) return;
    ++storage_.counters.repairs;
    const std::lock_guard guard(mutex_);
    keep(*std::move(info), {RecordKind::toolchain, backend_.fingerprint()});
}

}  // namespace lode::cache
