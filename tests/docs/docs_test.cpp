// Checks what the documents say about the code.
#include "base/file.hpp"
#include "jit/nvcc_flags.hpp"
#include "tests/support/text.hpp"

#include <lode/base/environment.hpp>
#include <lode/base/error.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

using lode::test::contains;

namespace {

const std::filesystem::path root = LODE_SOURCE_DIR;

std::string read(const std::filesystem::path& name) {
    return lode::read_text(root / name).value();
}

std::vector<std::filesystem::path> documents() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
        if (entry.path().extension() == ".md") found.push_back(entry.path());
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "docs")) {
        if (entry.path().extension() == ".md") found.push_back(entry.path());
    }
    return found;
}

/// A page without the parts from `open` to `close`.
std::string without(std::string page, std::string_view open, std::string_view close) {
    for (auto start = page.find(open); start != std::string::npos; start = page.find(open, start)) {
        const auto end = page.find(close, start + open.size());
        REQUIRE(end != std::string::npos);
        page.erase(start, end + close.size() - start);
    }
    return page;
}

/// A page without its code blocks, in which a lambda looks like a link.
std::string text_of(const std::filesystem::path& document) {
    const auto shown = without(lode::read_text(document).value(), "\n<!--", "-->");
    return without(shown, "\n```", "\n```");
}

/// The anchors of a page's headings, as GitHub generates them.
std::vector<std::string> anchors_of(const std::string& text) {
    std::vector<std::string> anchors;
    const std::regex heading("\n#+ ([^\n]+)");
    for (std::sregex_iterator match(text.begin(), text.end(), heading), end; match != end;
         ++match) {
        std::string anchor;
        for (const char c : (*match)[1].str()) {
            if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_')
                anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            if (c == ' ') anchor += '-';
        }
        anchors.push_back(std::move(anchor));
    }
    return anchors;
}

/// The section of docs/errors.md on one code: from its heading to the next.
std::string section_of(const std::string& page, std::string_view code) {
    const auto start = page.find(fmt::format("\n### `{}`\n", code));
    if (start == std::string::npos) return {};
    return page.substr(start, page.find("\n#", start + 1) - start);
}

}  // namespace

TEST_CASE("docs: errors.md gives cause and cure of every code, and of no other") {
    const auto page = read("docs/errors.md");
    int codes = 0;
    for (int code = 1; lode::to_string(static_cast<lode::Errc>(code)) != "unknown"; ++code) {
        const auto name = lode::to_string(static_cast<lode::Errc>(code));
        CAPTURE(name);
        const auto section = section_of(page, name);
        CHECK(contains(section, "**Cause.** "));
        CHECK(contains(section, "**Cure.** "));
        ++codes;
    }
    const std::regex heading("\n### ");
    CHECK(std::distance(std::sregex_iterator(page.begin(), page.end(), heading), {}) == codes);
}

TEST_CASE("docs: environment.md lists every environment variable as in the table") {
    const auto page = read("docs/environment.md");
    const auto table = lode::environment_table();
    for (const auto& row : table) {
        const auto line =
            fmt::format("\n| `{}` | {} | {} |\n", row.name, row.meaning, row.default_value);
        CAPTURE(line);
        CHECK(contains(page, line));
    }
    const std::regex line("\n\\| `");
    CHECK(std::distance(std::sregex_iterator(page.begin(), page.end(), line), {}) ==
          static_cast<std::ptrdiff_t>(table.size()));
}

TEST_CASE("docs: nvcc-flags.md lists every flag of the table, and no other") {
    const auto text = read("docs/nvcc-flags.md");
    for (const auto& row : lode::nvcc_flags()) {
        const auto name = row.name.substr(0, row.name.find('='));
        const bool is_there =
            contains(text, fmt::format("`-{}", name)) ||
            (!row.other.empty() &&
             contains(text, fmt::format("`-{}", row.other.substr(0, row.other.find('=')))));
        CHECK_MESSAGE(is_there, row.name);
    }
    const auto tables = text.substr(text.find("| --- |"));
    const std::regex flag("`(--?[A-Za-z][^` ]*)");
    for (std::sregex_iterator found(tables.begin(), tables.end(), flag), end; found != end; ++found)
        CHECK_MESSAGE(lode::read_flag(std::vector{(*found)[1].str()}).row != nullptr,
                      (*found)[1].str());
}

