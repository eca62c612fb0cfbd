#include "jit/request/shims.hpp"

#include "base/file.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/jit/compiler.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>

using lode::CompileOptions;
using lode::Compiler;
using lode::Errc;
using lode::Source;
using lode::test::contains;
using lode::test::sm;

namespace {

/// A use of a header: declarations, and statements for a kernel with a parameter `int* out`.
struct HeaderUse {
    std::string declarations;
    std::string statements;
};

const std::map<std::string, HeaderUse> uses = {
    {"assert.h", {"", "assert(out != nullptr);"}},
    {"cassert", {"", "assert(out != nullptr);"}},
    {"float.h", {"static_assert(FLT_MAX > 3.4e38f && DBL_DIG == 15);", "*out = FLT_MANT_DIG;"}},
    {"cfloat", {"static_assert(FLT_EPSILON == 1.0f / (1 << 23));", "*out = DBL_MAX_EXP;"}},
    {"limits.h",
     {"static_assert(INT_MAX == 2147483647 && INT_MIN < 0 && ULLONG_MAX == ~0ull);"
      "static_assert(LONG_MAX == LLONG_MAX && CHAR_BIT == 8 && UINT_MAX == ~0u);",
      "*out = INT_MAX;"}},
    {"climits", {"static_assert(SHRT_MAX == 32767 && UCHAR_MAX == 255);", "*out = INT_MIN;"}},
    {"math.h",
     {"", "*out = sinf(M_PI) < INFINITY && isnan(NAN) && HUGE_VAL > 1 && HUGE_VALF > 1;"}},
    {"cmath",
     {"",
      "*out = std::sqrt(2.0f) + std::pow(2.0f, 3) + std::fma(1.0, 2.0, 3.0) + std::sqrt(4) + "
      "std::abs(-1.5f) + std::lround(1.5f) + std::isnan(1.0f) + std::fmaxf(1.0f, 2.0f);"}},
    {"stdbool.h", {"static_assert(__bool_true_false_are_defined);", "*out = true;"}},
    {"stddef.h",
     {"struct S { char a; double b; }; static_assert(offsetof(S, b) == 8);"
      "static_assert(alignof(max_align_t) == 16);",
      "ptrdiff_t d = 1; size_t s = 2; nullptr_t n = NULL; *out = d + s + (out == n);"}},
    {"cstddef",
     {"static_assert(std::to_integer<int>(std::byte{3} | std::byte{4}) == 7);"
      "static_assert((std::byte{1} << 3) == std::byte{8} && ~std::byte{0} == std::byte{255});",
      "std::ptrdiff_t d = 1; std::size_t s = 2; std::nullptr_t n = nullptr; *out = d + s + (out == "
      "n);"}},
    {"stdint.h",
     {"static_assert(sizeof(int64_t) == 8 && sizeof(uintptr_t) == 8 && sizeof(uint_fast16_t) == 2);"
      "static_assert(UINT64_MAX == ~0ull && INT8_MIN == -128 && SIZE_MAX == UINT64_MAX);",
      "uint32_t u = UINT32_C(7); int64_t i = INT64_MIN; *out = u + (i < 0);"}},
    {"cstdint",
     {"static_assert(sizeof(std::int16_t) == 2 && sizeof(std::uint64_t) == 8);",
      "std::uint8_t a = UINT8_MAX; std::intmax_t b = 1; *out = a + b;"}},
    {"stdio.h", {"", R"(printf("%d\n", *out);)"}},
    {"cstdio", {"", R"(std::printf("%d\n", *out); printf("x");)"}},
    {"stdlib.h",
     {"",
      "void* p = malloc(4); free(p); *out = abs(*out) + div(7, 2).rem; if (*out > 9) abort();"}},
    {"cstdlib",
     {"", "void* p = std::malloc(4); std::free(p); *out = std::abs(*out) + std::div(7, 2).quot;"}},
    {"string.h",
     {"__device__ char text[8];",
      "memset(out, 0, 4); memcpy(out, out + 1, 4); memmove(out, out + 1, 8);"
      "strcpy(text, \"ab\"); strncpy(text, \"cd\", 8);"
      "*out = strlen(text) + strcmp(text, \"b\") + memcmp(text, \"ab\", 2) + (strchr(text, 'b') - "
      "text) + (memchr(text, 'b', 3) != nullptr);"}},
    {"cstring",
     {"", "std::memset(out, 0, 4); std::memcpy(out, out + 1, 4); *out = std::strlen(\"abc\");"}},
    {"time.h",
     {"__device__ tm* broken_down(tm* t) { return t; }",
      "time_t t = 0; timespec s; *out = time(&t) + difftime(t, 1) + timespec_get(&s, TIME_UTC) + "
      "s.tv_nsec + (clock() > 0);"}},
    {"ctime", {"", "std::time_t t = std::time(nullptr); std::timespec s{t, 1}; *out = s.tv_nsec;"}},
    {"iostream", {"__device__ void print(std::ostream&, const std::istream&);", "*out = 1;"}},
    {"iosfwd", {"__device__ void print(std::ostream&, const std::istream&);", "*out = 1;"}},
    {"ostream", {"__device__ void print(std::ostream&);", "*out = 1;"}},
    {"exception",
     {"", "if (out == nullptr) std::terminate(); *out = *std::exception().what() == 's';"}},
    {"new", {"", "new (out) int(5); *out += *std::bad_alloc().what();"}},
    {"mutex",
     {"__device__ std::mutex guard; __device__ std::once_flag once;",
      "{ std::lock_guard<std::mutex> l(guard); } std::unique_lock<std::mutex> l(guard); l.unlock();"
      "std::call_once(once, [&] { *out = 1; });"}},
    {"sstream", {"__device__ void print(std::stringstream&, std::ostringstream*);", "*out = 1;"}},
    {"stdexcept",
     {"", "const std::invalid_argument e(\"ab\"); const std::exception& b = e; *out = *b.what();"}},
    {"string", {"struct S { __device__ S(const std::string&); std::string* name; };", "*out = 1;"}},
    {"string_view",
     {"static_assert(std::string_view(\"abc\").substr(1) == \"bc\");",
      "std::string_view v(\"a,b\"); *out = v.find(',') + v.size() + (v < \"b\");"}},
    {"vector", {"template <class T> __device__ T sum(const std::vector<T>& v);", "*out = 1;"}},
    {"algorithm", {"", "*out = std::min(*out, 3) + std::max(*out, 4);"}},
    {"array", {"", "std::array<int, 3> a{1, 2, 3}; *out = a[*out % 3] + a.size();"}},
    {"atomic", {"", "std::atomic_ref<int> a(*out); a.fetch_add(1, std::memory_order_relaxed);"}},
    {"barrier", {"__device__ void f(std::barrier<>& b) { b.arrive_and_wait(); }", "*out = 1;"}},
    {"bit", {"", "*out = std::bit_cast<int>(1.0f) + std::popcount(7u);"}},
    {"bitset", {"", "std::bitset<32> b(5); *out = b.count();"}},
    {"chrono", {"", "std::chrono::nanoseconds n(5); *out = n.count();"}},
    {"complex", {"", "std::complex<float> c(1, *out); c *= c; *out = c.real();"}},
    {"concepts", {"static_assert(std::same_as<int, int> && std::integral<int>);", "*out = 1;"}},
    {"expected", {"", "std::expected<int, int> e = *out; *out = e.value_or(3);"}},
    {"functional", {"", "*out = std::plus<int>{}(1, 2);"}},
    {"initializer_list", {"", "std::initializer_list<int> l = {1, 2}; *out = l.size();"}},
    {"iterator", {"", "int a[3] = {1, 2, 3}; *out = *std::next(a, 2);"}},
    {"latch", {"__device__ void f(std::latch& l) { l.count_down(); }", "*out = 1;"}},
    {"limits",
     {"static_assert(std::numeric_limits<int>::max() == 2147483647);",
      "*out = std::numeric_limits<float>::infinity() > 1.0f;"}},
    {"mdspan", {"", "std::mdspan<int, std::extents<int, 2, 2>> m(out); m(1, 1) = 4;"}},
    {"memory", {"", "*std::addressof(*out) = 5;"}},
    {"numbers", {"", "*out = std::numbers::pi_v<float> * 100;"}},
    {"numeric", {"", "int a[3] = {1, 2, 3}; *out = std::accumulate(a, a + 3, 0);"}},
    {"optional", {"", "std::optional<int> o = *out; *out = o.value_or(3);"}},
    {"ranges", {"static_assert(std::ranges::range<int[3]>);", "*out = 1;"}},
    {"ratio", {"static_assert(std::ratio<2, 4>::den == 2);", "*out = 1;"}},
    {"semaphore", {"__device__ void f(std::binary_semaphore& s) { s.acquire(); }", "*out = 1;"}},
    {"source_location", {"", "*out = std::source_location::current().line();"}},
    {"span", {"", "std::span<int> s(out, 4); s[2] = s.size();"}},
    {"tuple", {"", "auto [a, b] = std::make_tuple(1, 2.0f); *out = a + b;"}},
    {"type_traits",
     {"static_assert(std::is_same_v<std::remove_const_t<const int>, int>);", "*out = 1;"}},
    {"utility", {"", "std::pair<int, int> p(1, 2); std::swap(p.first, p.second); *out = p.first;"}},
    {"variant", {"", "std::variant<int, float> v = 2.0f; *out = v.index();"}},
};

std::string program_using(const std::string& header) {
    const auto& use = uses.at(header);
    return "#include <" + header + ">\n" + use.declarations + "\n__global__ void k(int* out) { " +
           use.statements + " }\n";
}

/// Whether the header is quick to compile. Those are compiled to cubins, the headers of libcu++
/// only to PTX: the test is about the front end.
bool is_own(const std::string& header) {
    static const std::set<std::string> own_cxx = {"exception", "iosfwd", "new",     "ostream",
                                                  "iostream",  "mutex",  "sstream", "stdexcept",
                                                  "string",    "vector"};
    return header.ends_with(".h") ||
           (header.starts_with("c") && header != "chrono" && header != "complex" &&
            header != "concepts") ||
           own_cxx.contains(header);
}

CompileOptions cxx20() {
    CompileOptions options;
    options.standard = lode::Standard::cxx20;
    return options;
}

}  // namespace

