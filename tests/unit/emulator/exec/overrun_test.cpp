// Accesses outside of a shared variable, also those that hit another one.
#include "tests/unit/emulator/exec/checked.hpp"

namespace lode::emulator::exec {

using testing::Checked;

namespace {

/// The report of a body with two arrays, of 16 and 32 words.
std::string overrun(const std::string& body) {
    Checked rig(
        "extern \"C\" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {\n"
        "__shared__ unsigned first[16];\n__shared__ unsigned second[32];\n"
        "first[threadIdx.x % 16] = 1; second[threadIdx.x] = 2;\n__syncthreads();\n" +
        body + "\na[threadIdx.x] = first[threadIdx.x % 16] + second[threadIdx.x];\n}\n");
    const auto a = rig.words(64);
    return rig.found({1}, {32}, a, a, a, 16);
}

bool names(const std::string& report, std::string_view part) {
    return report.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("overrun: a store past a shared array names it and the neighbour") {
    const std::string report = overrun("first[n] = 7;");
    INFO(report);
    CHECK(names(report, "writes 4 bytes of shared memory at "));
    CHECK(names(report, "0 bytes past the end of the 64-byte variable k::first"));
    CHECK(names(report, "checked.cu:6"));
}

TEST_CASE("overrun: reads, atomics, and stores before an array") {
    std::string report = overrun("a[1] = first[n + threadIdx.x];");
    CHECK_MESSAGE(names(report, "reads 4 bytes of shared memory at "), report);
    report = overrun("atomicAdd(&first[n + 1], 2u);");
    CHECK_MESSAGE(names(report, "4 bytes past the end of the 64-byte variable k::first"), report);
    report = overrun("second[n - 17] = 7;");
    CHECK_MESSAGE(names(report, "4 bytes before the 128-byte variable k::second"), report);
}

TEST_CASE("overrun: pointers that may point into either array aren't accused") {
    CHECK(overrun("unsigned* p = n > 3 ? first : second;\np[threadIdx.x % 16] = 4;") == "");
    CHECK(overrun("unsigned* p = n > 3 ? second : first;\nfor (int i = 0; i < 2 * n; ++i) p[i] += "
                  "i;") == "");
    CHECK(overrun("unsigned* p = second + 31;\nfor (int i = 0; i < 32; ++i) a[i] = *p--;") == "");
}

}  // namespace lode::emulator::exec
