// Compilations with limits, while a system call of the host fails. Uses lode's public headers
// alone, so that it can be run against an older build too.
#include "tests/fault_sweep/worker_scenario.hpp"
#include "tests/support/sanitized.hpp"

#include <lode/jit/cache.hpp>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::test;

namespace {

Compile with_cache_off() {
    CacheOptions options;
    options.mode = CacheMode::off;
    options.workers = scenario_workers();
    CachedCompiler compiler({}, options);
    (void)compiler.info();  // A failed search for the compiler isn't repeated.
    return [compiler = std::move(compiler), arch = *Arch::parse("sm_80")](const std::string& code,
                                                                          CompileLimits limits) {
        return compiler.compile({Source::text(code, "source.cu"), arch, {}, {}, limits})
            .map([](const CachedImage& image) { return image.image->ptx; });
    };
}

void check(const SystemFault& fault) {
    (void)check_scenario(fault, &with_cache_off);
}

/// The kinds, with errors that the kernel gives.
struct Faults {
    std::string_view kind;
    std::vector<int> errors;
};
const Faults sweeps[] = {
    {"open", {EMFILE, ENFILE, ENOMEM, EPERM}},
    {"map", {ENOMEM}},
    {"fork", {EAGAIN, ENOMEM, EPERM}},
    {"poll", {ENOMEM, EINTR}},
    {"socketpair", {EMFILE, ENFILE, ENOMEM}},
    {"pipe", {EMFILE}},
    {"dup", {EMFILE}},
    {"fcntl", {EPERM, EMFILE}},
    {"read", {ENOMEM, EINTR, EPERM}},
    {"recv", {ENOMEM, EINTR, EAGAIN}},
    {"send", {ENOMEM, EINTR, EAGAIN}},
    {"kill", {EPERM}},
};

}  // namespace

TEST_CASE("worker sweep: limits hold if the host has no descriptors left or can't read /proc") {
    check({"open", EMFILE, 2, always});
    check({"open", EPERM, 1, always});
    check({"read", EPERM, 1, always});
    check({"socketpair", EMFILE, 2, 1});
}

TEST_CASE("worker sweep: limits hold if the host can't wait or end a process") {
    check({"poll", ENOMEM, 1, always});
    check({"recv", ENOMEM, 20, 1});
    check({"kill", EPERM, 1, always});
}

TEST_CASE("worker sweep: limits hold if the host can't start a process") {
    LODE_SKIP_IF_SANITIZED()
    check({"fork", EAGAIN, 2, 1});
    check({"fork", EAGAIN, 1, always});
    check({"fcntl", EPERM, 2, 1});
    check({"map", ENOMEM, 1, always});
}

// LODE_SWEEP_KIND chooses one kind.
TEST_CASE("worker sweep: limits hold whichever system call fails" * doctest::skip()) {
    const char* const chosen = std::getenv("LODE_SWEEP_KIND");
    for (const auto& [kind, errors] : sweeps) {
        for (const int error : errors) {
            if (chosen == nullptr || kind == chosen) sweep(kind, error, &with_cache_off);
        }
    }
}
