// A scratch folder for tests, and helpers that put files into it.
#pragma once

#include "base/file.hpp"
#include "tests/support/scratch_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace lode::test {

/// An empty private folder, removed with the object.
inline ScratchFolder make_scratch() {
    auto folder = ScratchFolder::create("lode-test");
    REQUIRE_MESSAGE(folder, "a scratch folder can be created");
    return *std::move(folder);
}

/// Writes a file with the standard library, not with lode.
inline std::filesystem::path put(const std::filesystem::path& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

inline std::size_t count_entries(const std::filesystem::path& folder) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder))
        ++count;
    return count;
}

}  // namespace lode::test