TEST_CASE("shims: every shim has a use here, and every use a shim") {
    std::size_t used = 0;
    for (const auto& shim : lode::shims()) {
        CAPTURE(shim.name);
        // Those for Thrust need flags: tests/gpu/headers_test.cpp.
        if (std::string(shim.name).find('/') != std::string::npos) continue;
        CHECK(uses.contains(shim.name));
        ++used;
    }
    CHECK(used == uses.size());
}

TEST_CASE("shims: lode's own headers compile without a message on old and new architectures") {
    const Compiler compiler;
    for (const auto& each : uses) {
        const auto& header = each.first;
        if (!is_own(header)) continue;
        CAPTURE(header);
        for (const int arch : {75, 90, 120}) {
            CAPTURE(arch);
            const auto image =
                compiler.compile(Source::text(program_using(header), "use.cu"), sm(arch));
            REQUIRE_MESSAGE(image, image.error().describe());
            CHECK(image->log == "");
        }
    }
}

TEST_CASE("shims: each header of the C++ library compiles by itself without a message") {
    const Compiler compiler;
    for (const auto& each : uses) {
        const auto& header = each.first;
        if (is_own(header)) continue;
        CAPTURE(header);
        const auto image = compiler.compile(Source::text(program_using(header), "use.cu"),
                                            sm(90).as_virtual(), cxx20());
        REQUIRE_MESSAGE(image, image.error().describe());
        CHECK(image->log == "");
    }
}

