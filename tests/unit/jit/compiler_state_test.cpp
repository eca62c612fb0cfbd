// A compilation is a function of its arguments: neither the thread nor earlier compilations of the
// process reach the code.
#include "jit/nvrtc/compiler_thread.hpp"
#include "jit/request/flags.hpp"
#include "tests/support/result.hpp"

#include <lode/jit/cache.hpp>
#include <lode/jit/compiler.hpp>

#include <cfenv>
#include <clocale>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <pthread.h>

using namespace lode;
using lode::test::require;

namespace {

const Arch sm_90 = *Arch::parse("sm_90");

/// Its constants depend on the rounding mode of the thread that calculates them.
Source constants() {
    return Source::text(
        "extern \"C\" __global__ void k(double* o) { o[0] = sin(0.3) + pow(1.1, 2.2) * exp(0.7); "
        "o[1] = 1.5e-7 / 3.1; o[2] = 0.1f * 1.1f; }\n",
        "constants.cu");
}

/// A structure by value, which a compilation after one with -G copies to the stack.
Source structure() {
    return Source::text(
        "struct S { float* p; int v[32]; };\n"
        "extern \"C\" __global__ void b(S s) { s.p[threadIdx.x] = s.v[threadIdx.x & 31]; }",
        "structure.cu");
}

Source loop() {
    return Source::text(
        "extern \"C\" __global__ void a(float* x, int n) { for (int i = 0; i < n; ++i) x[i] *= 2; "
        "}",
        "loop.cu");
}

/// Compiler finds lode-worker by the variable.
struct Worker {
    Worker() { ::setenv("LODE_WORKER", LODE_WORKER_PROGRAM, 0); }
};

CompileOptions flags(std::string flag) {
    CompileOptions options;
    options.extra_flags = {std::move(flag)};
    return options;
}

}  // namespace

TEST_CASE("compiler thread: the body runs on a large stack, in the C locale, rounding to nearest") {
    std::fesetround(FE_UPWARD);
    int rounding = -1;
    std::size_t stack = 0;
    std::string point;
    REQUIRE(on_compiler_thread([&] {
        rounding = std::fegetround();
        point = std::localeconv()->decimal_point;
        pthread_attr_t attributes;
        ::pthread_getattr_np(::pthread_self(), &attributes);
        ::pthread_attr_getstacksize(&attributes, &stack);
        ::pthread_attr_destroy(&attributes);
    }));
    CHECK(std::fegetround() == FE_UPWARD);
    std::fesetround(FE_TONEAREST);
    CHECK(rounding == FE_TONEAREST);
    CHECK(point == ".");
    CHECK(stack >= (std::size_t{64} << 20));
}

TEST_CASE("compiler thread: an exception of the body reaches the caller") {
    CHECK_THROWS_AS((void)on_compiler_thread([] { throw std::runtime_error("out of the body"); }),
                    std::runtime_error);
}

TEST_CASE("compiler state: the thread's rounding mode doesn't reach the code") {
    const Compiler compiler;
    const auto usual = require(compiler.compile(constants(), sm_90));
    for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        std::fesetround(rounding);
        const auto image = compiler.compile(constants(), sm_90);
        std::fesetround(FE_TONEAREST);
        REQUIRE(image);
        CHECK(image->ptx == usual.ptx);
        CHECK(image->cubin == usual.cubin);
    }
}

TEST_CASE("compiler state: a thread with a small stack compiles what needs a large one") {
    std::string deep = "1";
    for (int i = 0; i < 150; ++i)
        deep = "(" + deep + "+1)";
    struct Work {
        Source source;
        Result<Image> image = {};
    } work{Source::text(
        "#include <cuda/std/tuple>\nextern \"C\" __global__ void k(int* x) { *x = " + deep +
        "; }")};
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, std::size_t{64} << 10);
    pthread_t thread{};
    REQUIRE(::pthread_create(
                &thread, &attributes,
                [](void* argument) -> void* {
                    auto& todo = *static_cast<Work*>(argument);
                    todo.image = Compiler().compile(todo.source, sm_90);
                    return nullptr;
                },
                &work) == 0);
    ::pthread_join(thread, nullptr);
    ::pthread_attr_destroy(&attributes);
    CHECK(work.image.has_value());
}

TEST_CASE("compiler state: compilations with -G and the like don't reach later ones") {
    const Worker worker;
    const Compiler compiler;
    const auto first = require(compiler.compile(structure(), sm_90));
    CompileOptions debug;
    debug.debug = true;
    for (const auto& options :
         {debug, flags("--restrict"), flags("--Ofast-compile=max"), flags("--opt-info=inline")}) {
        const auto other = compiler.compile(loop(), sm_90, options);
        // NVRTC before 12.8 doesn't know all of them.
        if (!other) CHECK(other.error().code == Errc::invalid_argument);
        const auto again = require(compiler.compile(structure(), sm_90));
        CHECK(again.ptx == first.ptx);
        CHECK(again.cubin == first.cubin);
        CHECK(again.log == first.log);
    }
}

TEST_CASE("compiler state: neither in this process nor in workers, which are used again") {
    const Worker worker;
    for (const auto policy : {WorkerPolicy::never, WorkerPolicy::automatic, WorkerPolicy::always}) {
        CAPTURE(static_cast<int>(policy));
        CacheOptions cache;
        cache.mode = CacheMode::off;
        cache.workers.policy = policy;
        cache.workers.max_processes = 1;
        const CachedCompiler compiler({}, cache);
        const CachedCompiler judge({}, cache);
        CompileOptions debug;
        debug.debug = true;
        (void)require(compiler.compile(loop(), sm_90, debug));
        const auto after = require(compiler.compile(structure(), sm_90));
        const auto fresh = require(judge.compile(structure(), sm_90));
        CHECK(after.image->ptx == fresh.image->ptx);
        CHECK(after.image->cubin == fresh.image->cubin);
    }
}

TEST_CASE(
    "compiler state: flags that leave traces are all but those that are known to leave none") {
    CHECK_FALSE(leaves_traces(CompileOptions()));
    CHECK_FALSE(leaves_traces(flags("-w")));
    CHECK_FALSE(leaves_traces(flags("--ptxas-options=-O1")));
    CHECK_FALSE(leaves_traces(flags("--diag-suppress=177")));
    CHECK(leaves_traces(flags("--restrict")));
    CHECK(leaves_traces(flags("-restrict")));
    CHECK(leaves_traces(flags("--a-flag-of-tomorrow=1")));
    LinkOptions link;
    CHECK_FALSE(leaves_traces(link));
    link.optimization_level = 0;
    CHECK(leaves_traces(link));
    link.optimization_level = 3;
    link.extra_flags = {"-Xptxas=-v"};
    CHECK_FALSE(leaves_traces(link));
    link.extra_flags = {"-Xnvvm=-opt=0"};
    CHECK(leaves_traces(link));
}
