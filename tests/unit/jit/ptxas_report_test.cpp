#include "jit/ptxas_report.hpp"

#include "tests/unit/jit/support.hpp"

#include <lode/jit/compiler.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using lode::CompileOptions;
using lode::Compiler;
using lode::KernelResources;
using lode::Source;
using lode::split_ptxas_report;
using lode::test::contains;
using lode::test::sm;

TEST_CASE("ptxas report: every figure of a kernel, none of device functions") {
    const auto split = split_ptxas_report(
        "ptxas info    : 400 bytes gmem, 16 bytes cmem[3], 8 bytes cmem[4]\n"
        "ptxas info    : Compiling entry function 'first' for 'sm_75'\n"
        "ptxas info    : Function properties for first\n"
        "ptxas         .     24 bytes stack frame, 20 bytes spill stores, 16 bytes spill loads\n"
        "ptxas info    : Used 12 registers, used 2 barriers, 256 bytes smem, 364 bytes cmem[0], 8 "
        "bytes cmem[2]\n"
        "ptxas info    : Compile time = 6.957 ms\n"
        "ptxas info    : Compiling entry function 'second' for 'sm_75'\n"
        "ptxas info    : Function properties for second\n"
        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 0 barriers, 96 bytes cumulative stack size\n"
        "ptxas info    : Compile time = 1.000 ms\n"
        "ptxas info    : Function properties for helper\n"
        "ptxas         .     48 bytes stack frame, 44 bytes spill stores, 44 bytes spill loads\n");
    CHECK(split.messages == "");
    CHECK(split.resources == std::vector<KernelResources>{
                                 {"first", 12, 256, 372, 24, 20, 16, 2},
                                 {"second", 255, 0, 0, 0, 0, 0, 0},
                             });
}

TEST_CASE("ptxas report: the older form without barriers and without a prefix") {
    const auto split = split_ptxas_report(
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function '_Z1kv' for 'sm_52'\n"
        "ptxas info    : Function properties for _Z1kv\n"
        "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
        "ptxas info    : Used 4 registers, 320 bytes cmem[0]\n");
    CHECK(split.messages == "");
    CHECK(split.resources == std::vector<KernelResources>{{"_Z1kv", 4, 0, 320, 8, 4, 4, 0}});
}

TEST_CASE("ptxas report: the compiler's messages and ptxas's other remarks stay, in order") {
    const auto split = split_ptxas_report(
        "b.cu(1): warning #177-D: unused\n"
        "  int u;\n"
        "      ^\n"
        "\n"
        "ptxas warning : For profile sm_90 adjusting per thread register count of 8 to 24\n"
        "ptxas info    : Overriding maximum register limit 256 for 'k' with  24 of maxrregcount\n"
        "ptxas info    : (C7510) Potential Performance Loss: wgmma is serialised\n"
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        "ptxas info    : Function properties for k\n"
        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 8 registers\n");
    CHECK(split.messages ==
          "b.cu(1): warning #177-D: unused\n  int u;\n      ^\n\n"
          "ptxas warning : For profile sm_90 adjusting per thread register count of 8 to 24\n"
          "ptxas info    : (C7510) Potential Performance Loss: wgmma is serialised\n");
    CHECK(split.resources.size() == 1);
}

TEST_CASE("ptxas report: damaged or empty logs give what there is") {
    for (const char* log :
         {"", "\n", "ptxas info    : Used 8 registers\n", "ptxas info    : Used\n",
          "0 bytes stack frame, ", "ptxas info    : Compiling entry function",
          "ptxas info    : Compiling entry function \n", "ptxas info",
          "ptxas info    :", "ptxas info    : Function properties for \n 9 bytes stack frame, x"}) {
        CAPTURE(log);
        CHECK(split_ptxas_report(log).resources.size() <= 1);
    }
}

TEST_CASE("ptxas report: a kernel without a name and figures out of range are left out") {
    const auto split = split_ptxas_report(
        "ptxas info    : Compiling entry function \n"
        "ptxas info    : Used 12 registers\n"
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        "ptxas info    : Used 3000000000 registers, used 4294967295 barriers, 8 bytes smem\n");
    REQUIRE(split.resources.size() == 1);
    CHECK(split.resources[0].kernel == "k");
    CHECK(split.resources[0].registers == 0);
    CHECK(split.resources[0].barriers == 0);
    CHECK(split.resources[0].shared_bytes == 8);
}

TEST_CASE("ptxas report: shared memory, barriers, spills and constants of real kernels") {
    const Compiler compiler;
    const std::string code =
        "extern \"C\" __global__ void shared(float* p) {\n"
        "    __shared__ float s[64];\n"
        "    s[threadIdx.x] = p[0];\n"
        "    __syncthreads();\n"
        "    p[1] = s[3];\n"
        "}\n"
        "extern \"C\" __global__ void spills(float* p, int n) {\n"
        "    float a[96];\n"
        "#pragma unroll\n"
        "    for (int i = 0; i < 96; ++i) a[i] = p[i] * p[i + n];\n"
        "    __syncthreads();\n"
        "#pragma unroll\n"
        "    for (int i = 0; i < 96; ++i) p[i] = a[95 - i] * a[i];\n"
        "}\n";
    CompileOptions options;
    options.max_registers = 32;
    const auto image = compiler.compile(Source::text(code), sm(75), options);
    REQUIRE_MESSAGE(image, image.error().describe());

    const auto* shared = image->resources_of("shared");
    REQUIRE(shared != nullptr);
    CHECK(shared->shared_bytes == 256);
    CHECK(shared->barriers == 1);
    CHECK(shared->constant_bytes >= 352 + 8);  // Parameters start at offset 352 on sm_75.
    CHECK(shared->spill_store_bytes == 0);

    const auto* spills = image->resources_of("spills");
    REQUIRE(spills != nullptr);
    CHECK(spills->registers <= 32);
    CHECK(spills->spill_store_bytes > 0);
    CHECK(spills->spill_load_bytes > 0);
    CHECK(spills->stack_bytes >= spills->spill_store_bytes / 2);
    CHECK_FALSE(contains(image->log, "Compile time"));
}
