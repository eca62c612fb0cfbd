// Precompiled headers of workers: the results are those without, and never those of old headers.
#include "jit/compile.hpp"
#include "jit/worker/pool.hpp"
#include "tests/unit/jit/pch/place.hpp"

#include <cstdlib>
#include <string>
#include <vector>

using namespace lode;
using namespace lode::test;

TEST_CASE("pch: images, logs and dependencies are those without") {
    NEEDS_PCH();
    const Place place;
    place.write("all.h",
                "#pragma once\n#include <cuda_fp16.h>\n#include <cstdint>\n"
                "namespace { __device__ int hidden[2] = {1, 2};\n"
                "__device__ __noinline__ int helper(int x) { return hidden[x & 1]; } }\n"
                "static __device__ int counter = 3;\n"
                "template <class T> __device__ __noinline__ T twice(T x) { return x + x; }\n"
                "template <class T> __device__ T table[2] = {T(1), T(2)};\n"
                "__device__ inline const char* here() { return __FILE__; }\n"
                "__device__ inline int first(int x) { return twice(x) + table<int>[x & 1]; }\n"
                "template <class T> __global__ void scale(T* x) { *x = twice(*x); }\n");
    const std::string code =
        "// A comment.\n#define SIZE 4\n#include <all.h>\n#include <optional.h>\n"
        "#define LATER 1\n"
        "namespace { __global__ void inner(int* x, const char** y) { *x = __LINE__; *y = here(); } "
        "}\n"
        "__global__ void k(int* x, const char** y) {\n"
        "    int unused;\n"
        "    *x = helper(*x) + first(*x) + counter + SIZE + __LINE__;\n    *y = __FILE__;\n}\n";
    place.write("optional.h", "#if __has_include(<missing.h>)\n#include <missing.h>\n#endif\n");
    put(place.headers() / "source.cu", code);

    std::vector<CompileOptions> variants(6, place.options());
    variants[1].line_info = true;
    variants[2].debug = true;
    variants[3].relocatable = true;
    variants[4].lto = true;
    variants[5].definitions = {{"X", "1"}};
    variants[5].standard = Standard::cxx20;
    const std::vector<std::string> names{"scale<float>"};
    const auto nvrtc = require(NvrtcLibrary::open(NvrtcSearchEnvironment::of_process({})));
    worker::Pool pool(
        {.policy = WorkerPolicy::always, .max_processes = 1, .program = LODE_WORKER_PROGRAM});
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable)
        variables.emplace_back(*variable);
    std::size_t made = 0;
    for (const auto& source :
         {Source::text(code, "memory.cu"), Source::file(place.headers() / "source.cu")}) {
        for (const auto& options : variants) {
            CAPTURE(source.name());
            CompileFiles files;
            const auto here =
                require(compile_with(*nvrtc, {source, sm(80), options, names}, {.files = &files}));
            worker::Request request{NvrtcSearchEnvironment::of_process({}),
                                    fs::current_path().native(),
                                    variables,
                                    {source, sm(80), options, names},
                                    {place.cache().native(), true, std::uint64_t{1} << 30, 1}};
            ++made;
            // The first one makes the precompiled header, the second one uses it.
            for (int round = 0; round < 2; ++round) {
                CAPTURE(round);
                const auto answer = require(pool.compile(request, {}));
                const auto& there = require(Result<Image>(answer.image));
                CHECK(there.log == here.log);
                CHECK(there.ptx == here.ptx);
                CHECK(there == here);
                CHECK(answer.files.compiler.variables() == files.compiler.variables());
                CHECK(answer.files.compiler.unforeseen() == files.compiler.unforeseen());
                const auto& mine = files.compiler.answers();
                const auto& theirs = answer.files.compiler.answers();
                for (const auto& [path, known] : mine) {
                    CAPTURE(path);
                    REQUIRE(theirs.contains(path));
                    CHECK(theirs.at(path).kind == known.kind);
                    CHECK(theirs.at(path).consumed == known.consumed);
                }
                CHECK(theirs.size() == mine.size());
            }
            CHECK(place.files().size() == made);
        }
    }
}

