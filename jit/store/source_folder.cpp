#include "jit/store/source_folder.hpp"

#include "base/align_up.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <utility>

namespace LODE_NAMESPACE::cache {
namespace {

/// Calls `visit(path, identity)` for every file in a tree, and `leave(path)` after each folder.
template <class Visit, class Leave>
Status walk(const TrustedFolder& folder, const std::string& root, Visit visit, Leave leave) {
    std::vector<std::string> found{root};
    // Parents come before their children.
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::string path = found[i] + "/";
        LODE_TRY_ASSIGN(const auto names, folder.folders(found[i]));
        for (const auto& name : names)
            found.push_back(path + name);
        LODE_TRY(folder.list(found[i], [&](const std::string& name, const FileIdentity& identity) {
            visit(path + name, identity);
        }));
    }
    for (; !found.empty(); found.pop_back()) {
        LODE_TRY(leave(found.back()));
    }
    return {};
}

}  // namespace

Result<std::vector<SourceGroup>> source_groups(const TrustedFolder& folder, std::uint64_t block) {
    std::vector<SourceGroup> groups;
    LODE_TRY_ASSIGN(const auto names, folder.folders(sources_folder));
    for (const auto& name : names) {
        SourceGroup group{std::string(sources_folder) + "/" + name};
        const auto add = [&](const std::string&, const FileIdentity& identity) {
            group.block_bytes += divide_up(identity.size, block) * block;
            group.last_use_ns = std::max(group.last_use_ns, identity.modified_ns);
        };
        LODE_TRY(walk(folder, group.path, add, [](const std::string&) { return Status(); }));
        groups.push_back(std::move(group));
    }
    return groups;
}

Status remove_tree(const TrustedFolder& folder, const std::string& path) {
    Status outcome;
    const auto remove = [&](const std::string& file, const FileIdentity&) {
        if (Status removed = folder.remove(file); !removed) outcome = removed;
    };
    LODE_TRY(walk(folder, path, remove,
                  [&](const std::string& done) { return folder.remove_folder(done); }));
    return outcome;
}

}  // namespace LODE_NAMESPACE::cache
