#include "jit/request/shims.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace LODE_NAMESPACE {

std::vector<HeaderView> shims_for(const CompileRequest& request, FileAccesses& files) {
    std::vector<std::filesystem::path> folders = request.options.include_folders;
    if (auto own = request.source.folder(); !own.empty()) folders.push_back(std::move(own));

    std::vector<HeaderView> chosen;
    const auto all = shims();
    chosen.reserve(all.size());
    std::ranges::copy_if(all, std::back_inserter(chosen), [&](const HeaderView& shim) {
        const std::string_view name = shim.name;
        const auto is_it = [&](const Header& header) { return header.name == name; };
        if (std::ranges::any_of(request.options.headers, is_it)) return false;
        // Those for Thrust stand for files of Thrust, which are there.
        if (name.find('/') != std::string_view::npos) return true;
        return std::ranges::none_of(folders, [&](const std::filesystem::path& folder) {
            const FileAnswer& answer = files.ask((folder / name).string(), false);
            return answer.kind == FileAnswer::Kind::file;
        });
    });
    return chosen;
}

}  // namespace LODE_NAMESPACE
