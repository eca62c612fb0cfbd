#include "tests/unit/runtime/support.hpp"

using namespace lode;
using namespace lode::test;

TEST_CASE("stream attributes: those with a value are set, and all are read") {
    const FakeMachine machine;
    const auto stream = require(machine.device().create_stream());
    const AccessPolicyWindow window{.address = 256,
                                    .size_bytes = 1024,
                                    .hit_ratio = 0.25F,
                                    .hits = CachePersistence::persisting,
                                    .misses = CachePersistence::normal};
    require(set_stream_attributes(stream, {.access_policy = window,
                                           .sync_policy = SyncPolicy::block,
                                           .memory_sync_domain_map = MemorySyncDomainMap{1, 2}}));
    CHECK(machine.driver.calls("cuStreamSetAttribute") == 3);
    const auto seen = require(stream_attributes(stream));
    CHECK(seen.access_policy == window);
    CHECK(seen.sync_policy == SyncPolicy::block);
    CHECK(seen.memory_sync_domain == MemorySyncDomain::usual);
    CHECK(seen.memory_sync_domain_map == MemorySyncDomainMap{1, 2});

    require(set_stream_attributes(
        stream, {.priority = -4, .memory_sync_domain = MemorySyncDomain::remote}));
    const auto later = require(stream_attributes(stream));
    CHECK(later.priority == -4);
    CHECK(later.memory_sync_domain == MemorySyncDomain::remote);
    CHECK(later.sync_policy == SyncPolicy::block);

    const auto other = require(machine.device().create_stream());
    require(copy_stream_attributes(other, stream));
    CHECK(require(stream_attributes(other)).access_policy == window);
}

TEST_CASE("stream attributes: nothing is set if one value is wrong") {
    FakeMachine machine({.devices = {{.name = "A"}, {.name = "B"}}});
    const auto stream = require(machine.device().create_stream());
    const auto error = require_error(set_stream_attributes(
        stream,
        {.access_policy = AccessPolicyWindow{.hit_ratio = -1}, .sync_policy = SyncPolicy::spin}));
    CHECK(error.code == Errc::invalid_argument);
    CHECK_FALSE(set_stream_attributes(stream, {.memory_sync_domain_map = MemorySyncDomainMap{9}}));
    CHECK(machine.driver.calls("cuStreamSetAttribute") == 0);

    const Stream empty;
    CHECK_CONTAINS(require_error(set_stream_attributes(empty, {})).message, "stream is empty");
    CHECK_CONTAINS(require_error(stream_attributes(empty)).message, "stream is empty");
    CHECK_CONTAINS(require_error(copy_stream_attributes(stream, empty)).message, "stream is empty");
    const auto foreign = require(machine.device(1).create_stream());
    CHECK_CONTAINS(require_error(copy_stream_attributes(stream, foreign)).message,
                   "device 1 and device 0");
    machine.driver.fail_always("cuStreamSetAttribute", CUDA_ERROR_INVALID_VALUE);
    CHECK_CONTAINS(require_error(set_stream_attributes(stream, {.priority = 1})).message,
                   "cuStreamSetAttribute fails");
}
