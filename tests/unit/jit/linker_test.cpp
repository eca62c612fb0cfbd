#include <lode/jit/compiler.hpp>
#include <lode/jit/linker.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using lode::Arch;
using lode::Errc;
using lode::Image;
using lode::Linker;

namespace {

constexpr const char* store_one = R"(
.version 8.0
.target sm_75
.address_size 64
.visible .entry store_one(.param .u64 to) {
    .reg .b64 %address;
    .reg .b32 %value;
    ld.param.u64 %address, [to];
    mov.u32 %value, 1;
    st.global.u32 [%address], %value;
    ret;
}
)";

/// Returns false, with a message that the test is skipped, if nvJitLink isn't installed; some
/// toolkit installs lack it.
bool is_there(const Linker& linker) {
    const auto info = linker.info();
    if (!info) MESSAGE("skipped: " << info.error().message);
    return info.has_value();
}

}  // namespace

TEST_CASE("linker: PTX becomes machine code for every newer target") {
    const Linker linker;
    if (!is_there(linker)) return;
    CHECK(linker.info()->version >= 12000);
    const auto ptx = Image::from_ptx(store_one, "store_one.ptx");
    REQUIRE(ptx);
    for (const char* target : {"sm_75", "sm_80", "sm_90", "sm_90a"}) {
        CAPTURE(target);
        const auto arch = *Arch::parse(target);
        const auto linked = linker.link(*ptx, arch);
        REQUIRE(linked);
        CHECK(linked->arch == arch);
        CHECK(linked->signature_of("store_one") != nullptr);
        const auto reread = Image::from_cubin(linked->cubin, "linked");
        REQUIRE(reread);
        CHECK(reread->arch.cc() == arch.cc());
    }
}

TEST_CASE("linker: two sources become one cubin, and verbose fills the log") {
    const Linker linker;
    if (!is_there(linker)) return;
    const auto caller = Image::from_ptx(R"(
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 out) _Z5sevenv();
.visible .entry store_seven(.param .u64 to) {
    .reg .b64 %address;
    .reg .b32 %value;
    ld.param.u64 %address, [to];
    {
        .param .b32 back;
        call.uni (back), _Z5sevenv, ();
        ld.param.b32 %value, [back];
    }
    st.global.u32 [%address], %value;
    ret;
}
)",
                                        "caller.ptx");
    const auto callee = Image::from_ptx(R"(
.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b32 out) _Z5sevenv() {
    .reg .b32 %value;
    mov.u32 %value, 7;
    st.param.b32 [out], %value;
    ret;
}
)",
                                        "callee.ptx");
    REQUIRE(caller);
    REQUIRE(callee);
    const Image both[] = {*caller, *callee};
    const auto arch = *Arch::parse("sm_80");
    const auto linked = linker.link(both, arch, {.verbose = true});
    REQUIRE(linked);
    CHECK(linked->log.find("store_seven") != std::string::npos);

    const auto alone = linker.link(*caller, arch);
    REQUIRE_FALSE(alone);
    CHECK(alone.error().code == Errc::link_failed);
    INFO(alone.error().log);
    CHECK(alone.error().log.find("_Z5sevenv' (seven())") != std::string::npos);
    CHECK(alone.error().message.ends_with("No input defines '_Z5sevenv' (seven())."));
    REQUIRE(linked->resources_of("store_seven") != nullptr);
    CHECK(linked->resources_of("store_seven")->registers > 0);
}

TEST_CASE("linker: a symbol that two inputs define is refused, in PTX and in machine code") {
    const Linker linker;
    if (!is_there(linker)) return;
    const auto ptx = Image::from_ptx(store_one, "one.ptx");
    REQUIRE(ptx);
    auto other = *ptx;
    other.name = "two.ptx";
    const auto arch = *Arch::parse("sm_80");
    auto twice = linker.link(std::vector{*ptx, other}, arch);
    REQUIRE_FALSE(twice);
    CHECK(twice.error().code == Errc::link_failed);
    CHECK(twice.error().message == "Both 'one.ptx' and 'two.ptx' define 'store_one'.");

    auto code = linker.link(*ptx, arch);
    REQUIRE(code);
    code->ptx.clear();
    code->name = "one.cubin";
    twice = linker.link(std::vector{*ptx, *code}, arch);
    REQUIRE_FALSE(twice);
    CHECK(twice.error().message == "Both 'one.ptx' and 'one.cubin' define 'store_one'.");
}

TEST_CASE("linker: an input that the target can't run is named with both targets") {
    const Linker linker;
    if (!is_there(linker)) return;
    const auto ptx = Image::from_ptx(store_one, "one.ptx");
    REQUIRE(ptx);
    auto code = linker.link(*ptx, *Arch::parse("sm_80"));
    REQUIRE(code);
    code->ptx.clear();
    code->name = "one.cubin";
    const auto wrong = linker.link(*code, *Arch::parse("sm_90"));
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == Errc::unsupported_arch);
    CHECK(wrong.error().message ==
          "'one.cubin' is machine code for sm_80, which doesn't run on sm_90, the target of the "
          "link.");
    CHECK(linker.link(*code, *Arch::parse("sm_86")));
}