TEST_CASE("shims: all headers together, in either order, compile on old and new architectures") {
    const Compiler compiler;
    std::string forward;
    std::string backward;
    std::string code;
    int number = 0;
    for (const auto& [header, use] : uses) {
        forward += "#include <" + header + ">\n";
        backward.insert(0, "#include <" + header + ">\n");
        code += "namespace use_" + std::to_string(++number) + " {" + use.declarations +
                "\n__global__ void k(int* out) {" + use.statements + "} }\n";
    }
    for (const int arch : {75, 90, 120}) {
        CAPTURE(arch);
        const auto& includes = arch == 90 ? backward : forward;
        const auto image =
            compiler.compile(Source::text(includes + code, "use.cu"), sm(arch), cxx20());
        REQUIRE_MESSAGE(image, image.error().describe());
        CHECK(image->log == "");
        CHECK(image->kernels.size() == uses.size());
    }
}

TEST_CASE("shims: what can't exist on a device is an error where it is used, with a sentence") {
    struct Case {
        std::string header;
        std::string statement;
        std::string sentence;
    };
    const Case cases[] = {
        {"vector", "std::vector<int> v(3); *out = 1;", "std::vector isn't available in kernels"},
        {"string", "std::string s(\"abc\"); *out = 1;", "std::string isn't available in kernels"},
        {"string", "std::to_string(*out);", "std::to_string isn't available in kernels"},
        {"iostream", "std::cout << *out << std::endl;", "std::ostream isn't available in kernels"},
        {"iostream", "std::cout << std::endl;", "std::ostream isn't available in kernels"},
        {"iostream", "std::cin >> *out;", "std::istream isn't available in kernels"},
        {"sstream", "std::stringstream s;", "std::stringstream isn't available in kernels"},
        {"sstream", "std::ostringstream s;", "std::ostringstream isn't available in kernels"},
        {"sstream", "std::istringstream s(\"1\");", "std::istringstream isn't available"},
        {"mutex", "std::recursive_mutex m;", "kernels have std::mutex only"},
        {"stdexcept", "throw std::out_of_range(\"n\");", "does not support exception handling"},
        {"ctime", "*out = std::localtime(nullptr)->tm_sec;",
         "localtime isn't available in kernels"},
        {"time.h", "*out = clock() / CLOCKS_PER_SEC;", "CLOCKS_PER_SEC isn't a constant"},
    };
    for (const auto& each : cases) {
        CAPTURE(each.statement);
        const auto image = Compiler().compile(
            Source::text("#include <" + each.header + ">\n__global__ void k(int* out) {\n" +
                             each.statement + "\n}\n",
                         "use.cu"),
            sm(90).as_virtual());
        REQUIRE_FALSE(image);
        CHECK(image.error().code == Errc::compile_failed);
        // The first error is the sentence, and the log leads to the line that uses it.
        CHECK_MESSAGE(contains(image.error().message, each.sentence), image.error().message);
        CHECK_MESSAGE(contains(image.error().log, "use.cu"), image.error().log);
    }
}

