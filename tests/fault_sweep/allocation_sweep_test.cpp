// Compilations with limits, while an allocation of the host fails: std::bad_alloc, after which the
// pool has lost nothing. Not through the cache, since functions of std::filesystem end the process.
#include "jit/worker/pool.hpp"
#include "tests/fault_sweep/worker_scenario.hpp"
#include "tests/unit/jit/worker_request.hpp"

#include <cerrno>
#include <memory>
#include <utility>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::test;

namespace {

Compile with_pool() {
    return [pool = std::make_shared<worker::Pool>(scenario_workers()),
            request = request_of(Source::text(""))](
               const std::string& code, CompileLimits limits) mutable -> Result<std::string> {
        request.compilation.source = Source::text(code, "source.cu");
        request.compilation.limits = limits;
        auto answer = pool->compile(request, {});
        if (!answer) return tl::unexpected<Error>(std::move(answer).error());
        return std::move(answer->image).map([](Image&& image) { return std::move(image.ptx); });
    };
}

}  // namespace

TEST_CASE("worker sweep: limits hold if the host has no memory") {
    for (const std::uint64_t first : {80, 120, 160})
        (void)check_scenario({"malloc", ENOMEM, first, 1}, &with_pool);
    (void)check_scenario({"malloc", ENOMEM, 1, always}, &with_pool);
}

TEST_CASE("worker sweep: limits hold whichever allocation fails" * doctest::skip()) {
    sweep("malloc", ENOMEM, &with_pool);
}
