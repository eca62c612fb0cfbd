#include "tests/support/result.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/base/fatbin.hpp>
#include <lode/jit/compiler.hpp>
#include <lode/jit/fatbin_writer.hpp>

#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::test;

namespace {

/// Returns false, with a message that the test is skipped, if nvFatbin isn't installed.
bool has_fatbin_writer() {
    const auto info = FatbinWriter().info();
    if (!info) MESSAGE("skipped: " << info.error().message);
    return info.has_value();
}

Image written_image(const Arch& arch, bool lto = false) {
    return require(Compiler().compile(
        Source::text("extern \"C\" __global__ void k(int* x) { *x = 1; }", "k.cu"), arch,
        {.lto = lto}));
}

}  // namespace

TEST_CASE("fatbin writer: the reader gets back what was written") {
    if (!has_fatbin_writer()) return;
    const FatbinWriter writer;
    const auto info = require(writer.info());
    CHECK(info.version >= 12040);
    CHECK_FALSE(info.path.empty());
    const std::vector images{written_image(sm(80)), written_image(require(Arch::parse("sm_90a"))),
                             written_image(sm(75).as_virtual())};
    for (const bool compress : {false, true}) {
        CAPTURE(compress);
        const auto bytes = require(writer.write(images, {.compress = compress}));
        REQUIRE(is_fatbin(bytes));
        const auto read = require(images_of_fatbin(bytes, "read"));
        REQUIRE(read.size() == 5);  // Two cubins, each with its PTX, and PTX alone.
        CHECK(read[0].cubin == images[0].cubin);
        CHECK(read[1].kernels == images[0].kernels);
        CHECK(read[2].cubin == images[1].cubin);
        CHECK(read[2].arch.to_string() == "sm_90a");
        CHECK(read[3].kernels == images[1].kernels);
        CHECK(read[4].kernels == images[2].kernels);
        CHECK(read[4].arch.to_string() == "compute_75");
    }
}

TEST_CASE("fatbin writer: LTO-IR is a part too") {
    if (!has_fatbin_writer()) return;
    const std::vector images{written_image(sm(80), true)};
    const auto bytes = require(FatbinWriter().write(images));
    const auto entries = require(fatbin_entries(bytes, "lto"));
    REQUIRE(entries.size() == 1);
    CHECK(entries.front().kind == FatbinEntry::Kind::lto_ir);
    CHECK(entries.front().arch.cc() == sm(80).cc());
    CHECK(require(images_of_fatbin(bytes, "lto")).empty());
}

TEST_CASE("fatbin writer: what it can't write is refused with the reason") {
    const FatbinWriter nowhere({.library = "/nonexistent/libnvfatbin.so"});
    const auto missing = require_error(nowhere.info());
    CHECK(missing.code == Errc::not_found);
    CHECK_CONTAINS(missing.message, "/nonexistent/libnvfatbin.so (the caller's choice)");
    CHECK(require_error(nowhere.write({})).code == Errc::invalid_argument);
    const std::vector<Image> empty(1);
    CHECK(require_error(nowhere.write(empty)).code == Errc::not_found);
    if (!has_fatbin_writer()) return;
    const FatbinWriter writer;
    CHECK(require_error(writer.write(empty)).code == Errc::invalid_argument);
    std::vector wrong{written_image(sm(80))};
    wrong.front().arch = sm(90);
    const auto error = require_error(writer.write(wrong));
    CHECK(error.code == Errc::invalid_image);
    CHECK_CONTAINS(error.message, "nvFatbin refuses the machine code of 'k.cu' (sm_90)");
    CHECK_CONTAINS(require_error(writer.write(wrong, {.extra_flags = {"-nonsense"}})).message,
                   "nvFatbin refuses the options -64 -compress=true -nonsense");
}
