#include "base/file.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

struct SourceFile {
    std::string name;  // From the repository's root.
    std::string text;
};

/// The library's and the tools' own sources.
std::vector<SourceFile> sources() {
    const std::filesystem::path root = LODE_SOURCE_DIR;
    std::vector<SourceFile> files;
    for (const char* room : {"include", "base", "jit", "runtime", "emulator", "tools"}) {
        if (!std::filesystem::exists(root / room)) continue;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root / room)) {
            const auto extension = entry.path().extension();
            if (extension != ".cpp" && extension != ".hpp" && extension != ".def") continue;
            files.push_back({entry.path().lexically_relative(root).string(),
                             lode::read_text(entry.path()).value()});
        }
    }
    return files;
}

bool is_in_table(std::string_view name) {
    return std::ranges::any_of(lode::environment_table(),
                               [&](const auto& row) { return row.name == name; });
}

}  // namespace

TEST_CASE("environment: the table is sorted and its rows are full") {
    const auto table = lode::environment_table();
    CHECK(std::ranges::is_sorted(table, {}, &lode::EnvironmentVariable::name));
    for (const auto& row : table) {
        CAPTURE(row.name);
        CHECK_FALSE(row.name.empty());
        CHECK(row.meaning.ends_with('.'));
        CHECK_FALSE(row.default_value.empty());
    }
}

TEST_CASE("environment: every variable that the sources name is in the table") {
    const std::regex call(R"(\benvironment\(\s*"([^"]*)\")");
    int calls = 0;
    for (const auto& file : sources()) {
        for (std::sregex_iterator match(file.text.begin(), file.text.end(), call), end;
             match != end; ++match) {
            ++calls;
            CAPTURE(file.name);
            CAPTURE((*match)[1].str());
            CHECK(is_in_table((*match)[1].str()));
        }
    }
    CHECK(calls > 0);
}

TEST_CASE("environment: nobody reads the environment past the table") {
    int readers = 0;
    for (const auto& file : sources()) {
        if (file.text.find("getenv(") == std::string::npos) continue;
        ++readers;
        CHECK(file.name == "base/environment.cpp");
    }
    CHECK(readers == 1);
}

TEST_CASE("environment: unset and empty are nothing, a change is seen at once") {
    const char* name = "LODE_SYNC_LAUNCHES";
    ::unsetenv(name);
    CHECK(lode::environment(name) == std::nullopt);
    ::setenv(name, "", 1);
    CHECK(lode::environment(name) == std::nullopt);
    ::setenv(name, "1", 1);
    CHECK(lode::environment(name) == "1");
    ::unsetenv(name);
    CHECK(lode::environment(name) == std::nullopt);
}
