// What `lode init` writes: the files of tools/lode/template.
#pragma once

#include <span>
#include <string_view>

namespace lode::tool {

struct InitFile {
    std::string_view name;  ///< "cpp/main.cpp", "c/main.c", or "every/README.md" for both.
    std::string_view text;
};

std::span<const InitFile> init_files() noexcept;

}  // namespace lode::tool
