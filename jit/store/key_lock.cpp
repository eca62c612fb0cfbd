#include "jit/store/key_lock.hpp"

#include "jit/store/disk_tier.hpp"

#include <cerrno>
#include <cstring>

namespace LODE_NAMESPACE::cache {

KeyLock::KeyLock(const TrustedFolder& folder, const Digest& key)
    : operations_(&folder.operations()) {
    std::uint64_t start = 0;
    std::memcpy(&start, key.bytes().data(), sizeof(start));
    offset_ = static_cast<std::int64_t>(start >> 2);  // Far below the largest possible offset.
    if (auto file = folder.open_shared(lock_file)) file_ = *std::move(file);
}

KeyLock::Outcome KeyLock::attempt() noexcept {
    if (!file_) return Outcome::failed;
    if (operations_->lock_byte(file_.get(), offset_) == 0) return Outcome::taken;
    return errno == EAGAIN || errno == EACCES ? Outcome::busy : Outcome::failed;
}

}  // namespace LODE_NAMESPACE::cache
