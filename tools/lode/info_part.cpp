#include "tools/lode/info_part.hpp"

#include "tools/lode/output.hpp"

#include <lode/base/arch.hpp>

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace lode::tool {

std::string text_of(const Section& section) {
    return section.is_empty() ? "" : section.to_string(text_width(STDOUT_FILENO));
}

Part missing(std::string title, const Error& error) {
    Section section(std::move(title));
    section.row("not available", error.message);
    return {text_of(section), {{"found", false}, {"error", to_json(error)}}};
}

Part compiler_part(const Compiler& compiler, Source::Language language, bool all) {
    const bool is_cuda = language == Source::Language::cuda;
    const std::string title =
        is_cuda ? "Compiler" : fmt::format("Compiler of {}", to_string(language));
    const auto info = compiler.info(language);
    if (!info) {
        Part part = missing(title, info.error());
        if (!is_cuda && !all) {
            Section section(title);
            section.row("not available", "not found; --all lists the places searched");
            part.text = text_of(section);
        }
        return part;
    }
    std::vector<std::string> archs;
    for (const auto cc : info->supported)
        archs.push_back(Arch(cc).to_string());
    std::vector<std::string> folders;
    for (const auto& folder : info->include_folders)
        folders.push_back(folder.string());

    const auto version = fmt::format("{}.{}", info->version_major, info->version_minor);
    Section section(title);
    section.row("version", fmt::format("{} {} (build {})", info->product, version, info->build));
    section.row("library", info->path.string());
    section.row("architectures", wrapped(fmt::format("{}", fmt::join(archs, " ")), list_width, 0));
    if (is_cuda) {
        section.row("headers",
                    folders.empty() ? "none found" : fmt::format("{}", fmt::join(folders, "\n")));
    }
    if (all) section.row("searched", fmt::format("{}", fmt::join(info->search_attempts, "\n")));
    return {text_of(section),
            {{"found", true},
             {"product", info->product},
             {"version", version},
             {"build", info->build},
             {"library", info->path.string()},
             {"architectures", archs},
             {"include_folders", folders},
             {"search", info->search_attempts}}};
}

}  // namespace lode::tool
