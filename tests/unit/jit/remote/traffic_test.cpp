// The sums of a machine's traffic with the remote cache.
#include "jit/remote/traffic_file.hpp"
#include "tests/unit/jit/remote/remote_machine.hpp"
#include "tests/unit/jit/remote/servers.hpp"

#include <thread>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::cache;
using namespace lode::test;

namespace {

RemoteTraffic traffic_of(const RemoteMachine& machine) {
    const auto disk = DiskTier::open(machine.scratch / "cache", false, 1 << 30);
    REQUIRE(disk);
    const auto traffic = read_traffic((*disk)->folder());
    REQUIRE(traffic);
    return *traffic;
}

}  // namespace

TEST_CASE("traffic: a process adds its own when it ends, and only if it used the remote cache") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    const RemoteMachine first(nginx.url());
    CHECK(first.tier() == "");
    const RemoteTraffic made = traffic_of(first);
    CHECK(made.processes == 1);
    CHECK(made.hits == 0);
    CHECK(made.misses == 1);
    CHECK(made.faults == 0);
    CHECK(made.writes >= 2);  // The entry and the manifest.
    CHECK(made.dropped == 0);
    // What the server stores, but for the action of the manifest, which it has overwritten.
    std::uint64_t stored = 0;
    for (const auto& item : std::filesystem::recursive_directory_iterator(nginx.data()))
        stored += item.is_regular_file() ? item.file_size() : 0;
    CHECK(made.bytes_written >= stored);

    CHECK(first.tier() == "disk");
    CHECK(traffic_of(first) == made);

    const RemoteMachine second(nginx.url());
    CHECK(second.tier() == "remote");
    const RemoteTraffic hit = traffic_of(second);
    CHECK(hit.processes == 1);
    CHECK(hit.hits == 1);
    CHECK(hit.misses == 0);
    CHECK(hit.writes == 0);
    CHECK(hit.bytes_read > 0);
    CHECK(hit.bytes_written == 0);
}

TEST_CASE("traffic: a server that fails is counted as faults and dropped writes") {
    const RemoteMachine machine(fmt::format("http://127.0.0.1:{}", free_port()));
    CHECK(machine.tier() == "");
    const RemoteTraffic traffic = traffic_of(machine);
    CHECK(traffic.faults > 0);
    CHECK(traffic.dropped > 0);
    CHECK(traffic.hits == 0);
    CHECK(traffic.bytes_read == 0);
}

TEST_CASE(
    "traffic: nothing is lost among processes, a damaged file counts as empty, clear removes") {
    const Scratch scratch;
    const auto disk = DiskTier::open(scratch / "cache", true, 1 << 30);
    REQUIRE(disk);
    const TrustedFolder& folder = (*disk)->folder();
    CHECK(*read_traffic(folder) == RemoteTraffic{});
    CacheCounters counters;
    REQUIRE(add_traffic(folder, counters));
    CHECK(*read_traffic(folder) == RemoteTraffic{});  // It hasn't used the remote cache.

    counters.remote_hits = 3;
    counters.remote_bytes_read = 1000;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            for (int k = 0; k < 10; ++k)
                CHECK(add_traffic(folder, counters));
        });
    }
    for (auto& thread : threads)
        thread.join();
    CHECK(*read_traffic(folder) ==
          RemoteTraffic{.processes = 80, .hits = 240, .bytes_read = 80'000});

    put(scratch / "cache" / traffic_file, "no sums");
    CHECK(*read_traffic(folder) == RemoteTraffic{});
    REQUIRE(add_traffic(folder, counters));
    CHECK(read_traffic(folder)->hits == 3);
    REQUIRE((*disk)->clear());
    CHECK(*read_traffic(folder) == RemoteTraffic{});
}
