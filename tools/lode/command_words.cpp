#include "tools/lode/command_words.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace lode::tool {
namespace {

/// Longer texts before those that they begin with.
constexpr std::pair<std::string_view, std::string_view> words[] = {
    {"CompileOptions::definitions", "--define"},
    {"CompileOptions::include_folders", "--include"},
    {"use CompileOptions::pre_includes", "write #include into the source"},
    {"CompileOptions::standard", "--std"},
    {"CompileOptions::math", "--math"},
    {"CompileOptions::max_registers", "--max-registers"},
    {"CompileOptions::line_info", "--line-info"},
    {"CompileOptions::debug", "--debug"},
    {"CompileOptions::relocatable", "--relocatable"},
    {"CompileOptions::lto", "--lto"},
    {"CompileOptions::optix_ir", "--optix-ir"},
    {"CompileOptions::tile", "--tile"},
    {"use CompileOptions::minimal", "only manifests and applications can have minimal code"},
    {"CompileOptions::extra_flags", "--flag"},
    {"LinkOptions::max_registers", "--max-registers"},
    {"LinkOptions::line_info", "--line-info"},
    {"LinkOptions::debug", "--debug"},
    {"LinkOptions::lto", "--lto"},
    {"LinkOptions::extra_flags", "--flag"},
    {"LinkInput::device_runtime()", "`lode link --device-runtime`"},
    {"lode::Linker", "`lode link`"},
    {"use lode::FatbinWriter", "only applications can write fat binaries"},
    {"Tile::only", "--tile only"},
};

constexpr std::string_view lost_begins = " This process has lost ";
constexpr std::string_view lost_ends = " and must be restarted.";

}  // namespace

Error in_command_words(Error error) {
    for (const auto& [api, option] : words) {
        for (auto at = error.message.find(api); at != std::string::npos;
             at = error.message.find(api, at + option.size()))
            error.message.replace(at, api.size(), option);
    }
    // The command is the process, and ends.
    const auto lost = error.message.find(lost_begins);
    const auto end = error.message.find(lost_ends, lost);
    if (end != std::string::npos) error.message.erase(lost, end + lost_ends.size() - lost);
    return error;
}

}  // namespace lode::tool
