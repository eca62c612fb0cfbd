#include "jit/cache/header_store.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/cache/request_key.hpp"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>
#include <sys/stat.h>

namespace lode::cache {
namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;
/// File stamps come from a clock that ticks every 1 to 10 ms.
constexpr std::int64_t clock_tick_ns = 10'000'000;

std::int64_t to_ns(const timespec& time) noexcept {
    return time.tv_sec * ns_per_second + time.tv_nsec;
}

/// How a path stands to the file system now: for headers a stamp, for probes existence.
bool exists(const std::string& path) noexcept {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0;
}

}  // namespace

std::optional<FileStamp> stamp_of(const std::string& path) noexcept {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0 || S_ISDIR(facts.st_mode)) return std::nullopt;
    return FileStamp{static_cast<std::uint64_t>(facts.st_size), to_ns(facts.st_mtim),
                     to_ns(facts.st_ctim)};
}

std::int64_t file_clock_now() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return to_ns(now);
}

bool is_settled(const FileStamp& stamp, std::int64_t time) noexcept {
    return std::max(stamp.modified_ns, stamp.changed_ns) < time - clock_tick_ns;
}

Result<std::shared_ptr<const HeaderFacts>> HeaderStore::read(const std::string& path) {
    constexpr int tries = 3;
    for (int i = 0; i < tries; ++i) {
        const std::int64_t start = file_clock_now();
        const auto before = stamp_of(path);
        if (!before) {
            return fail(Errc::not_found, fmt::format("Header '{}' doesn't exist.", path));
        }
        {
            const std::lock_guard guard(mutex_);
            const auto found = files_.find(path);
            if (found != files_.end() && found->second->stamp == *before) return found->second;
        }
        LODE_TRY_ASSIGN(const std::string text, read_text(path));
        if (stamp_of(path) != before) continue;

        auto facts = std::make_shared<HeaderFacts>();
        facts->stamp = *before;
        facts->content = sha256(text);
        facts->scan = scan_includes(text);
        facts->mentions_path = mentions_path(text);
        facts->mentions_time = mentions_time(text);
        if (is_settled(*before, start)) {
            const std::lock_guard guard(mutex_);
            if (files_.size() >= max_files) files_.clear();
            files_[path] = facts;
        }
        return facts;
    }
    return fail(Errc::file_failed, fmt::format("Header '{}' changes while it is read.", path));
}

HeaderCheck check_headers(const HeaderSet& set, const SearchFolders& folders, HeaderStore& store) {
    HeaderCheck check;
    for (std::size_t i = 0; i < set.headers.size(); ++i) {
        const HeaderRecord& header = set.headers[i];
        const std::string path = header.path.resolve(folders).string();
        if (!header.absolute.empty() && path != header.absolute) {
            check.mismatch = fmt::format("header {} has moved", header.path.to_string());
            return check;
        }
        const std::int64_t start = file_clock_now();
        const auto stamp = stamp_of(path);
        if (!stamp) {
            check.mismatch = fmt::format("header {} is gone", header.path.to_string());
            return check;
        }
        if (*stamp == header.stamp) continue;
        const auto facts = store.read(path);
        if (!facts || (*facts)->content != header.content) {
            check.mismatch = fmt::format("header {} has changed", header.path.to_string());
            return check;
        }
        if (is_settled((*facts)->stamp, start)) {
            check.renewed.emplace_back(i, (*facts)->stamp);
        }
    }
    for (const auto& probe : set.probes) {
        if (exists(probe.path.resolve(folders).string()) == probe.exists) continue;
        check.mismatch = fmt::format("{} {}", probe.path.to_string(),
                                     probe.exists ? "has gone" : "has appeared");
        return check;
    }
    return check;
}

}  // namespace lode::cache
