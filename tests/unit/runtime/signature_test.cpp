#include "tests/unit/runtime/support.hpp"

using namespace lode;
using namespace lode::test;

namespace {

template <class Signature>
Error mismatch(const FakeMachine& machine, std::string_view entry, bool with_ptx = true) {
    const auto library = require(machine.device().load(cubin_image({entry}, with_ptx)));
    auto kernel = library.kernel<Signature>(entry.substr(0, entry.find('(')));
    return require_error(std::move(kernel));
}

constexpr std::string_view saxpy_text =
    "The kernel takes (f32, i64 or pointer, i64 or pointer, i32); C++ passes ";

}  // namespace

TEST_CASE("signature: the right one is accepted, by the driver and by PTX alone") {
    for (const int version : {13000, 12030}) {
        FakeMachine machine({.version = version});
        const auto library = require(machine.device().load(cubin_image({saxpy_entry})));
        CHECK(library.kernel<void(float, const float*, float*, int)>("saxpy"));
        CHECK(library.kernel<void(float, unsigned long long, float*, unsigned)>("saxpy"));
    }
}

TEST_CASE("signature: a driver that counts parameters isn't asked for one past the last") {
    for (const int version : {13000, 13020}) {
        FakeMachine machine({.version = version});
        const auto library = require(machine.device().load(cubin_image({saxpy_entry}, false)));
        CHECK(library.kernel<void(float, const float*, float*, int)>("saxpy"));
        CHECK(machine.driver.calls("cuKernelGetParamCount") == (version == 13020 ? 1 : 0));
        CHECK(machine.driver.calls("cuKernelGetParamInfo") == (version == 13020 ? 4 : 5));
    }
}

TEST_CASE("signature: a wrong count names both counts") {
    FakeMachine machine;
    const auto few = mismatch<void(float, const float*, float*)>(machine, saxpy_entry);
    CHECK(few.code == Errc::signature_mismatch);
    CHECK_CONTAINS(few.message, "the kernel has 4 parameters and C++ has 3");
    CHECK_CONTAINS(few.message, std::string(saxpy_text) + "(f32, pointer, pointer).");
    const auto many = mismatch<void(int, int)>(machine, "k(.param .u32 n)");
    CHECK_CONTAINS(many.message, "the kernel has 1 parameter and C++ has 2");
    CHECK_CONTAINS(mismatch<void()>(machine, "k(.param .u32 n)").message, "C++ passes ().");
}

TEST_CASE("signature: a wrong size names the parameter and both types") {
    FakeMachine machine;
    const auto error = mismatch<void(float, const float*, float*, long)>(machine, saxpy_entry);
    CHECK_CONTAINS(error.message, "parameter 4 is i32 in the kernel and i64 in C++");
    const auto second = mismatch<void(double, const float*, float*, int)>(machine, saxpy_entry);
    CHECK_CONTAINS(second.message, "parameter 1 is f32 in the kernel and f64 in C++");
}

TEST_CASE("signature: PTX distinguishes floating point and integers of the same size") {
    FakeMachine machine;
    const auto error = mismatch<void(int, const float*, float*, int)>(machine, saxpy_entry);
    CHECK(error.code == Errc::signature_mismatch);
    CHECK_CONTAINS(error.message, "parameter 1 is f32 in the kernel and i32 in C++");
    const auto reverse = mismatch<void(float, const float*, float*, float)>(machine, saxpy_entry);
    CHECK_CONTAINS(reverse.message, "parameter 4 is i32 in the kernel and f32 in C++");
    const auto pointer = mismatch<void(double)>(machine, "k(.param .u64 .ptr .global .align 4 p)");
    CHECK_CONTAINS(pointer.message, "parameter 1 is pointer in the kernel and f64 in C++");

    // Without PTX only the sizes are known.
    const auto library = require(machine.device().load(cubin_image({saxpy_entry}, false)));
    CHECK(library.kernel<void(int, const float*, float*, float)>("saxpy"));
}

