#include "base/file.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

struct SourceFile {
    std::string name;  // Relative to the repository root.
    std::string text;
};

/// The sources of the library and the tools.
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

TEST_CASE("environment: the table is sorted and its rows are complete") {
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
    const std::regex call(R"(\benvironment(?:_word|_flag|_number)?\(\s*"([^"]*)\")");
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

TEST_CASE("environment: only the table's source reads the environment") {
    const std::regex call(R"(\bgetenv\()");
    int readers = 0;
    for (const auto& file : sources()) {
        if (!std::regex_search(file.text, call)) continue;
        ++readers;
        CHECK(file.name == "base/environment.cpp");
    }
    CHECK(readers == 1);
}

TEST_CASE("environment: an unset or empty variable has no value, and a change is seen at once") {
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

TEST_CASE("environment: every variable has a closed set of values or is known to take any text") {
    // Paths, and variables with a grammar of their own.
    const std::set<std::string_view> open_ended = {"LODE_CACHED_REPORT",
                                                   "LODE_CACHE_DIR",
                                                   "LODE_CACHE_KEYS",
                                                   "LODE_CACHE_MAX_BYTES",
                                                   "LODE_CACHE_PACKS",
                                                   "LODE_CACHE_REMOTE",
                                                   "LODE_CACHE_REMOTE_CA",
                                                   "LODE_CACHE_REMOTE_CERT",
                                                   "LODE_CACHE_REMOTE_KEY",
                                                   "LODE_CACHE_REMOTE_PASSWORD",
                                                   "LODE_CACHE_REMOTE_TOKEN",
                                                   "LODE_CACHE_REMOTE_USER",
                                                   "LODE_CACHE_SIGN_WITH",
                                                   "LODE_COMPILE_MEMORY",
                                                   "LODE_COMPILE_TIMEOUT",
                                                   "LODE_DRIVER",
                                                   "LODE_EMULATOR",
                                                   "LODE_FORCE_VARIANT",
                                                   "LODE_LLVM",
                                                   "LODE_NVFATBIN",
                                                   "LODE_NVJITLINK",
                                                   "LODE_NVRTC",
                                                   "LODE_NVVM",
                                                   "LODE_PCH_MAX_BYTES",
                                                   "LODE_RECORD",
                                                   "LODE_WORKER",
                                                   "LODE_WORKERS"};
    for (const auto& row : lode::environment_table()) {
        if (!row.name.starts_with("LODE_") || row.name.starts_with("LODE_EMULATOR_")) continue;
        CAPTURE(row.name);
        CHECK(row.allowed.empty() == open_ended.contains(row.name));
    }
}

TEST_CASE("environment: a variable with a closed set of values accepts only these") {
    int variables = 0;
    for (const auto& row : lode::environment_table()) {
        if (row.allowed.empty() || row.name.starts_with("LODE_EMULATOR_")) continue;
        ++variables;
        CAPTURE(row.name);
        const std::string name(row.name);
        const auto set = [&](const std::string& value) {
            ::setenv(name.c_str(), value.c_str(), 1);
        };
        std::istringstream words{std::string(row.allowed)};
        for (std::string word; std::getline(words >> std::ws, word, ',');) {
            CAPTURE(word);
            set(word);
            CHECK(lode::environment_word(name).value() == word);
            CHECK(lode::check_environment());
            for (const auto& wrong : {word + "x", " " + word, word + " ", word + ","}) {
                set(wrong);
                const auto refused = lode::environment_word(name);
                REQUIRE_FALSE(refused);
                CHECK(refused.error().code == lode::Errc::invalid_argument);
                CHECK(refused.error().message.starts_with(name + " is '" + wrong +
                                                          "'; it must be one of " +
                                                          std::string(row.allowed) + "."));
                const auto checked = lode::check_environment();
                REQUIRE_FALSE(checked);
                CHECK(checked.error().message == refused.error().message);
            }
        }
        for (const char* wrong : {"x", "2", "-1", "yes", "true", "ON", ",", ", "}) {
            set(wrong);
            CHECK_FALSE(lode::environment_word(name));
            CHECK_FALSE(lode::check_environment());
        }
        set("");
        CHECK(lode::environment_word(name).value() == std::nullopt);
        CHECK(lode::check_environment());
        ::unsetenv(name.c_str());
    }
    CHECK(variables == 6);
}

TEST_CASE("environment: a flag is 0 or 1, a number is whole and large enough") {
    ::setenv("LODE_FORCE_PTX", "1", 1);
    CHECK(lode::environment_flag("LODE_FORCE_PTX").value());
    ::setenv("LODE_FORCE_PTX", "0", 1);
    CHECK_FALSE(lode::environment_flag("LODE_FORCE_PTX").value());
    ::setenv("LODE_FORCE_PTX", "2", 1);
    CHECK_FALSE(lode::environment_flag("LODE_FORCE_PTX").has_value());
    ::unsetenv("LODE_FORCE_PTX");
    CHECK_FALSE(lode::environment_flag("LODE_FORCE_PTX").value());

    const char* name = "LODE_CACHE_MAX_BYTES";
    ::setenv(name, "18446744073709551615", 1);
    CHECK(lode::environment_number(name, 10).value() == UINT64_MAX);
    const auto refused = [](const char* variable, const char* value, std::uint64_t least,
                            std::uint64_t most = UINT64_MAX) {
        ::setenv(variable, value, 1);
        const auto number = lode::environment_number(variable, least, most);
        ::unsetenv(variable);
        const std::string prefix = std::string(variable) + " is '" + value + "'; it must be ";
        if (number || !number.error().message.starts_with(prefix)) return std::string();
        return number.error().message.substr(prefix.size());
    };
    for (const char* wrong : {"9", "x", "-1", "1e6", "10s", " 10", "18446744073709551616"}) {
        CAPTURE(wrong);
        CHECK(refused(name, wrong, 10) == "a number of bytes, such as 512MB, at least 10.");
    }
    CHECK(refused("LODE_COMPILE_TIMEOUT", "2d", 0, 500) ==
          "a time, such as 10s, or a number of milliseconds, from 0 to 500.");
    CHECK(refused("LODE_EMULATOR_SEED", "2s", 0) == "a whole number.");

    const auto read = [](const char* variable, const char* value) {
        ::setenv(variable, value, 1);
        const auto number = lode::environment_number(variable, 0);
        ::unsetenv(variable);
        return number.value();
    };
    CHECK(read(name, "1GB") == std::uint64_t{1} << 30);
    CHECK(read("LODE_COMPILE_MEMORY", "4KiB") == 4096);
    CHECK(read("LODE_COMPILE_TIMEOUT", "2min") == 120'000);
    CHECK(read("LODE_EMULATOR_SEED", "2k") == 2000);
}

TEST_CASE("environment: every variable with a closed set of values is read through the parser") {
    for (const auto& row : lode::environment_table()) {
        if (row.allowed.empty()) continue;
        const std::string call = "environment(\"" + std::string(row.name) + "\")";
        for (const auto& file : sources()) {
            CAPTURE(file.name);
            CHECK_MESSAGE(file.text.find(call) == std::string::npos, call);
        }
    }
}
