// The seeds through the targets, in every build: what fuzzing once found stays found.
#include "base/file.hpp"
#include "tests/fuzz/target.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

namespace {

using namespace lode::fuzz;

std::filesystem::path folder_of(const Target& target) {
    return std::filesystem::path(LODE_SOURCE_DIR) / "tests/fuzz/corpus" / target.corpus;
}

}  // namespace

TEST_CASE("fuzz: every target survives its seeds, cut anywhere, and understands some of them") {
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
        // Seeds of an older format would only be about its first bytes.
        CHECK(understood > 0);
    }
}

TEST_CASE("fuzz: every target has a name of its own and seeds that fit") {
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
