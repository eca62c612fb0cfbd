// Signatures of records that a server keeps: docs/dev/cache-security.md.
#include "tests/unit/jit/cache/keys.hpp"
#include "tests/unit/jit/remote/remote_machine.hpp"
#include "tests/unit/jit/remote/servers.hpp"

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::cache;
using namespace lode::test;

namespace {

constexpr const char* other_header = "#pragma once\nint answer = 43;\n";

/// Keys "a" and "b", and machines that use one server.
struct Fleet {
    explicit Fleet(std::string url) : server(std::move(url)) {
        make_key(keys, "a");
        make_key(keys, "b");
    }
    /// Compiles on a new machine whose header is `content`; the tier of the answer.
    std::string tier(const char* content, const std::string& secret,
                     const std::vector<std::string>& trusted, CacheCounters* counters = nullptr) {
        const RemoteMachine machine(server);
        machine.scratch.write("src/answer.h", content);
        settle();
        const auto process = machine.process([&](CacheOptions& options) {
            if (!secret.empty()) options.sign_with = keys / secret;
            if (!trusted.empty()) options.trust = CacheTrust::signed_only;
            for (const auto& name : trusted)
                options.keys.push_back(keys / (name + ".pub"));
        });
        const std::string found = process.tier(machine.source());
        if (counters != nullptr) *counters = process.cached->counters();
        return found;
    }

    Scratch keys;
    std::string server;
};

}  // namespace

TEST_CASE("threat: a server's unsigned records, and those that others signed, are misses") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    Fleet fleet(nginx.url());
    CHECK(fleet.tier(header, "", {}) == "");
    CHECK(fleet.tier(header, "", {}) == "remote");
    CacheCounters counters;
    CHECK(fleet.tier(header, "", {"a"}, &counters) == "");
    CHECK(counters.untrusted > 0);
    CHECK(counters.remote_hits == 0);
    CHECK(counters.remote_writes == 0);  // Without a secret key it publishes nothing.
    CHECK(fleet.tier(header, "b", {}) == "");
    CHECK(fleet.tier(header, "", {"a"}, &counters) == "");
    CHECK(counters.untrusted > 0);
    CHECK(fleet.tier(header, "", {"b"}, &counters) == "remote");
    CHECK(counters.untrusted == 0);
}

TEST_CASE("trust: a signed hit of the server is kept in the folder with its signature") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    Fleet fleet(nginx.url());
    CHECK(fleet.tier(header, "a", {}) == "");
    const RemoteMachine client(nginx.url());
    const auto trusting_a = [&](CacheOptions& options) {
        options.trust = CacheTrust::signed_only;
        options.keys = {fleet.keys / "a.pub"};
    };
    CHECK(client.process(trusting_a).tier(client.source()) == "remote");
    // The manifest isn't the publisher's any more, so the server is asked for it, but the entry
    // isn't read again.
    const auto before = nginx.requests().size();
    CHECK(client.process(trusting_a).tier(client.source()) != "");
    CHECK(nginx.requests().size() <= before + 1);
}

TEST_CASE("trust: signed manifests of a server are merged, others replaced") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    Fleet fleet(nginx.url());
    // Someone without a key says that he knows both headers.
    CHECK(fleet.tier(header, "", {}) == "");
    CHECK(fleet.tier(other_header, "", {}) == "");
    CHECK(fleet.tier(other_header, "", {}) == "remote");
    // The first publisher vouches only for what it has compiled.
    CHECK(fleet.tier(header, "a", {}) == "");
    CHECK(fleet.tier(header, "", {"a"}) == "remote");
    CHECK(fleet.tier(other_header, "", {"a"}) == "");
    // One that trusts the first keeps its header set.
    CHECK(fleet.tier(other_header, "b", {"a"}) == "");
    CHECK(fleet.tier(other_header, "", {"a", "b"}) == "remote");
    CHECK(fleet.tier(header, "", {"a", "b"}) == "remote");
}
