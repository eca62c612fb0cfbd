// A scratch folder for one test.
#pragma once

#include "base/file.hpp"
#include "tests/support/scratch_folder.hpp"

#include <filesystem>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

namespace LODE_NAMESPACE::cache {

/// Creates the folder in the constructor and removes it in the destructor.
class Scratch {
public:
    Scratch() : folder_(make()) {}

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_.path(); }
    std::filesystem::path operator/(const std::filesystem::path& name) const {
        return path() / name;
    }

    /// Writes a file below the folder; creates its parent folders.
    void write(const std::filesystem::path& name, std::string_view text) const {
        std::filesystem::create_directories((path() / name).parent_path());
        REQUIRE(write_atomic(path() / name, text));
    }

private:
    static ScratchFolder make() {
        auto folder = ScratchFolder::create("lode-cache-test");
        REQUIRE(folder);
        return *std::move(folder);
    }

    ScratchFolder folder_;
};

}  // namespace LODE_NAMESPACE::cache
