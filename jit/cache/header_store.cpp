#include "jit/cache/header_store.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/cache/request_key.hpp"
#include "jit/cache/trusted_folder.hpp"

#include <algorithm>
#include <ctime>
#include <future>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
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

FileStamp stamp_from(const struct stat& facts) noexcept {
    return {static_cast<std::uint64_t>(facts.st_size), to_ns(facts.st_mtim), to_ns(facts.st_ctim)};
}

/// The search folders, opened once, so that looking at a header walks a short path.
class OpenFolders {
public:
    explicit OpenFolders(const SearchFolders& folders) : folders_(folders) {}

    /// What a path leads to; false when it leads nowhere.
    bool look(const HeaderPath& path, struct stat& facts) {
        if (path.root == HeaderPath::Root::absolute) {
            return ::stat(path.path.c_str(), &facts) == 0;
        }
        const auto [handle, is_new] = handles_.try_emplace({path.root, path.index});
        if (is_new) {
            const auto folder = HeaderPath{path.root, path.index, ""}.resolve(folders_);
            handle->second = Descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        }
        return handle->second &&
               ::fstatat(handle->second.get(), path.path.c_str(), &facts, AT_EMPTY_PATH) == 0;
    }

private:
    const SearchFolders& folders_;
    std::map<std::pair<HeaderPath::Root, std::uint32_t>, Descriptor> handles_;
};

/// A part of a set: headers from `first` on, before `last`.
HeaderCheck check_part(const HeaderSet& set, std::size_t first, std::size_t last,
                       const SearchFolders& folders, HeaderStore& store) {
    HeaderCheck check;
    OpenFolders open(folders);
    struct stat facts {};
    for (std::size_t i = first; i < last; ++i) {
        const HeaderRecord& header = set.headers[i];
        if (!header.absolute.empty() && header.path.resolve(folders) != header.absolute) {
            check.mismatch = fmt::format("header {} has moved", header.path.to_string());
            return check;
        }
        if (!open.look(header.path, facts) || S_ISDIR(facts.st_mode)) {
            check.mismatch = fmt::format("header {} is gone", header.path.to_string());
            return check;
        }
        if (stamp_from(facts) == header.stamp) continue;
        const std::int64_t start = file_clock_now();
        const auto now = store.read(header.path.resolve(folders).string());
        if (!now || (*now)->content != header.content) {
            check.mismatch = fmt::format("header {} has changed", header.path.to_string());
            return check;
        }
        if (is_settled((*now)->stamp, start)) check.renewed.emplace_back(i, (*now)->stamp);
    }
    return check;
}

/// What the probes find that they shouldn't, as a clause.
std::string check_probes(const HeaderSet& set, const SearchFolders& folders) {
    OpenFolders open(folders);
    struct stat facts {};
    for (const auto& probe : set.probes) {
        if (open.look(probe.path, facts) == probe.exists) continue;
        return fmt::format("{} {}", probe.path.to_string(),
                           probe.exists ? "has gone" : "has appeared");
    }
    return {};
}

/// In how many threads a set of that many headers is looked at: a thread costs about as much as 50
/// looks.
std::size_t parts_for(std::size_t headers) noexcept {
    constexpr std::size_t worth_a_thread = 300;
    constexpr std::size_t most = 4;
    const std::size_t processors = std::max(std::thread::hardware_concurrency(), 1U);
    return std::clamp<std::size_t>(headers / worth_a_thread, 1, std::min(most, processors));
}

}  // namespace

std::optional<FileStamp> stamp_of(const std::string& path) noexcept {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0 || S_ISDIR(facts.st_mode)) return std::nullopt;
    return stamp_from(facts);
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
    const std::size_t count = set.headers.size();
    const std::size_t parts = parts_for(count);
    const auto check = [&](std::size_t part) {
        return check_part(set, count * part / parts, count * (part + 1) / parts, folders, store);
    };
    std::vector<std::future<HeaderCheck>> others;
    try {
        for (std::size_t part = 1; part < parts; ++part)
            others.push_back(std::async(std::launch::async, check, part));
    } catch (const std::system_error&) {
        // No more threads: the rest is done here.
    }
    HeaderCheck all = check(0);
    for (std::size_t part = 1; part < parts; ++part) {
        HeaderCheck more = part <= others.size() ? others[part - 1].get() : check(part);
        if (all.mismatch.empty()) all.mismatch = std::move(more.mismatch);
        all.renewed.insert(all.renewed.end(), more.renewed.begin(), more.renewed.end());
    }
    if (all.mismatch.empty()) all.mismatch = check_probes(set, folders);
    return all;
}

}  // namespace lode::cache
