// Runs the seeds through the targets in every build, so that bugs found by fuzzing stay fixed.
#include "base/file.hpp"
#include "tests/fuzz/target.hpp"

#include <chrono>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

namespace {

using namespace lode::fuzz;

std::filesystem::path folder_of(const Target& target) {
    return std::filesystem::path(LODE_SOURCE_DIR) / "tests/fuzz/corpus" / target.corpus;
}

}  // namespace

TEST_CASE("fuzz: every target survives truncated seeds and understands at least one seed") {
    for (const Target& target : targets()) {
        CAPTURE(target.name);
        int understood = 0;
        for (const auto& item : std::filesystem::directory_iterator(folder_of(target))) {
            const auto bytes = lode::read_bytes(item.path());
            REQUIRE(bytes);
            const std::span whole(*bytes);
            const std::size_t step = whole.size() / 100 + 1;
            for (std::size_t size = 0; size < whole.size(); size += step)
                (void)target.run(whole.first(size));
            understood += target.run(whole) ? 1 : 0;
        }
        // Seeds in an outdated format would test only the first bytes.
        CHECK(understood > 0);
    }
}

TEST_CASE("fuzz: every target has a unique name and seeds within its size limit") {
    std::size_t rows = 0;
    for (const Target& target : targets()) {
        CAPTURE(target.name);
        CHECK(find_target(target.name) == &target);
        REQUIRE(std::filesystem::is_directory(folder_of(target)));
        for (const auto& item : std::filesystem::directory_iterator(folder_of(target)))
            CHECK_MESSAGE(item.file_size() <= target.most, item.path().string());
        ++rows;
    }
    CHECK(rows >= 17);
    CHECK(find_target("nothing") == nullptr);
}

TEST_CASE("fuzz: PTX with 200,000 levels of nesting is refused without recursion") {
    constexpr std::size_t levels = 200'000;
    const std::string before =
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<4>;\n"
        ".reg .pred %p<2>;\n";
    for (const std::string_view statement : {"mov.u32 %r1, ", "@", "call ", ""}) {
        for (const std::string_view level : {"(", "[", "{", "!", "-", "~", "{ ", "+", "@!"}) {
            std::string text = before + std::string(statement);
            for (std::size_t k = 0; k < levels; ++k)
                text += level;
            CAPTURE(statement);
            CAPTURE(level);
            for (const Target& target : targets()) {
                if (target.corpus != "ptx") continue;
                CAPTURE(target.name);
                const bool understood = target.run(std::as_bytes(std::span(text)));
                const bool only_scans = target.name == "ptx_lexer" || target.name == "ptx_scan";
                CHECK((only_scans || !understood));
            }
        }
    }
}

TEST_CASE("fuzz: PTX with 50,000 kernels is read in less than 20 seconds") {
    std::string text = ".version 8.7\n.target sm_90\n.address_size 64\n";
    for (int k = 0; k < 50'000; ++k)
        text += ".visible .entry k" + std::to_string(k) + "()\n{\nret;\n}\n";
    for (const Target& target : targets()) {
        if (target.corpus != "ptx") continue;
        CAPTURE(target.name);
        const auto begin = std::chrono::steady_clock::now();
        CHECK(target.run(std::as_bytes(std::span(text))));
        // Comparing every pair of kernels would take tens of seconds.
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
    }
}