TEST_CASE("signature: a C++ name tells which numbers a pointer points to") {
    FakeMachine machine;
    // void k(float const*, unsigned long*, int)
    constexpr std::string_view entry = "_Z1kPKfPmi(.param .u64 x, .param .u64 y, .param .u32 n)";
    const auto error = mismatch<void(const double*, std::uint64_t*, int)>(machine, entry);
    CHECK(error.code == Errc::signature_mismatch);
    CHECK_CONTAINS(error.message, "parameter 1 points to f32 in the kernel and to f64 in C++.");
    const auto whole = mismatch<void(const int*, std::uint64_t*, int)>(machine, entry);
    CHECK_CONTAINS(whole.message, "parameter 1 points to f32 in the kernel and to i32 in C++.");
    const auto narrow = mismatch<void(float*, std::uint32_t*, int)>(machine, entry);
    CHECK_CONTAINS(narrow.message, "parameter 2 points to i64 in the kernel and to i32 in C++.");

    // Signs, bytes, structs and untyped pointers aren't compared.
    struct Pair {
        float first, second;
    };
    const auto library = require(machine.device().load(cubin_image({entry})));
    const std::string_view name = "_Z1kPKfPmi";
    CHECK(library.kernel<void(float*, long*, int)>(name));
    CHECK(library.kernel<void(void*, unsigned char*, int)>(name));
    CHECK(library.kernel<void(Pair*, unsigned long long, int)>(name));
}

TEST_CASE("signature: aggregates are compared by size and alignment") {
    struct Pair {
        float a;
        float b;
    };
    struct alignas(16) Four {
        float x[4];
    };
    FakeMachine machine;
    const std::string_view pair = "k(.param .u32 n, .param .align 4 .b8 p[8])";
    const auto library = require(machine.device().load(cubin_image({pair})));
    CHECK(library.kernel<void(int, Pair)>("k"));
    CHECK_CONTAINS(mismatch<void(int, Four)>(machine, pair).message,
                   "parameter 2 is 8 bytes in the kernel and 16 bytes in C++");
    const std::string_view four = "k(.param .u32 n, .param .align 4 .b8 p[16])";
    CHECK_CONTAINS(mismatch<void(int, Four)>(machine, four).message,
                   "parameter 2 starts at byte 4 in the kernel and at byte 16 in C++");
}

TEST_CASE("signature: offsets count from the first parameter, wherever the driver puts it") {
    struct alignas(64) Map {
        char bytes[128];
    };
    FakeMachine machine;
    const std::string_view entry = "k(.param .align 64 .b8 map[128], .param .u32 n)";
    const auto library = require(machine.device().load(cubin_image({entry})));
    CHECK(library.kernel<void(Map, int)>("k"));
    CHECK(require(machine.kernel(entry).parameters()) ==
          std::vector<ParameterSlot>{{0, 128}, {128, 4}});
    CHECK_CONTAINS(mismatch<void(Map, double)>(machine, entry).message, "parameter 2 is i32");
}

TEST_CASE("signature: with unknown parameters only a typed kernel is refused") {
    FakeMachine machine({.version = 12030});
    const auto error =
        mismatch<void(float, const float*, float*, int)>(machine, saxpy_entry, false);
    CHECK(error.code == Errc::not_supported);
    CHECK_CONTAINS(
        error.message,
        "The parameters of kernel 'saxpy' can't be determined: the driver supports CUDA 12.3 "
        "and has no cuKernelGetParamInfo (CUDA 12.4), and image 'fake.cu' has no PTX");

    const auto library = require(machine.device().load(cubin_image({"k(.param .u32 n)"}, false)));
    const auto kernel = require(library.kernel("k"));
    CHECK(require_error(kernel.parameters()).code == Errc::not_supported);
    int n = 3;
    void* arguments[] = {&n};
    const auto stream = require(machine.device().create_stream());
    CHECK(kernel.launch(stream, LaunchShape{}, arguments));
}

TEST_CASE("signature: parameters() gives the driver's offsets and sizes") {
    FakeMachine machine;
    const std::string_view entry =
        "k(.param .u32 a, .param .align 16 .b8 b[16], .param .u8 c, .param .f32 d, .param .u64 e, "
        ".param .align 8 .b8 f[8])";
    for (const int version : {13000, 12000}) {
        FakeMachine each({.version = version});
        CHECK(require(each.kernel(entry).parameters()) ==
              std::vector<ParameterSlot>{{0, 4}, {16, 16}, {32, 1}, {36, 4}, {40, 8}, {48, 8}});
    }
}
