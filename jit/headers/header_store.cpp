#include "jit/headers/header_store.hpp"

#include "base/file.hpp"
#include "base/os/descriptor.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <future>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

/// The result of looking at a path. Refused: the system doesn't say whether anything exists there.
enum class Look : std::uint8_t { there, absent, refused };

/// The search folders, opened once, so that each header lookup resolves only a short path.
class OpenFolders {
public:
    explicit OpenFolders(const SearchFolders& folders) : folders_(folders) {}

    /// Looks at a path; `file` is valid only for Look::there.
    Look look(const HeaderPath& path, os::FileAttributes& file) {
        const int folder =
            path.root == HeaderPath::Root::absolute ? -1 : handle(path.root, path.index);
        // A folder that can't be opened may still exist: the process may be out of descriptors.
        const bool is_there = folder >= 0 ? os::attributes_below(folder, path.path, file)
                                          : os::attributes_of(path.resolve(folders_), file);
        if (is_there) return Look::there;
        return errno == ENOENT || errno == ENOTDIR ? Look::absent : Look::refused;
    }

    /// A descriptor of a folder; -1 when it can't be opened.
    int handle(HeaderPath::Root root, std::uint32_t index) {
        const auto [known, is_new] = handles_.try_emplace({root, index});
        if (is_new) {
            const auto folder = HeaderPath{root, index, ""}.resolve(folders_);
            known->second = os::open_file(folder, os::Open::place | os::Open::folder);
        }
        return known->second ? known->second.get() : -1;
    }

private:
    const SearchFolders& folders_;
    std::map<std::pair<HeaderPath::Root, std::uint32_t>, Descriptor> handles_;
};

/// The files that a set's paths lead to now, in the set's order; each path is looked at once.
struct FilesNow {
    std::vector<FileStamp> headers;
    std::vector<FileStamp> probes;  ///< Stamps of probed files.
};

/// The result of checking a part of a set: the headers in [first, last).
struct PartCheck {
    HeaderCheck check;
    bool other_files = false;  ///< A header with the same content is now another file.
};

PartCheck check_part(const HeaderSet& set, std::size_t first, std::size_t last,
                     const SearchFolders& folders, HeaderStore& store, bool trusts_stamps,
                     FilesNow& files) {
    PartCheck part;
    OpenFolders open(folders);
    os::FileAttributes file;
    for (std::size_t i = first; i < last; ++i) {
        const HeaderRecord& header = set.headers[i];
        if (open.look(header.path, file) != Look::there || file.kind != os::FileKind::regular) {
            part.check.mismatch = fmt::format("header {} is gone", header.path.to_string());
            return part;
        }
        files.headers[i] = stamp_of(file);
        if (trusts_stamps && header.settled && files.headers[i] == header.stamp) continue;
        const auto now = store.state(header.path.resolve(folders), files.headers[i]);
        if (!now || now->content != header.content) {
            part.check.mismatch = fmt::format("header {} has changed", header.path.to_string());
            return part;
        }
        files.headers[i] = now->stamp;
        const bool is_other = !same_file(files.headers[i], header.stamp);
        if (is_other) part.other_files = true;
        if (is_other || now->settled) {
            part.check.renewed.push_back({i, now->stamp, now->settled});
        }
    }
    return part;
}

/// The first probe that no longer holds, as a clause.
std::string check_probes(const HeaderSet& set, const SearchFolders& folders, HeaderCheck& check,
                         FilesNow& files) {
    using Kind = HeaderProbe::Kind;
    OpenFolders open(folders);
    os::FileAttributes file;
    files.probes.resize(set.probes.size());
    for (std::size_t i = 0; i < set.probes.size(); ++i) {
        const HeaderProbe& probe = set.probes[i];
        const Look look = open.look(probe.path, file);
        if (look == Look::refused) {
            return fmt::format("{} can't be examined", probe.path.to_string());
        }
        if (look == Look::absent && probe.kind == Kind::absent) continue;
        if (look == Look::absent) return fmt::format("{} has disappeared", probe.path.to_string());
        if (probe.kind == Kind::absent) {
            return fmt::format("{} has appeared", probe.path.to_string());
        }
        if (probe.kind == Kind::folder ? file.kind != os::FileKind::folder
                                       : file.kind != os::FileKind::regular) {
            return fmt::format("{} is no longer the same kind of file", probe.path.to_string());
        }
        files.probes[i] = stamp_of(file);
        if (probe.kind == Kind::file && !same_file(probe.file, files.probes[i]))
            check.renewed_probes.emplace_back(i, files.probes[i]);
    }
    return {};
}

/// Whether paths that led to one file still lead to one file, and paths that led to different files
/// still lead to different ones: a compiler includes a file once under all its names (#pragma
/// once).
bool has_same_names(const HeaderSet& set, const FilesNow& files) {
    using Identity = std::pair<std::uint64_t, std::uint64_t>;
    std::map<Identity, Identity> now_of;
    std::map<Identity, Identity> then_of;
    const auto holds = [&](const FileStamp& before, const FileStamp& after) {
        const Identity then{before.device, before.inode};
        const Identity now{after.device, after.inode};
        return now_of.try_emplace(then, now).first->second == now &&
               then_of.try_emplace(now, then).first->second == then;
    };
    for (std::size_t i = 0; i < set.headers.size(); ++i) {
        if (!holds(set.headers[i].stamp, files.headers[i])) return false;
    }
    for (std::size_t i = 0; i < set.probes.size(); ++i) {
        const HeaderProbe& probe = set.probes[i];
        if (probe.kind == HeaderProbe::Kind::file && !holds(probe.file, files.probes[i]))
            return false;
    }
    return true;
}