TEST_CASE("docs: the C++ and C of every document is compiled") {
    // LODE_DOCUMENTS lists the documents that CMakeLists.txt gives to lode_add_document().
    const std::string compiled = LODE_DOCUMENTS;
    for (const auto& document : documents()) {
        const auto name = std::filesystem::relative(document, root).string();
        CAPTURE(name);
        const auto text = lode::read_text(document).value();
        const bool has_c = !name.starts_with("docs/dev/") && contains(text, "\n```c\n");
        if (has_c || contains(text, "\n```cpp\n"))
            CHECK(contains("," + compiled + ",", "," + name + ","));
    }
}

TEST_CASE("docs: every link to a file of the repository has a target") {
    const std::regex link(R"(\]\(([^)#]+)[^)]*\))");
    int links = 0;
    for (const auto& document : documents()) {
        const auto text = text_of(document);
        for (std::sregex_iterator match(text.begin(), text.end(), link), end; match != end;
             ++match) {
            const auto target = (*match)[1].str();
            if (contains(target, "://")) continue;
            ++links;
            CAPTURE(document);
            CAPTURE(target);
            CHECK(std::filesystem::exists(document.parent_path() / target));
        }
    }
    CHECK(links > 10);
}

TEST_CASE("docs: every link to a heading has a target") {
    const std::regex link(R"(\]\(([^)#]*)#([^)]+)\))");
    int links = 0;
    for (const auto& document : documents()) {
        const auto text = text_of(document);
        for (std::sregex_iterator match(text.begin(), text.end(), link), end; match != end;
             ++match) {
            const auto target = (*match)[1].str();
            if (contains(target, "://")) continue;
            ++links;
            CAPTURE(document);
            CAPTURE((*match)[0].str());
            const auto page = target.empty() ? document : document.parent_path() / target;
            const auto found = anchors_of(text_of(page));
            CHECK(std::ranges::find(found, (*match)[2].str()) != found.end());
        }
    }
    CHECK(links > 10);
}

TEST_CASE("docs: architecture.md names every component") {
    const auto page = read("docs/dev/architecture.md");
    for (const auto& entry : std::filesystem::directory_iterator(root / "include/lode")) {
        if (!entry.is_directory()) continue;
        const auto component = entry.path().filename().string();
        CAPTURE(component);
        CHECK(contains(page, fmt::format("\n| {} |", component)));
    }
}

TEST_CASE("docs: the changelog has the version that is built, or what isn't released") {
    const auto header = read("include/lode/base/api.hpp");
    std::smatch version;
    const std::regex numbers(R"(LODE_VERSION_NUMBERS (\d+), (\d+), (\d+))");
    REQUIRE(std::regex_search(header, version, numbers));
    const auto changelog = read("CHANGELOG.md");
    const auto released =
        fmt::format("## [{}.{}.{}]", version[1].str(), version[2].str(), version[3].str());
    CHECK((contains(changelog, released) || contains(changelog, "## [Unreleased]\n\n")));
}

TEST_CASE("docs: every test that testing.md names exists") {
    const auto page = read("docs/dev/testing.md");
    const auto failures = page.substr(page.find("## The failures of other caches"));
    std::string tests;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "tests")) {
        const auto& path = entry.path();
        if (path.extension() == ".cpp" || path.filename() == "CMakeLists.txt")
            tests += lode::read_text(path).value();
    }
    // A name may be split into two string literals.
    tests = std::regex_replace(tests, std::regex("\"\\s*\n\\s*\""), "");
    const std::regex name("`([a-z ]+: [^`]+)`");
    int named = 0;
    for (auto at = std::sregex_iterator(failures.begin(), failures.end(), name);
         at != std::sregex_iterator(); ++at, ++named) {
        const std::string test = (*at)[1];
        CAPTURE(test);
        CHECK(contains(tests, fmt::format("\"{}\"", test)));
    }
    CHECK(named > 20);
}