TEST_CASE("pch: an error names the same lines") {
    NEEDS_PCH();
    const Place place;
    const auto compiler = place.compiler(1);
    const auto fails = [&](const CachedCompiler& with) {
        return require_error(
            with.compile(Source::text("#include <value.h>\n\nint x = VALUE +;\n", "bad.cu"), sm(80),
                         place.options()));
    };
    (void)place.compile(compiler, 1);
    place.age();
    const auto error = fails(compiler);
    CHECK(place.is_used());
    CHECK(error.code == Errc::compile_failed);
    CHECK_CONTAINS(error.log, "bad.cu(3): error");
    CHECK(error.log == fails(CachedCompiler()).log);
}

TEST_CASE("pch: a header that changes is read again") {
    NEEDS_PCH();
    const Place place;
    const auto compiler = place.compiler(1);
    CHECK_CONTAINS(place.compile(compiler, 1), "1111");
    place.age();
    CHECK_CONTAINS(place.compile(compiler, 2), "1111");
    CHECK(place.is_used());

    SUBCASE("edited") {
        place.write("value.h", "#include <cuda_fp16.h>\n#define VALUE 2222\n");
        CHECK_CONTAINS(place.compile(compiler, 3), "2222");
        CHECK_CONTAINS(place.compile(place.compiler(1), 4), "2222");
    }
    SUBCASE("hidden by a new file in an earlier folder") {
        const auto before = place.headers() / "before";
        fs::create_directories(before);
        auto options = place.options();
        options.include_folders.insert(options.include_folders.begin(), before);
        const auto ptx = [&](int number) {
            return require(compiler.compile(Source::text(kernel(number)), sm(80), options))
                .image->ptx;
        };
        CHECK_CONTAINS(ptx(3), "1111");
        CHECK_CONTAINS(ptx(4), "1111");
        put(before / "value.h", "#define VALUE 3333\n");
        CHECK_CONTAINS(ptx(5), "3333");
    }
    SUBCASE("removed") {
        fs::remove(place.headers() / "value.h");
        const auto error =
            require_error(compiler.compile(Source::text(kernel(3)), sm(80), place.options()));
        CHECK(error.code == Errc::compile_failed);
    }
    SUBCASE("another value of a variable that NVRTC reads") {
        Arrivals arrivals(place.cache() / "v6/pch");
        ::setenv("NVRTC_APPEND_FLAGS", "-lineinfo", 1);
        CHECK_CONTAINS(place.compile(compiler, 3), "1111");
        ::unsetenv("NVRTC_APPEND_FLAGS");
        CHECK(arrivals.count() == 1);
    }
}

TEST_CASE("pch: headers that depend on the time aren't precompiled") {
    NEEDS_PCH();
    const Place place;
    place.write("value.h",
                "#define VALUE 1\nstatic __device__ const char* when() { return __TIME__; }\n");
    const auto compiler = place.compiler(1);
    for (int number = 0; number < 2; ++number)
        (void)place.compile(compiler, number);
    (void)place.compile(place.compiler(1), 3);
    CHECK(place.files().empty());
}

TEST_CASE("pch: a source that includes itself isn't precompiled, whatever follows its head") {
    NEEDS_PCH();
    const Place place;
    const fs::path path = place.headers() / "k.cu";
    const auto compiler = place.compiler(1);
    for (const char* value : {"4444", "5555"}) {
        place.write("k.cu", std::string("#if __INCLUDE_LEVEL__ < 1\n#include \"k.cu\"\n#endif\n"
                                        "#include <value.h>\n"
                                        "#ifndef BODY\nconstexpr int tail = ") +
                                value +
                                ";\n#define BODY\n"
                                "__global__ void k(int* x) { *x = tail; }\n#endif\n");
        const auto made = require(compiler.compile(Source::file(path), sm(80), place.options()));
        CHECK_CONTAINS(made.image->ptx, value);
        CHECK(place.files().empty());
    }
}
