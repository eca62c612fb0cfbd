#include "base/message_text.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using lode::closest;
using lode::did_you_mean;
using lode::edit_distance;
using lode::first_entry;
using lode::listed;
using lode::shortened;

namespace {

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("message text: a short text stays, a long one is cut in the middle") {
    CHECK(shortened("saxpy") == "saxpy");
    CHECK(shortened("").empty());
    CHECK(shortened(std::string(160, 'a')) == std::string(160, 'a'));
    const auto cut = shortened("begin" + std::string(6000, '-') + "end");
    CHECK(cut.size() <= 160);
    CHECK(cut.starts_with("begin-"));
    CHECK(cut.ends_with("-end"));
    CHECK(cut.find("-…-") != std::string::npos);
}

TEST_CASE("message text: the cut is between characters, and control characters are escaped") {
    std::string umlauts;
    for (int i = 0; i < 200; ++i)
        umlauts += "ä";
    for (std::size_t most = 20; most < 28; ++most) {
        const auto cut = shortened("x" + umlauts, most);
        CAPTURE(cut);
        CHECK(cut.size() <= most);
        std::string rest = cut.substr(1);
        for (const std::string part : {"ä", "…"})
            for (auto at = rest.find(part); at != std::string::npos; at = rest.find(part))
                rest.erase(at, part.size());
        CHECK(rest.empty());
    }
    CHECK(shortened("a\nb\tc\r\x01") == "a\\nb\\tc\\r\\x01");
}

TEST_CASE("message text: a list ends with how many it leaves out") {
    CHECK(listed(Names{}).empty());
    CHECK(listed(Names{"a"}) == "a");
    CHECK(listed(Names(12, "k")) == "k, k, k, k, k, k, k, k, k, k, k, k");
    CHECK(listed(Names(13, "k")) == "k, k, k, k, k, k, k, k, k, k, k, k and 1 more");
    CHECK(listed(Names(1500, "k")).ends_with("k and 1,488 more"));
    CHECK(listed(Names(1'234'579, "k")).ends_with("k and 1,234,567 more"));
    CHECK(listed(Names(5, "k"), {.separator = "\n  ", .entries = 2}) == "k\n  k\n  3 more");
    CHECK(listed(Names(1500, std::string(6000, 'k'))).size() < 2200);
}

TEST_CASE("message text: the first entry has the indented lines below its first") {
    CHECK(first_entry("a\n  b\n  c\nd\n  e") == "a\n  b\n  c");
    CHECK(first_entry("a\nb") == "a");
    CHECK(first_entry("a\n  b") == "a\n  b");
    CHECK(first_entry("a\n") == "a");
    CHECK(first_entry("") == "");
}

TEST_CASE("message text: the distance of long texts that differ at one place is exact") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("abc", "") == 3);
    CHECK(edit_distance("aa", "a") == 1);
    const std::string half(3000, 'h');
    CHECK(edit_distance(half + "x" + half, half + "yz" + half) == 2);
    CHECK(edit_distance(half, std::string(2000, 'g')) == 3000);
}

TEST_CASE("message text: the nearest word, if any is near") {
    const Names names = {"--arch", "--name", "--ptx", "--report", "--max-registers"};
    CHECK(closest("--arhc", names) == "--arch");
    CHECK(closest("--Arch", names) == "--arch");
    CHECK(closest("--ptxx", names) == "--ptx");
    CHECK(closest("--max_registers", names) == "--max-registers");
    CHECK(closest("--max-regs", names).empty());  // Five letters are missing.
    CHECK(closest("--quick", names).empty());
    CHECK(closest("", names).empty());
    CHECK(closest(std::string(100'000, 'x'), names).empty());
    CHECK(closest("--arch", {}).empty());
    CHECK(did_you_mean("sm_80") == " Did you mean 'sm_80'?");
    CHECK(did_you_mean("").empty());
}
