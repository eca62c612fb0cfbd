// CachedCompiler::prefetch against nginx, redis-server and servers that fail.
#include "tests/unit/jit/remote/remote_machine.hpp"
#include "tests/unit/jit/remote/servers.hpp"

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::cache;
using namespace lode::test;

namespace {

/// Kernels with the machine's header; every tenth is a large entry.
std::vector<CompileRequest> many_requests(const RemoteMachine& machine, int count) {
    std::vector<CompileRequest> requests;
    for (int i = 0; i < count; ++i) {
        std::string code = fmt::format("{}// kernel {}\n", text, i);
        std::uint32_t random = static_cast<std::uint32_t>(i) + 1;
        for (int k = 0; i % 10 == 0 && k < 1'000'000; ++k) {
            random = random * 1664525 + 1013904223;
            code += static_cast<char>('a' + (random >> 28));
        }
        machine.scratch.write(fmt::format("src/kernel{}.cu", i), code);
        requests.push_back({Source::file(machine.scratch / fmt::format("src/kernel{}.cu", i)),
                            *Arch::parse("sm_90a")});
    }
    settle();
    return requests;
}

void check_prefetch(const std::string& url) {
    constexpr int count = 150;  // More than two batches.
    const RemoteMachine first(url);
    const RemoteMachine second(url);
    {
        const auto maker = first.process();
        const auto made = many_requests(first, count);
        for (const auto& request : made)
            REQUIRE(maker.cached->compile(request));
    }
    auto requests = many_requests(second, count);
    const auto process = second.process();
    // One that is here already, and one that nobody has compiled.
    REQUIRE(process.cached->compile(requests[5]));
    second.scratch.write("src/new.cu", "__global__ void nobody() {}\n");
    requests.push_back({Source::file(second.scratch / "src/new.cu"), *Arch::parse("sm_90a")});
    // A source that can't be read counts as a request, and as nothing else.
    requests.push_back({Source::file(second.scratch / "src/none.cu"), *Arch::parse("sm_90a")});
    settle();
    const auto report = process.cached->prefetch(requests);
    CHECK(report.requests == count + 2);
    CHECK(report.local == 1);
    CHECK(report.remote == count - 1);
    CHECK(process.fake->compilations == 0);
    CHECK(process.cached->counters().remote_hits == count);
    CHECK(process.cached->counters().remote_misses == 1);
    CHECK(process.cached->counters().remote_faults == 0);
    // All are in the folder now, for processes without the remote cache.
    const auto offline = second.process([](CacheOptions& options) { options.remote = {}; });
    for (int i = 0; i < count; ++i)
        CHECK(offline.cached->compile(requests[static_cast<std::size_t>(i)])->report.tier ==
              "disk");
    CHECK(process.cached->prefetch(requests).local == count);
}

}  // namespace

TEST_CASE("prefetch: many requests, in batches (nginx)") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    check_prefetch(nginx.url());
}

TEST_CASE("prefetch: many requests, in batches (Redis)") {
    LODE_SKIP_WITHOUT(RedisServer)
    const RedisServer redis;
    check_prefetch(redis.url());
}

TEST_CASE("prefetch: changed headers are misses") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    const RemoteMachine first(nginx.url());
    CHECK(first.tier() == "");
    const RemoteMachine second(nginx.url());
    second.scratch.write("src/answer.h", "#pragma once\nint answer = 43;\n");
    settle();
    const auto process = second.process();
    const CompileRequest request{second.source(), *Arch::parse("sm_90a")};
    CHECK(process.cached->prefetch({&request, 1}).remote == 0);
    CHECK(process.tier(second.source()) == "");
}

TEST_CASE("prefetch: without a server, or with one that lies, nothing is fetched") {
    FaultyServer liar([](int connection, const std::string&) {
        FaultyServer::send_response(connection, "200 OK", "not an action");
    });
    for (const std::string& url :
         {std::string(), fmt::format("http://127.0.0.1:{}", free_port()), liar.url()}) {
        const RemoteMachine machine(url);
        const auto process = machine.process();
        const CompileRequest request{machine.source(), *Arch::parse("sm_90a")};
        const auto report = process.cached->prefetch({&request, 1});
        CHECK(report.requests == 1);
        CHECK(report.local == 0);
        CHECK(report.remote == 0);
        CHECK(process.fake->compilations == 0);
        CHECK((process.cached->counters().remote_faults > 0) == !url.empty());
    }
}
