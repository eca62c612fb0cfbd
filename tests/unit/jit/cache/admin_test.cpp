// Packing a cache folder and unpacking it into another.
#include "jit/cache/admin.hpp"

#include "tests/unit/jit/cache/fake_compiler.hpp"

#include <lode/base/unwrap.hpp>

using namespace lode;
using namespace lode::cache;

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
