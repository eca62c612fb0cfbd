// The corpora through the parsers, in every build: what fuzzing once found stays found.
#include "base/file.hpp"
#include "tests/fuzz/parsers.hpp"

#include <filesystem>

#include <doctest/doctest.h>

TEST_CASE("fuzz: every parser survives its corpus, cut anywhere, and accepts some of it") {
    for (const auto& parser : lode::fuzz::parsers) {
        CAPTURE(parser.name);
        int accepted = 0;
        const auto folder =
            std::filesystem::path(LODE_SOURCE_DIR) / "tests/fuzz/corpus" / parser.name;
        for (const auto& item : std::filesystem::directory_iterator(folder)) {
            const auto bytes = lode::read_bytes(item.path());
            REQUIRE(bytes);
            const std::span whole(*bytes);
            const std::size_t step = whole.size() / 200 + 1;
            for (std::size_t size = 0; size < whole.size(); size += step)
                (void)parser.parse(whole.first(size));
            accepted += parser.parse(whole) ? 1 : 0;
        }
        // A corpus of an older format would only be about its first bytes.
        CHECK(accepted > 0);
    }
}