TEST_CASE("link input: the format is recognised, and anything else is refused") {
    using lode::LinkInput;
    const auto kind_of = [](std::string_view text) {
        const auto input = LinkInput::from_bytes(std::as_bytes(std::span(text)), "x");
        return input ? std::string(to_string(input->kind)) : input.error().message;
    };
    CHECK(kind_of(store_one) == "PTX");
    CHECK(kind_of("!<arch>\nrest") == "an archive");
    CHECK(kind_of("\x50\xed\x55\xba rest") == "a fat binary");
    CHECK(kind_of("\xed\x43\x4e\x7f rest") == "LTO-IR");
    CHECK(kind_of("\x7f"
                  "ELF")
              .find("isn't a cubin") != std::string::npos);
    CHECK(kind_of("int main() {}").find("is neither PTX nor a cubin") != std::string::npos);
    CHECK(kind_of("").find("(0 bytes)") != std::string::npos);
    const auto missing = LinkInput::from_file("/nonexistent/x.a");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == Errc::not_found);
    const auto empty = LinkInput::from_image(Image{});
    REQUIRE_FALSE(empty);
    CHECK(empty.error().code == Errc::invalid_argument);
}

TEST_CASE("linker: options outside their range are refused") {
    const Linker nowhere({.library = "/nonexistent/libnvJitLink.so.12"});
    const auto ptx = Image::from_ptx(store_one, "store_one.ptx");
    const auto arch = *Arch::parse("sm_90");
    for (const lode::LinkOptions& options :
         {lode::LinkOptions{.max_registers = 256}, lode::LinkOptions{.optimization_level = 2},
          lode::LinkOptions{.split_compile = -1}}) {
        const auto refused = nowhere.link(*ptx, arch, options);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == Errc::invalid_argument);
    }
}

TEST_CASE("linker: an error carries the linker's own text") {
    const Linker linker;
    if (!is_there(linker)) return;
    const auto broken =
        Image::from_ptx(".version 8.0\n.target sm_75\n.address_size 64\nnonsense\n", "broken.ptx");
    REQUIRE(broken);
    const auto linked = linker.link(*broken, *Arch::parse("sm_75"));
    REQUIRE_FALSE(linked);
    CHECK(linked.error().code == Errc::link_failed);
    CHECK(linked.error().message.find("broken.ptx") != std::string::npos);
    CHECK(linked.error().native.origin == lode::Native::Origin::nvjitlink);
    CHECK_FALSE(linked.error().log.empty());
}

TEST_CASE("linker: PTX above the target and unknown targets are refused") {
    const Linker linker;
    if (!is_there(linker)) return;
    auto newer = Image::from_ptx(store_one, "newer.ptx");
    REQUIRE(newer);
    newer->ptx.replace(newer->ptx.find("sm_75"), 5, "sm_90");
    CHECK_FALSE(linker.link(*newer, *Arch::parse("sm_80")));
    const auto unknown = linker.link(*newer, *Arch::parse("sm_999"));
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().message.find("-arch=sm_999") != std::string::npos);
}

TEST_CASE("linker: linked LTO-IR can be linked again, with nvJitLink of CUDA 13.3") {
    const Linker linker;
    if (!is_there(linker)) return;
    const lode::Compiler compiler;
    const auto arch = *Arch::parse("sm_90");
    const lode::CompileOptions options{.relocatable = true, .lto = true};
    std::vector<Image> parts;
    for (const char* code : {"__device__ int twice(int x) { return 2 * x; }",
                             "__device__ int twice(int); extern \"C\" __global__ void k(int* x) { "
                             "*x = twice(*x); }"}) {
        const auto part = compiler.compile(lode::Source::text(code), arch, options);
        REQUIRE(part);
        parts.push_back(*part);
    }
    const auto linked = linker.link(parts, arch, {.keep_lto_ir = true});
    constexpr int first_release = 13030;
    if (linker.info()->version < first_release) {
        REQUIRE_FALSE(linked);
        CHECK(linked.error().code == Errc::not_supported);
        CHECK(linked.error().message.find("from CUDA 13.3 on") != std::string::npos);
    } else {
        REQUIRE(linked);
        CHECK_FALSE(linked->lto_ir.empty());
        const auto usual = linker.link(parts, arch);
        REQUIRE(usual);
        CHECK(linked->cubin == usual->cubin);
        // The LTO-IR of both parts is one input.
        const auto again = linker.link(*linked, arch);
        REQUIRE(again);
        CHECK(again->cubin.size() == usual->cubin.size());
        CHECK(again->kernels == usual->kernels);
    }

    const auto ptx = Image::from_ptx(store_one, "store_one.ptx");
    const auto none = linker.link(*ptx, arch, {.keep_lto_ir = true});
    REQUIRE_FALSE(none);
    CHECK(none.error().code == Errc::invalid_argument);
}

TEST_CASE("linker: arguments are checked before the library is searched for") {
    const Linker nowhere({.library = "/nonexistent/libnvJitLink.so.12"});
    const auto ptx = Image::from_ptx(store_one, "store_one.ptx");
    const auto to_ptx = nowhere.link(*ptx, *Arch::parse("compute_90"));
    REQUIRE_FALSE(to_ptx);
    CHECK(to_ptx.error().code == Errc::invalid_argument);
    CHECK_FALSE(nowhere.link(std::span<const Image>(), *Arch::parse("sm_90")));
}

TEST_CASE("linker: a missing library lists the places tried") {
    const auto info = Linker({.library = "/nonexistent/libnvJitLink.so.12"}).info();
    REQUIRE_FALSE(info);
    CHECK(info.error().code == Errc::not_found);
    CHECK(info.error().message.find("/nonexistent/libnvJitLink.so.12") != std::string::npos);
}
