// Links from the cache: a hit equals an uncached link, and everything that a link depends on is in
// its key.
#include "base/file.hpp"
#include "jit/cache/link_key.hpp"
#include "tests/unit/jit/cache/scratch.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/jit/cache.hpp>
#include <lode/jit/linker.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using lode::cache::Scratch;

namespace {

CacheOptions link_cache_options(const Scratch& scratch) {
    CacheOptions options;
    options.folder = scratch / "cache";
    return options;
}

LinkInput store_input(int value, const std::string& name = "store.ptx") {
    const std::string text =
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry store(.param .u64 to) {\n"
        "    .reg .b64 %address;\n    .reg .b32 %value;\n    ld.param.u64 %address, [to];\n"
        "    mov.u32 %value, " +
        std::to_string(value) + ";\n    st.global.u32 [%address], %value;\n    ret;\n}\n";
    return unwrap(LinkInput::from_bytes(std::as_bytes(std::span(text)), name));
}

Arch link_arch(const char* name = "sm_80") {
    return unwrap(Arch::parse(name));
}

}  // namespace

TEST_CASE("cached link: a hit equals an uncached link, in memory and in the next process") {
    const Linker linker;
    if (!linker.info()) {
        MESSAGE("skipped: " << linker.info().error().message);
        return;
    }
    CHECK_FALSE(linker.info()->build.empty());
    const Scratch scratch;
    const std::vector inputs{store_input(1)};
    const Image uncached = unwrap(linker.link(inputs, link_arch()));
    const CachedCompiler first({}, link_cache_options(scratch));
    const auto made = unwrap(first.link(linker, inputs, link_arch()));
    CHECK_FALSE(made.report.hit());
    CHECK(made.report.not_kept == "");
    CHECK(made.report.source == "store.ptx");
    CHECK(*made.image == uncached);
    CHECK(unwrap(first.link(linker, inputs, link_arch())).report.tier == "memory");

    const CachedCompiler next({}, link_cache_options(scratch));
    const auto found = unwrap(next.link(linker, inputs, link_arch()));
    CHECK(found.report.tier == "disk");
    CHECK(*found.image == uncached);
    CHECK(next.counters().compilations == 0);

    const auto other = unwrap(next.link(linker, std::vector{store_input(2)}, link_arch()));
    CHECK_FALSE(other.report.hit());
    CHECK(other.image->cubin != uncached.cubin);
}

TEST_CASE("cached link: a damaged entry is linked again") {
    const Linker linker;
    if (!linker.info()) return;
    const Scratch scratch;
    const std::vector inputs{store_input(1)};
    const auto made =
        unwrap(CachedCompiler({}, link_cache_options(scratch)).link(linker, inputs, link_arch()));
    std::filesystem::path entry;
    for (const auto& item :
         std::filesystem::recursive_directory_iterator(scratch / "cache/v6/entries"))
        if (item.is_regular_file()) entry = item.path();
    auto bytes = unwrap(read_bytes(entry));
    bytes[bytes.size() / 2] ^= std::byte{1};
    unwrap(write_atomic(entry, bytes, 0600));
    const CachedCompiler next({}, link_cache_options(scratch));
    const auto again = unwrap(next.link(linker, inputs, link_arch()));
    CHECK_FALSE(again.report.hit());
    CHECK(*again.image == *made.image);
    CHECK(next.counters().repairs == 1);
}

TEST_CASE("cached link: failures aren't kept, and the policy applies") {
    const Linker linker;
    if (!linker.info()) return;
    const Scratch scratch;
    auto options = link_cache_options(scratch);
    const CachedCompiler cached({}, options);
    const std::vector twice{store_input(1, "a.ptx"), store_input(1, "b.ptx")};
    CHECK(cached.link(linker, twice, link_arch()).error().code == Errc::link_failed);
    CHECK(cached.link(linker, {}, link_arch()).error().code == Errc::invalid_argument);
    CHECK(cached.counters().failures == 2);
    const auto opaque = unwrap(
        cached.link(linker, std::vector{store_input(1)}, link_arch(), {.extra_flags = {"-time"}}));
    CHECK_FALSE(opaque.report.not_kept.empty());
    options.policy = JitPolicy::forbid;
    const CachedCompiler strict({}, options);
    const auto refused = strict.link(linker, std::vector{store_input(3)}, link_arch());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::not_found);
    CHECK(refused.error().message.find("store.ptx") != std::string::npos);
}