/// A missing folder is a compilation error, which no hit may hide.
std::string check_folders(const SearchFolders& folders) {
    for (const auto& folder : folders.include) {
        os::FileAttributes file;
        if (!os::attributes_of(folder, file) || file.kind != os::FileKind::folder) {
            return fmt::format("include folder '{}' is gone", folder.string());
        }
    }
    return {};
}

/// The number of threads that check a set of that many headers: starting a thread costs about as
/// much as checking 50 headers.
std::size_t parts_for(std::size_t headers) noexcept {
    constexpr std::size_t worth_a_thread = 300;
    constexpr std::size_t most = 4;
    if (headers < 2 * worth_a_thread) return 1;  // Asking for the processor count takes longer.
    const std::size_t processors = std::max(std::thread::hardware_concurrency(), 1U);
    return std::clamp<std::size_t>(headers / worth_a_thread, 1, std::min(most, processors));
}

PartCheck check_files(const HeaderSet& set, const SearchFolders& folders, HeaderStore& store,
                      bool trusts_stamps, FilesNow& files) {
    const std::size_t count = set.headers.size();
    const std::size_t parts = parts_for(count);
    files.headers.resize(count);
    const auto check = [&](std::size_t part) {
        return check_part(set, count * part / parts, count * (part + 1) / parts, folders, store,
                          trusts_stamps, files);
    };
    std::vector<std::future<PartCheck>> others;
    try {
        for (std::size_t part = 1; part < parts; ++part)
            others.push_back(std::async(std::launch::async, check, part));
    } catch (const std::system_error&) {
        // Not all threads could be started: the remaining parts are checked below.
    }
    PartCheck all = check(0);
    for (std::size_t part = 1; part < parts; ++part) {
        PartCheck more = part <= others.size() ? others[part - 1].get() : check(part);
        if (all.check.mismatch.empty()) all.check.mismatch = std::move(more.check.mismatch);
        all.check.renewed.insert(all.check.renewed.end(), more.check.renewed.begin(),
                                 more.check.renewed.end());
        all.other_files = all.other_files || more.other_files;
    }
    return all;
}

}  // namespace

std::optional<HeaderStore::File> HeaderStore::remembered(const std::string& path,
                                                         const FileStamp& stamp) {
    const std::lock_guard guard(mutex_);
    const auto found = files_.find(path);
    if (found == files_.end() || found->second.state.stamp != stamp) return std::nullopt;
    return found->second;
}

std::optional<HeaderState> HeaderStore::remembered_state(const std::string& path,
                                                         const FileStamp& stamp) {
    const std::lock_guard guard(mutex_);
    const auto found = files_.find(path);
    if (found == files_.end() || found->second.state.stamp != stamp) return std::nullopt;
    return found->second.state;
}

void HeaderStore::remember(const std::string& path, File file) {
    if (!file.state.settled) return;
    const std::lock_guard guard(mutex_);
    if (files_.size() >= max_files) files_.clear();
    files_.insert_or_assign(path, std::move(file));
}

Result<HeaderState> HeaderStore::state(const std::string& path, const FileStamp& stamp) {
    if (const auto known = remembered_state(path, stamp)) return *known;
    const FileOpening opening = read_file_content(path);
    if (const auto& content = opening.content) {
        // The file may have changed since, and back.
        if (const auto known = remembered_state(path, content->stamp)) return *known;
        const HeaderState state{content->stamp, content->settled, sha256(content->text)};
        remember(path, {state, nullptr});
        return state;
    }
    if (opening.error == ENOENT || opening.error == ENOTDIR) {
        return fail(Errc::not_found, fmt::format("Header '{}' doesn't exist.", path));
    }
    return fail_from_errno("Reading a header", path, opening.error);
}

std::shared_ptr<const HeaderProperties> HeaderStore::scan(const std::string& path,
                                                          const FileContent& content) {
    const auto known = content.settled ? remembered(path, content.stamp) : std::nullopt;
    if (known && known->properties) return known->properties;
    auto properties = std::make_shared<HeaderProperties>();
    properties->state =
        known ? known->state : HeaderState{content.stamp, content.settled, sha256(content.text)};
    properties->scan = scan_includes(content.text);
    remember(path, {properties->state, properties});
    return properties;
}

HeaderCheck check_headers(const HeaderSet& set, const SearchFolders& folders, HeaderStore& store,
                          bool trusts_stamps) {
    if (!set.bound_to.empty() && set.bound_to != folders.to_string()) {
        return {"its search folders differ, and the code may contain their names", {}, {}};
    }
    if (std::string changed = check_folders(folders); !changed.empty()) return {changed, {}, {}};
    for (const auto& variable : set.variables) {
        if (variable == VariableRecord::now(variable.name)) continue;
        return {fmt::format("the environment variable {} has changed", variable.name), {}, {}};
    }
    for (const auto& [calculation, result] : set.calculations) {
        if (calculate(calculation) == result) continue;
        return {fmt::format("the C library's {} has changed", to_string(calculation)), {}, {}};
    }
    FilesNow files;
    auto [check, other_files] = check_files(set, folders, store, trusts_stamps, files);
    if (check.mismatch.empty()) check.mismatch = check_probes(set, folders, check, files);
    other_files = other_files || !check.renewed_probes.empty();
    if (check.mismatch.empty() && other_files && !has_same_names(set, files)) {
        check.mismatch = "two of its headers were the same file before or are the same file now";
    }
    return check;
}

}  // namespace LODE_NAMESPACE::cache
