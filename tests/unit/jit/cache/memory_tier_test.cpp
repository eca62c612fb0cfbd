#include "jit/store/memory_tier.hpp"

#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using lode::sha256;
using TextTier = lode::cache::MemoryTier<std::string>;

namespace {

void put(TextTier& tier, const std::string& text, std::size_t bytes) {
    tier.put(sha256(text), std::make_shared<const std::string>(text), bytes);
}

}  // namespace

TEST_CASE("memory tier: a hit shares the value") {
    TextTier tier(100);
    const auto value = std::make_shared<const std::string>("a");
    tier.put(sha256("a"), value, 10);
    CHECK(tier.get(sha256("a")) == value);
    CHECK(tier.get(sha256("b")) == nullptr);
    tier.remove(sha256("a"));
    CHECK(tier.get(sha256("a")) == nullptr);
}

TEST_CASE("memory tier: the least recently used value is dropped when the limit is reached") {
    TextTier tier(30);
    put(tier, "a", 10);
    put(tier, "b", 10);
    put(tier, "c", 10);
    REQUIRE(tier.get(sha256("a")));
    put(tier, "d", 10);
    CHECK(tier.get(sha256("a")));
    CHECK_FALSE(tier.get(sha256("b")));
    CHECK(tier.get(sha256("c")));
    CHECK(tier.get(sha256("d")));
}

TEST_CASE("memory tier: a replaced value counts once, and one that is too large isn't kept") {
    TextTier tier(30);
    put(tier, "a", 10);
    put(tier, "a", 20);
    put(tier, "b", 10);
    CHECK(tier.get(sha256("a")));
    CHECK(tier.get(sha256("b")));
    put(tier, "a", 31);
    CHECK_FALSE(tier.get(sha256("a")));
    put(tier, "c", 20);
    CHECK(tier.get(sha256("b")));
}

TEST_CASE("memory tier: threads share it") {
    TextTier tier(1000);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 2000; ++i) {
                const std::string text = std::to_string((i * 7 + t) % 150);
                put(tier, text, 10);
                const auto got = tier.get(sha256(text));
                if (got && *got != text) ++wrong;
            }
        });
    }
    for (auto& thread : threads)
        thread.join();
    CHECK(wrong == 0);
    int kept = 0;
    for (int i = 0; i < 150; ++i)
        kept += tier.get(sha256(std::to_string(i))) != nullptr ? 1 : 0;
    CHECK(kept == 100);
}
