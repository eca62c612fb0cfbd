#include "base/file.hpp"
#include "tests/support/scratch_folder.hpp"

#include <lode/runtime/variants_choices.hpp>

#include <cstdlib>
#include <fstream>

#include <doctest/doctest.h>

using lode::fastest_row;
using lode::RowTimes;
using lode::TunedChoice;
using lode::TunedChoices;
using lode::TuneKey;

namespace {

TunedChoice make_choice(const char* family, const char* row, const char* problem_class = "large") {
    return {{family, "NVIDIA H200", 13000, problem_class}, row, 0.125};
}

}  // namespace

TEST_CASE("tuned choices: kept, found, replaced and distinguished by every part of the key") {
    const auto scratch = *lode::ScratchFolder::create();
    const TunedChoices choices(scratch.path() / "deep" / "variants");
    const auto kept = make_choice("gemm", "wgmma");
    CHECK_FALSE(choices.find(kept.key));
    REQUIRE(choices.keep(kept));
    CHECK(choices.find(kept.key) == kept);

    auto key = kept.key;
    key.family = "sum";
    CHECK_FALSE(choices.find(key));
    key = kept.key;
    key.device = "NVIDIA H100";
    CHECK_FALSE(choices.find(key));
    key = kept.key;
    key.driver_version = 13010;
    CHECK_FALSE(choices.find(key));
    key = kept.key;
    key.problem_class = "small";
    CHECK_FALSE(choices.find(key));

    REQUIRE(choices.keep(make_choice("gemm", "stages")));
    CHECK(choices.find(kept.key)->row == "stages");
    CHECK(choices.list().size() == 1);
}

TEST_CASE("tuned choices: listed in order and cleared by family") {
    const auto scratch = *lode::ScratchFolder::create();
    const TunedChoices choices(scratch.path());
    CHECK(choices.list().empty());
    CHECK(*choices.clear() == 0);
    for (const auto& choice : {make_choice("sum", "cluster"), make_choice("gemm", "wgmma", "b"),
                               make_choice("gemm", "wmma", "a")})
        REQUIRE(choices.keep(choice));
    const auto list = choices.list();
    REQUIRE(list.size() == 3);
    CHECK(list[0].row == "wmma");
    CHECK(list[2].row == "cluster");
    CHECK(*choices.clear("gemm") == 2);
    CHECK(choices.list().size() == 1);
    CHECK(*choices.clear() == 1);
}

TEST_CASE("tuned choices: an incomplete file isn't a choice") {
    const auto scratch = *lode::ScratchFolder::create();
    const TunedChoices choices(scratch.path());
    const auto choice = make_choice("gemm", "wgmma");
    REQUIRE(choices.keep(choice));
    const auto file = std::filesystem::directory_iterator(scratch.path())->path();
    const auto text = *lode::read_text(file);
    for (std::size_t length = 0; length < text.size(); ++length) {
        std::ofstream(file, std::ios::trunc) << text.substr(0, length);
        CAPTURE(length);
        CHECK_FALSE(choices.find(choice.key));
    }
    std::ofstream(file, std::ios::trunc) << text;
    CHECK(choices.find(choice.key));
}

TEST_CASE("tuned choices: a line break in a key can't forge a field") {
    const auto scratch = *lode::ScratchFolder::create();
    const TunedChoices choices(scratch.path());
    auto choice = make_choice("gemm", "wgmma", "x\nrow forged");
    REQUIRE(choices.keep(choice));
    CHECK(choices.find(choice.key)->row == "wgmma");
}

TEST_CASE("tuned choices: without a folder nothing is kept, and the error says so") {
    const TunedChoices choices{std::filesystem::path()};
    const auto kept = choices.keep(make_choice("gemm", "wgmma"));
    REQUIRE_FALSE(kept);
    CHECK(kept.error().message.find("LODE_CACHE_DIR") != std::string::npos);
    CHECK_FALSE(choices.find(make_choice("gemm", "wgmma").key));
}

TEST_CASE("tuning: the fastest row wins by a margin above the noise") {
    const RowTimes first{0, {1.10, 1.10, 1.10}};
    const RowTimes second{1, {1.00, 1.00, 1.00}};
    CHECK(fastest_row(std::vector{first, second}, 0.02) == 1);
    CHECK(fastest_row(std::vector{first, second}, 0.15) == 0);
    CHECK(fastest_row(std::vector{second}, 0.02) == 1);
    CHECK(fastest_row({}, 0.02) == std::nullopt);

    const RowTimes noisy{0, {0.8, 0.9, 1.1, 1.3, 1.6}};
    CHECK(fastest_row(std::vector{noisy, second}, 0.02) == 0);

    // A row further down the table never wins if it is slower.
    const RowTimes later{2, {1.001, 1.001, 1.001}};
    CHECK(fastest_row(std::vector{second, later}, 0.02) == 1);
}

TEST_CASE("tuning: the median of even and odd counts") {
    CHECK(lode::median_of(std::vector<double>{3, 1, 2}) == doctest::Approx(2));
    CHECK(lode::median_of(std::vector<double>{4, 1, 2, 3}) == doctest::Approx(2.5));
    CHECK(lode::median_of({}) == 0);
}
