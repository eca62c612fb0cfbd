#include "jit/cache/store/key_lock.hpp"

#include "jit/cache/store/disk_tier.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>

namespace lode::cache {

KeyLock::KeyLock(const TrustedFolder& folder, const Digest& key) {
    std::uint64_t start = 0;
    std::memcpy(&start, key.bytes().data(), sizeof(start));
    offset_ = static_cast<std::int64_t>(start >> 2);  // Far below the largest possible offset.
    if (auto file = folder.open_shared(lock_file, 0)) file_ = *std::move(file);
}

KeyLock::Outcome KeyLock::attempt() noexcept {
    if (!file_) return Outcome::failed;
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = offset_;
    range.l_len = 1;
    if (::fcntl(file_.get(), F_OFD_SETLK, &range) == 0) return Outcome::taken;
    return errno == EAGAIN || errno == EACCES ? Outcome::busy : Outcome::failed;
}

}  // namespace lode::cache
