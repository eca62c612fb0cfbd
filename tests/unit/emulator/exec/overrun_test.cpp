// Accesses outside of a shared variable, also those that hit another one.
#include "tests/unit/emulator/exec/checked.hpp"

#include <cstdint>

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
    CHECK(names(report,
                "checked.cu:6: k writes 4 bytes past the end of the 64-byte variable first\n"));
    CHECK(names(report,
                "of shared memory, 0 bytes past the end of k::first, in the variable k::second"));
}

TEST_CASE("overrun: reads, atomics, and stores before an array") {
    std::string report = overrun("a[1] = first[n + threadIdx.x];");
    CHECK_MESSAGE(names(report, "reads 4 bytes past the end of the 64-byte variable first\n"),
                  report);
    report = overrun("atomicAdd(&first[n + 1], 2u);");
    CHECK_MESSAGE(names(report, "4 bytes past the end of k::first"), report);
    report = overrun("b[1] = 30; __syncthreads(); first[((volatile unsigned*)b)[1]] = 7;");
    CHECK_MESSAGE(names(report, "bytes past the end of k::first"), report);
    report = overrun("second[n - 17] = 7;");
    CHECK_MESSAGE(names(report, "4 bytes before the 128-byte variable second\n"), report);
}

TEST_CASE("overrun: the name of a variable isn't taken for that of a type") {
    Checked rig(
        "__shared__ unsigned b[32], s[16], c[32];\n"
        "extern \"C\" __global__ void k(unsigned* a, int n) {\n"
        "b[threadIdx.x] = c[threadIdx.x] = 1;\n"
        "s[n + threadIdx.x % 16] = 7; __syncthreads();\n"
        "a[threadIdx.x] = s[0] + b[1] + c[1];\n}\n");
    const std::string report = rig.found({1}, {32}, rig.words(64), 16);
    CHECK_MESSAGE(names(report, "past the end of the 64-byte variable s"), report);
    CHECK_MESSAGE(!names(report, "variable short"), report);
}

TEST_CASE("overrun: pointers that may point into either array aren't accused") {
    CHECK(overrun("unsigned* p = n > 3 ? first : second;\np[threadIdx.x % 16] = 4;") == "");
    CHECK(overrun("unsigned* p = n > 3 ? second : first;\nfor (int i = 0; i < 2 * n; ++i) p[i] += "
                  "i;") == "");
    // As above, but the other array's address was in memory.
    const std::string keep =
        "__shared__ unsigned* kept[2];\nkept[threadIdx.x % 2] = threadIdx.x % 2 "
        "? second : first;\n__syncthreads();\n";
    CHECK(overrun(keep + "unsigned* p = n > 3 ? kept[n % 2 + 1] : first;\np[20] = 4;") == "");
    CHECK(overrun(keep + "unsigned* p = first;\nfor (int i = 0; i < n - 14; ++i) { p[16 * i] = i;\n"
                         "p = kept[n % 2 + 1]; }") == "");
    CHECK(overrun("unsigned* p = second + 31;\nfor (int i = 0; i < 32; ++i) a[i] = *p--;") == "");
}

namespace {

/// The report of a body with two buffers `a` and `b` of 256 words each; n is the distance of the
/// first word of `b` from that of `a`, in words, and `far` the same in 64 bits.
std::string stray(const std::string& body) {
    Checked rig(
        "extern \"C\" __global__ void k(unsigned* a, unsigned* b, int n, long long far) {\n" +
        body + "\n}\n");
    const auto a = rig.words(256);
    const auto b = rig.words(256);
    const auto distance = (static_cast<std::int64_t>(b) - static_cast<std::int64_t>(a)) / 4;
    return rig.found({1}, {32}, a, b, static_cast<int>(distance), distance);
}

}  // namespace

TEST_CASE("overrun: an index that leads from one buffer into another is found") {
    for (const char* const body :
         {"a[n + threadIdx.x] = 3;", "a[threadIdx.x] = 1; atomicAdd(&a[n], 2u);",
          "unsigned* p = a + threadIdx.x;\nfor (int i = 0; i < 4; ++i) p += n / 4;\n*p = 5;",
          "b[1] = *(unsigned*)((char*)a + 4 * (n + 1));"}) {
        const std::string report = stray(body);
        CAPTURE(body);
        INFO(report);
        CHECK(names(report, " past the end of the 1024-byte allocation of parameter 1\n"));
        CHECK(names(report, "which parameter 1 points into"));
        CHECK(names(report, "checked.cu:"));
    }
    const std::string before = stray("b[(int)threadIdx.x - n] = 1;");
    CHECK_MESSAGE(names(before, " before the 1024-byte allocation of parameter 2"), before);
}

TEST_CASE("overrun: computing with distances of buffers isn't a finding") {
    CHECK(stray("a[b - a] = threadIdx.x;") == "");
    CHECK(stray("a[far + threadIdx.x] = 1;") == "");
    CHECK(stray("unsigned long long at = (unsigned long long)a;\nat += (unsigned long long)b - "
                "at;\n*(unsigned*)at = 1;") == "");
    CHECK(stray("unsigned *p = a, *q = b;\nfor (int i = 0; i < n % 5 + 3; ++i) { p[i] = i;\n"
                "unsigned* t = p; p = q; q = t; }") == "");
    CHECK(stray("*(long long*)a = far; __threadfence_block(); __syncwarp();\n"
                "a[*(volatile long long*)a] = 4;") == "");
    CHECK(stray("unsigned* p = n > 3 ? b : a;\np[threadIdx.x] = 1;") == "");
    CHECK(
        stray("unsigned* p = nullptr;\nif (n > 3) p = b;\nif (p != nullptr) p[threadIdx.x] = 1;") ==
        "");
}

TEST_CASE("overrun: a launch with other parameters has other bounds") {
    Checked rig("extern \"C\" __global__ void k(unsigned* a, int n) { a[n] = 1; }");
    const auto a = rig.words(64);
    const auto b = rig.words(64);
    const auto words =
        static_cast<int>((static_cast<std::int64_t>(b) - static_cast<std::int64_t>(a)) / 4);
    CHECK(rig.found({1}, {1}, a, 0) == "");
    CHECK(rig.found({1}, {1}, b, 0) == "");
    CHECK(names(rig.found({1}, {1}, b, -words), "allocation of parameter 1"));
    CHECK(rig.found({1}, {1}, b, 63) == "");
}

TEST_CASE("overrun: an address in another thread's local memory is found") {
    const auto run = [](const std::string& which) {
        Checked rig(
            "extern \"C\" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {\n"
            "__shared__ unsigned* where[64];\nunsigned mine[8];\n"
            "for (int i = 0; i < 8; ++i) mine[i] = a[i] + n;\n"
            "where[threadIdx.x] = mine;\n__syncthreads();\n"
            "a[threadIdx.x] = where[" +
            which + "][(threadIdx.x + n) % 8];\n}\n");
        const auto a = rig.words(64);
        return rig.found({1}, {64}, a, a, a, 1);
    };
    CHECK(run("threadIdx.x") == "");
    CHECK(run("(threadIdx.x + 64 * n) % 64") == "");
    const std::string report = run("threadIdx.x ^ 1");
    INFO(report);
    CHECK(names(report, "k reads 4 bytes of another thread's local memory\n  owner: thread ("));
}

}  // namespace lode::emulator::exec
