#include "jit/request/source_files.hpp"

#include "jit/files/virtual_folder.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

std::string program_name(const Source& source) {
    return source.folder().empty() ? fmt::format("{}/{}", memory_folder, source.name())
                                   : source.name();
}

std::map<std::string, const Header*> headers_by_path(const std::vector<Header>& headers) {
    std::map<std::string, const Header*> paths;
    for (const auto& header : headers)
        if (auto path = path_in_folder(header.name)) paths.try_emplace(*std::move(path), &header);
    return paths;
}

std::string with_given_names(std::string log, const SourceFiles& files, const std::string& source,
                             const std::vector<Header>& headers) {
    std::vector<std::pair<std::string, std::string>> names;
    if (!files.source.empty()) names.emplace_back(files.source, source);
    if (!files.headers.empty() && log.find(files.headers) != std::string::npos) {
        for (const auto& [path, header] : headers_by_path(headers))
            names.emplace_back(files.headers + "/" + path, header->name);
    }
    // A path may begin with another one.
    std::ranges::sort(names, std::ranges::greater(),
                      [](const auto& name) { return name.first.size(); });
    for (const auto& [path, name] : names) {
        for (std::size_t at = 0; (at = log.find(path, at)) != std::string::npos; at += name.size())
            log.replace(at, path.size(), name);
    }
    return log;
}

}  // namespace LODE_NAMESPACE