TEST_CASE("shims: the headers of lode's own compile as C++11") {
    CompileOptions options;
    options.standard = lode::Standard::cxx11;
    std::string includes;
    for (const auto& each : uses)
        if (is_own(each.first)) includes += "#include <" + each.first + ">\n";
    const auto image = Compiler().compile(Source::text(includes + "__global__ void k() {}\n"),
                                          sm(90).as_virtual(), options);
    REQUIRE_MESSAGE(image, image.error().describe());
    CHECK(image->log == "");
}

TEST_CASE("shims: <cstdint> doesn't pull in libcu++") {
    const auto image = Compiler().compile(
        Source::text("#include <cstdint>\n#ifdef _CCCL_VERSION\n#error pulled in\n#endif\n"
                     "#ifdef CCCL_VERSION\n#error pulled in\n#endif\n"
                     "__global__ void k(std::int32_t* p) {}\n"),
        sm(90));
    CHECK_MESSAGE(image, image.error().describe());
}

TEST_CASE("shims: a header of the user wins, in memory, in a folder or beside the source") {
    const Compiler compiler;
    const std::string marker = "#define MINE 1\n";
    const std::string code = "#include <cstdint>\nstatic_assert(MINE == 1);\n";

    CompileOptions in_memory;
    in_memory.headers = {{"cstdint", marker}};
    const auto first = compiler.compile(Source::text(code), sm(90).as_virtual(), in_memory);
    CHECK_MESSAGE(first, first.error().describe());

    const auto scratch = lode::ScratchFolder::create();
    REQUIRE(scratch);
    REQUIRE(lode::write_atomic(scratch->path() / "cstdint", marker));
    CompileOptions in_folder;
    in_folder.include_folders = {scratch->path()};
    const auto second = compiler.compile(Source::text(code), sm(90).as_virtual(), in_folder);
    CHECK_MESSAGE(second, second.error().describe());

    REQUIRE(lode::write_atomic(scratch->path() / "k.cu",
                               "#include \"cstdint\"\nstatic_assert(MINE == 1);\n"));
    const auto third =
        compiler.compile(Source::file(scratch->path() / "k.cu"), sm(90).as_virtual());
    CHECK_MESSAGE(third, third.error().describe());
}

TEST_CASE("shims: without toolkit_headers there are no shims") {
    CompileOptions options;
    options.toolkit_headers = false;
    const auto image =
        Compiler().compile(Source::text("#include <cstdint>\n", "bare.cu"), sm(90), options);
    REQUIRE_FALSE(image);
    CHECK(contains(image.error().message, "bare.cu:1"));
    CHECK(contains(image.error().message, "cstdint"));
}

TEST_CASE("shims: without libcu++ the C++ headers name the cure") {
    CompileOptions options;
    options.toolkit_headers = false;
    for (const auto& shim : lode::shims())
        options.headers.push_back({shim.name, shim.text});
    const auto image = Compiler().compile(Source::text("#include <tuple>\n"), sm(90), options);
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::compile_failed);
    CHECK(contains(image.error().message, "<tuple> needs libcu++"));
    CHECK(contains(image.error().message, "nvidia-cuda-cccl"));
}

TEST_CASE("shims: the toolkit's own headers compile beside them") {
    const Compiler compiler;
    const auto info = compiler.info();
    REQUIRE_MESSAGE(info, info.error().describe());
    int compiled = 0;
    for (const std::string header :
         {"cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cooperative_groups.h", "mma.h",
          "curand_kernel.h", "cub/block/block_reduce.cuh"}) {
        CAPTURE(header);
        // Some of these headers come in separate packages.
        const bool installed =
            std::ranges::any_of(info->include_folders, [&](const std::filesystem::path& folder) {
                return std::filesystem::exists(folder / header);
            });
        if (!installed) continue;
        const auto image =
            compiler.compile(Source::text("#include <" + header +
                                          ">\n#include <cstdint>\n"
                                          "__global__ void k(std::uint8_t* p) { *p = 1; }\n"),
                             sm(80).as_virtual());
        REQUIRE_MESSAGE(image, image.error().describe());
        CHECK(image->log == "");
        ++compiled;
    }
    CHECK(compiled >= 4);
}
