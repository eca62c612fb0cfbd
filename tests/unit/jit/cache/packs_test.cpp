// Packs: a size limit, one for each architecture, merging, comparing, layers.
#include "jit/cache/packs.hpp"

#include "tests/unit/jit/cache/fake_compiler.hpp"
#include "tests/unit/jit/cache/keys.hpp"

#include <algorithm>
#include <random>

#include <sys/stat.h>

using namespace lode;
using namespace lode::cache;

namespace {

std::unique_ptr<DiskTier> tier_of(const std::filesystem::path& folder) {
    return unwrap(DiskTier::open(folder, true, CacheOptions::default_max_bytes));
}

CacheOptions only(std::vector<std::filesystem::path> packs) {
    CacheOptions options;
    options.packs = std::move(packs);
    return options;
}

}  // namespace

TEST_CASE("packs: one that would be larger than its limit leaves entries out and names them") {
    const Scratch scratch;
    std::vector<Digest> keys;
    std::vector<Source> sources;
    for (int i = 0; i < 8; ++i) {
        std::string text = fmt::format("kernel {}\n", i);
        std::mt19937 random(static_cast<std::uint32_t>(i));
        for (int k = 0; k < 500 * (i == 2 ? 20 : 1); ++k)  // Doesn't compress well.
            text += fmt::format("{:x}\n", random());
        sources.push_back(Source::text(text, fmt::format("{}.cu", i)));
        keys.push_back(FakeProcess(scratch / "cache").compile(sources.back()).report.key);
    }
    const auto tier = tier_of(scratch / "cache");
    const auto whole = unwrap(pack(*tier, scratch / "whole.pack", keys));
    CHECK(whole.entries == 8);
    CHECK(whole.left_out.empty());
    for (const std::uint64_t percent : {1, 10, 30, 60, 90, 100}) {
        PackOptions options;
        options.max_bytes = std::max<std::uint64_t>(whole.bytes * percent / 100, 500);
        const auto file = scratch / "limited.pack";
        const auto report = unwrap(pack(*tier, file, keys, options));
        CAPTURE(percent);
        CHECK(report.bytes <= options.max_bytes);
        CHECK(std::filesystem::file_size(file) == report.bytes);
        CHECK(report.entries + report.left_out.size() == 8);
        const FakeProcess process(only({file}));
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const bool is_left_out = std::ranges::find(report.left_out, keys[i],
                                                       &PackedEntry::key) != report.left_out.end();
            CHECK(process.tier(sources[i]).empty() == is_left_out);
        }
        // The large one is out long before the small ones after it.
        if (percent == 30) {
            CHECK(report.entries >= 3);
            CHECK(report.left_out.front().source == "2.cu");
        }
        if (percent == 100) CHECK(report.left_out.empty());
    }
    PackOptions tiny;
    tiny.max_bytes = 10;
    const auto refused = pack(*tier, scratch / "tiny.pack", keys, tiny);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("; the limit is 10.") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(scratch / "tiny.pack"));
}

TEST_CASE("packs: those in read-only folders layer, and each adds states of headers") {
    const Scratch scratch;
    scratch.write("k.cu", "#include \"c.h\"\n");
    const auto source = Source::file(scratch / "k.cu");
    std::filesystem::create_directory(scratch / "image");
    for (const char* state : {"one", "two"}) {
        scratch.write("c.h", fmt::format("{}\n", state));
        settle();
        (void)FakeProcess(scratch / state).compile(source);
        CHECK(unwrap(pack(*tier_of(scratch / state), scratch / "image" / state)).manifests == 1);
    }
    REQUIRE(::chmod((scratch / "image").c_str(), 0555) == 0);
    const auto is_hit = [&](std::vector<std::filesystem::path> packs, const char* state) {
        scratch.write("c.h", fmt::format("{}\n", state));
        settle();
        const FakeProcess process(only(std::move(packs)));
        const auto image = process.compile(source);
        CHECK(as_text(image.image->cubin).find(state) != std::string_view::npos);
        return image.report.tier == "pack";
    };
    const auto one = scratch / "image" / "one";
    const auto two = scratch / "image" / "two";
    CHECK(is_hit({one}, "one"));
    CHECK_FALSE(is_hit({one}, "two"));
    CHECK(is_hit({one, two}, "two"));
    CHECK(is_hit({two, one}, "two"));
    CHECK(is_hit({one, two}, "one"));
    CHECK_FALSE(is_hit({one, two}, "three"));

    const auto merged = scratch / "merged.pack";
    const auto report = unwrap(merge_packs(std::vector{one, two}, merged));
    CHECK(report.entries == 2);
    CHECK(report.manifests == 1);
    CHECK(is_hit({merged}, "one"));
    CHECK(is_hit({merged}, "two"));
    CHECK(unwrap(compare_packs(one, one)).any() == false);
    const auto difference = unwrap(compare_packs(one, merged));
    CHECK(difference.equal == 1);
    CHECK(difference.only_in_first.empty());
    REQUIRE(difference.only_in_second.size() == 1);
    CHECK(difference.only_in_second[0].source.ends_with("k.cu"));
    CHECK(difference.sets_only_in_second == 1);
    REQUIRE(::chmod((scratch / "image").c_str(), 0755) == 0);
}

TEST_CASE("packs: signed ones stay signed when they are merged, with a key for new manifests") {
    const Scratch scratch;
    const SecretKey key = make_key(scratch, "key");
    scratch.write("k.cu", "#include \"c.h\"\n");
    const auto source = Source::file(scratch / "k.cu");
    std::vector<std::filesystem::path> packs;
    for (const char* state : {"one", "two"}) {
        scratch.write("c.h", fmt::format("{}\n", state));
        settle();
        (void)FakeProcess(signing(scratch, state, "key")).compile(source);
        packs.push_back(scratch / fmt::format("{}.pack", state));
        REQUIRE(pack(*tier_of(scratch / state), packs.back()));
    }
    const auto file = scratch / "merged.pack";
    const auto count_refused = [&] {
        const Trust trust(CacheTrust::signed_only, {{key.public_key()}, {}}, {});
        return unwrap(check_trust(file, trust)).refused.size();
    };
    PackOptions options;
    options.trust = Trust(CacheTrust::signed_only, {}, key);
    CHECK(unwrap(merge_packs(packs, file, options)).entries == 2);
    CHECK(count_refused() == 0);
    const auto plain = unwrap(merge_packs(packs, file));
    CHECK(plain.unsigned_merges == 1);
    CHECK(count_refused() == 1);
    options.trust = Trust(CacheTrust::signed_only, {{key.public_key()}, {}}, {});
    CHECK(unwrap(merge_packs(packs, file, options)).not_merged == 1);
    CHECK(count_refused() == 0);
    options.trust = Trust(CacheTrust::signed_only, {}, {});
    CHECK(unwrap(merge_packs(packs, file, options)).untrusted == 4);
}
