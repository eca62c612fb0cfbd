// Packing a cache folder and unpacking it into another.
#include "jit/cache/packs.hpp"
#include "tests/unit/jit/cache/fake_compiler.hpp"

#include <lode/base/unwrap.hpp>

using namespace lode;
using namespace lode::cache;

TEST_CASE("admin: a pack of some entries has these, and the manifests of their requests") {
    const Scratch scratch;
    scratch.write("c.h", "header\n");
    CompileOptions options;
    options.include_folders = {scratch.path()};
    const auto source = Source::text("#include <c.h>\n");
    const auto plain = Source::text("no header\n");
    settle();
    std::vector<Digest> wanted;
    {
        const FakeProcess process(scratch / "cache");
        wanted.push_back(process.compile(source, options, "sm_80").report.key);
        wanted.push_back(process.compile(plain, {}, "sm_80").report.key);
        process.compile(source, options, "sm_90");
        process.compile(plain, {}, "sm_90");
    }
    auto tier = unwrap(DiskTier::open(scratch / "cache", true, CacheOptions::default_max_bytes));
    const auto file = scratch / "sm_80.pack";
    const auto report = unwrap(pack(*tier, file, wanted));
    CHECK(report.entries == 2);
    CHECK(report.manifests == 1);
    CHECK(report.bytes == std::filesystem::file_size(file));

    CacheOptions only_pack;
    only_pack.packs = {file};
    const FakeProcess other(only_pack);
    CHECK(other.tier(source, options, "sm_80") == "pack");
    CHECK(other.tier(plain, {}, "sm_80") == "pack");
    CHECK(other.tier(source, options, "sm_90").empty());
    CHECK(other.tier(plain, {}, "sm_90").empty());

    wanted.push_back(sha256("nothing"));
    const auto refused = pack(*tier, scratch / "b.pack", wanted);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::not_found);
    CHECK_FALSE(std::filesystem::exists(scratch / "b.pack"));
}

TEST_CASE("admin: unpacking keeps the header sets that the folder knows already") {
    const Scratch scratch;
    scratch.write("k.cu", "#include \"c.h\"\n");
    const auto source = Source::file(scratch / "k.cu");
    const Arch arch = unwrap(Arch::parse("sm_90"));
    const auto is_hit = [&](const char* folder) {
        const FakeProcess process(scratch / folder);
        return unwrap(process.cached->compile(source, arch)).report.hit();
    };
    scratch.write("c.h", "one\n");
    CHECK_FALSE(is_hit("a"));
    scratch.write("c.h", "another\n");
    CHECK_FALSE(is_hit("b"));

    const auto file = scratch / "a.pack";
    auto packed = unwrap(DiskTier::open(scratch / "a", true, CacheOptions::default_max_bytes));
    CHECK(unwrap(pack(*packed, file)).manifests == 1);
    auto into = unwrap(DiskTier::open(scratch / "b", true, CacheOptions::default_max_bytes));
    CHECK(unwrap(unpack(*into, file)).manifests == 1);

    CHECK(is_hit("b"));
    scratch.write("c.h", "one\n");
    CHECK(is_hit("b"));
}
