// What lode_bench_kernels understands as families and sizes.
#include "bench/kernels_arguments.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using lode::Problem;
using lode::bench::parse_kernel_arguments;
using lode::bench::parse_problem;
using lode::bench::parse_problems;

TEST_CASE("kernel bench: a size has up to three extents, numbers or powers") {
    CHECK(*parse_problem("1000") == Problem{1000});
    CHECK(*parse_problem("2^20") == Problem{1U << 20});
    CHECK(*parse_problem("2^10x128") == Problem{1024, 128});
    CHECK(*parse_problem("4096x17x3^3") == Problem{4096, 17, 27});
    for (const char* text :
         {"", "x", "8x", "x8", "1x2x3x4", "0", "5x0", "2^", "2^64", "-1", "2^x3", "1e6", " 8"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_problem(text));
    }
    for (const char* text : {"1000", "7x9", "4096x4096x64"})
        CHECK(lode::bench::text_of(*parse_problem(text)) == text);
}

TEST_CASE("kernel bench: a range doubles its first extent") {
    CHECK(*parse_problems("2^3..2^5,7") == std::vector<Problem>{{8}, {16}, {32}, {7}});
    CHECK(*parse_problems("3x5..13x5") == std::vector<Problem>{{3, 5}, {6, 5}, {12, 5}});
    CHECK(*parse_problems("2^63..2^63") == std::vector<Problem>{{1ULL << 63}});
    for (const char* text : {"", "8..", "..8", "16..8", "8x2..16x3", "8,,9"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_problems(text));
    }
}

TEST_CASE("kernel bench: families with and without sizes, and options") {
    const char* const arguments[] = {"scan", "reduce@2^16..2^17", "--json", "out.json", "--rounds",
                                     "5",    "--no-peers",        "--tune"};
    const auto parsed = parse_kernel_arguments(arguments);
    REQUIRE(parsed);
    REQUIRE(parsed->families.size() == 2);
    CHECK(parsed->families[0].family == "scan");
    CHECK(parsed->families[0].problems.empty());
    CHECK(parsed->families[1].family == "reduce");
    CHECK(parsed->families[1].problems == std::vector<Problem>{{1U << 16}, {1U << 17}});
    CHECK(parsed->json == "out.json");
    CHECK(parsed->rounds == 5);
    CHECK_FALSE(parsed->peers);
    CHECK(parsed->tune);
    for (const std::vector<const char*>& wrong : std::vector<std::vector<const char*>>{
             {"--json"}, {"--rounds", "0"}, {"--fast"}, {"scan@"}, {"scan@many"}}) {
        CAPTURE(wrong.front());
        CHECK_FALSE(parse_kernel_arguments(wrong));
    }
}