TEST_CASE("link key: every part of a link is in it") {
    std::set<std::string> keys;
    std::size_t variants = 0;
    const auto add = [&](auto change) {
        LinkerInfo linker;
        linker.version = 13000;
        linker.build = "a";
        std::vector inputs{store_input(1), store_input(2, "other.ptx")};
        Arch arch = link_arch();
        LinkOptions options;
        change(linker, inputs, arch, options);
        keys.insert(cache::link_key(linker, inputs, arch, options).text);
        CHECK(keys.size() == ++variants);
    };
    using Inputs = std::vector<LinkInput>;
    add([](LinkerInfo&, Inputs&, Arch&, LinkOptions&) {});
    add([](LinkerInfo& l, Inputs&, Arch&, LinkOptions&) { l.version = 13010; });
    add([](LinkerInfo& l, Inputs&, Arch&, LinkOptions&) { l.build = "b"; });
    add([](LinkerInfo&, Inputs& i, Arch&, LinkOptions&) { std::swap(i[0], i[1]); });
    add([](LinkerInfo&, Inputs& i, Arch&, LinkOptions&) { i.pop_back(); });
    add([](LinkerInfo&, Inputs& i, Arch&, LinkOptions&) { i[0].bytes.push_back(std::byte{' '}); });
    add([](LinkerInfo&, Inputs& i, Arch&, LinkOptions&) { i[0].name = "renamed.ptx"; });
    add([](LinkerInfo&, Inputs& i, Arch&, LinkOptions&) { i[0].kind = LinkInput::Kind::cubin; });
    add([](LinkerInfo&, Inputs& i, Arch&, LinkOptions&) { i[0].lowered_names = {{"f", "_Zf"}}; });
    add([](LinkerInfo&, Inputs& i, Arch&, LinkOptions&) { i[0].kernels.clear(); });
    add([](LinkerInfo&, Inputs&, Arch& a, LinkOptions&) { a = link_arch("sm_90"); });
    add([](LinkerInfo&, Inputs&, Arch& a, LinkOptions&) { a = link_arch("sm_90a"); });
    add([](LinkerInfo&, Inputs&, Arch& a, LinkOptions&) { a = link_arch("compute_80"); });
    add([](LinkerInfo&, Inputs&, Arch&, LinkOptions& o) { o.max_registers = 32; });
    add([](LinkerInfo&, Inputs&, Arch&, LinkOptions& o) { o.line_info = true; });
    add([](LinkerInfo&, Inputs&, Arch&, LinkOptions& o) { o.debug = true; });
    add([](LinkerInfo&, Inputs&, Arch&, LinkOptions& o) { o.verbose = true; });
    add([](LinkerInfo&, Inputs&, Arch&, LinkOptions& o) { o.lto = true; });
    add([](LinkerInfo&, Inputs&, Arch&, LinkOptions& o) { o.optimization_level = 0; });
    add([](LinkerInfo&, Inputs&, Arch&, LinkOptions& o) { o.split_compile = 2; });
    add([](LinkerInfo&, Inputs&, Arch&, LinkOptions& o) { o.kernels_used = {"store"}; });
    add([](LinkerInfo&, Inputs&, Arch&, LinkOptions& o) { o.variables_used = {"store"}; });
    add([](LinkerInfo&, Inputs&, Arch&, LinkOptions& o) { o.drop_unused_variables = true; });
    add([](LinkerInfo&, Inputs&, Arch&, LinkOptions& o) { o.extra_flags = {"-Xptxas=-O1"}; });
}
