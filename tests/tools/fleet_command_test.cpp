// The command with a remote cache: real servers, and credentials that no output shows.
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"
#include "tests/unit/jit/remote/servers.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

/// Two machines: folders of their own, one remote cache.
class Fleet {
public:
    explicit Fleet(std::string url) : url_(std::move(url)) {
        put(folder_.path() / "saxpy.cu", saxpy_source);
        put(folder_.path() / "app.json",
            R"({"manifest": 1, "requests": [{"file": "saxpy.cu", "arch": ["sm_80", "sm_90"]}]})");
        // The cache doesn't trust headers that were written a moment ago.
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    [[nodiscard]] std::string path(const std::string& name) const {
        return (folder_.path() / name).string();
    }
    [[nodiscard]] Outcome on(const std::string& machine, const std::vector<std::string>& arguments,
                             Environment more = {}) const {
        more.merge(Environment(no_driver));
        more.merge(Environment{
            {"LODE_CACHE", "on"}, {"LODE_CACHE_DIR", path(machine)}, {"LODE_CACHE_REMOTE", url_}});
        return ::lode::test::lode(arguments, more);
    }
    [[nodiscard]] nlohmann::json remote_stats(const std::string& machine) const {
        return on(machine, {"cache", "stats", "--json"}).json()["remote"];
    }

private:
    lode::ScratchFolder folder_ = make_scratch();
    std::string url_;
};

void check_warming(const std::string& url) {
    const Fleet fleet(url);
    const std::string manifest = fleet.path("app.json");
    const auto empty = fleet.on("one", {"warm", "--from-remote", manifest, "--json"});
    CHECK(empty.exit_code == 1);
    CHECK(empty.json()["missing"] == 2);

    const auto made = fleet.on("one", {"warm", manifest, "--json"});
    REQUIRE_MESSAGE(made.exit_code == 0, made.err);
    const auto fetched = fleet.on("two", {"warm", "--from-remote", manifest, "--json"});
    REQUIRE_MESSAGE(fetched.exit_code == 0, fetched.err);
    CHECK(fetched.json()["remote"] == 2);
    CHECK(fetched.json()["hits"] == 0);
    CHECK(fetched.json()["missing"] == 0);
    const auto again = fleet.on("two", {"warm", "--from-remote", manifest, "--json"});
    CHECK(again.json()["hits"] == 2);
    CHECK(again.json()["remote"] == 0);

    // What was fetched answers without the remote cache.
    const auto hit = fleet.on("two",
                              {"compile", fleet.path("saxpy.cu"), "--out-dir", fleet.path("out"),
                               "--arch", "sm_90", "--json"},
                              {{"LODE_CACHE_REMOTE", ""}, {"LODE_JIT", "forbid"}});
    REQUIRE_MESSAGE(hit.exit_code == 0, hit.err);
    CHECK(hit.json()["images"][0]["code"]["from"] == "disk");

    const auto first = fleet.remote_stats("one");
    CHECK(first["hits"] == 0);
    CHECK(first["misses"] >= 2);
    CHECK(first["writes"] >= 2);
    CHECK(first["dropped"] == 0);
    CHECK(first["faults"] == 0);
    CHECK(first["bytes_written"] > 1000);
    const auto second = fleet.remote_stats("two");
    CHECK(second["processes"] == 1);
    CHECK(second["hits"] == 2);
    CHECK(second["misses"] == 0);
    CHECK(second["writes"] == 0);
    CHECK(second["bytes_read"] > 1000);
    CHECK(fleet.on("two", {"cache", "stats"}).says("Remote cache"));
    CHECK_FALSE(fleet.on("three", {"cache", "stats"}).says("Remote cache"));
}

bool lies_in_folder(const std::filesystem::path& folder, const std::string& secret) {
    if (!std::filesystem::exists(folder)) return false;
    for (const auto& item : std::filesystem::recursive_directory_iterator(folder)) {
        if (item.is_regular_file() &&
            lode::read_text(item.path())->find(secret) != std::string::npos)
            return true;
    }
    return false;
}

/// What `lode doctor` says about the remote cache.
std::string diagnosis(const Fleet& fleet, const Environment& more = {}) {
    std::string lines;
    const auto answer = fleet.on("one", {"doctor", "--json"}, more).json();
    for (const auto& problem : answer["problems"]) {
        if (problem["check"] == "remote cache")
            lines += problem["message"].get<std::string>() + "\n";
    }
    return lines;
}

}  // namespace

TEST_CASE("fleet command: warm --from-remote fetches what another machine's warm-up sent (nginx)") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    check_warming(nginx.url());
}

TEST_CASE("fleet command: warm --from-remote fetches what another machine's warm-up sent (Redis)") {
    LODE_SKIP_WITHOUT(RedisServer)
    const RedisServer redis;
    check_warming(redis.url());
}

TEST_CASE("fleet command: warm --from-remote needs a remote cache, and excludes other modes") {
    const Fleet fleet("");
    const auto none = fleet.on("one", {"warm", "--from-remote", fleet.path("app.json")});
    CHECK(none.exit_code == 2);
    CHECK(none.complains("LODE_CACHE_REMOTE"));
    const auto both = fleet.on("one", {"warm", "--from-remote", "--check", fleet.path("app.json")});
    CHECK(both.exit_code != 0);
    CHECK(both.complains("can't be combined"));
}

TEST_CASE("fleet command: doctor says whether the remote cache answers and takes writes") {
    LODE_SKIP_WITHOUT(Nginx)
    Nginx nginx;
    const Fleet fleet(nginx.url());
    CHECK(diagnosis(fleet) == "");
    CHECK(nginx.requests().back().find(" DELETE") == std::string::npos);

    const Nginx refusing("", "limit_except GET { deny all; }");
    const Fleet readers(refusing.url());
    CHECK(diagnosis(readers).find("can't be written to") != std::string::npos);
    CHECK(diagnosis(readers, {{"LODE_CACHE_REMOTE", refusing.url() + ",read-only"}}) == "");

    nginx.end();
    CHECK(diagnosis(fleet).find("can't be used") != std::string::npos);
    const auto wrong = fleet.on("one", {"doctor"}, {{"LODE_CACHE_REMOTE", "ftp://cache.example"}});
    CHECK(wrong.says("ftp://"));
    CHECK(wrong.says("http://"));
}

TEST_CASE("fleet command: no output shows a credential, wherever it was put") {
    LODE_SKIP_WITHOUT(Nginx)
    const auto scratch = make_scratch();
    const auto users = put(scratch.path() / "users", "ann:{PLAIN}other\n");
    const Nginx nginx("auth_basic cache; auth_basic_user_file " + users.string() + ";");
    const std::string address = nginx.url().substr(std::string("http://").size());
    const std::string secrets[] = {"us3r-S4CRET", "p4ss-S4CRET", "t0ken-S4CRET"};
    const auto& [user, password, token] = secrets;
    const Environment cases[] = {
        // Right places, and a server that refuses them.
        {{"LODE_CACHE_REMOTE_USER", user}, {"LODE_CACHE_REMOTE_PASSWORD", password}},
        {{"LODE_CACHE_REMOTE_TOKEN", token}},
        // Right places, and nothing that listens.
        {{"LODE_CACHE_REMOTE", fmt::format("http://127.0.0.1:{}", free_port())},
         {"LODE_CACHE_REMOTE_TOKEN", token}},
        {{"LODE_CACHE_REMOTE", fmt::format("redis://127.0.0.1:{}", free_port())},
         {"LODE_CACHE_REMOTE_USER", user},
         {"LODE_CACHE_REMOTE_PASSWORD", password}},
        // Combinations that are refused.
        {{"LODE_CACHE_REMOTE_USER", user}, {"LODE_CACHE_REMOTE_TOKEN", token}},
        {{"LODE_CACHE_REMOTE_PASSWORD", password}},
        {{"LODE_CACHE_REMOTE_TOKEN", token + "\nX: y"}},
        {{"LODE_CACHE_REMOTE", "redis://127.0.0.1:1"}, {"LODE_CACHE_REMOTE_TOKEN", token}},
        // Wrong places.
        {{"LODE_CACHE_REMOTE", fmt::format("http://{}:{}@{}", user, password, address)}},
        {{"LODE_CACHE_REMOTE", fmt::format("http://{}@{}", token, address)}},
        {{"LODE_CACHE_REMOTE", fmt::format("ftp://{}:{}@{}", user, password, address)}},
        {{"LODE_CACHE_REMOTE", fmt::format("{}:{}@{}", user, password, address)}},
        {{"LODE_CACHE_REMOTE", fmt::format("http://{}?token={}", address, token)}},
        {{"LODE_CACHE_REMOTE", fmt::format("http://{}#{}", address, token)}},
        {{"LODE_CACHE_REMOTE", fmt::format("http://{},{}", address, token)}},
        {{"LODE_CACHE_REMOTE", fmt::format("http://{}:{}", user, password)}},
        {{"LODE_CACHE_REMOTE", password}},
        {{"LODE_CACHE_REMOTE", fmt::format("redis://:{}@127.0.0.1:6379/0", password)}},
        {{"LODE_CACHE_REMOTE", fmt::format("redis://127.0.0.1:6379?password={}", password)}},
        {{"LODE_CACHE_REMOTE", fmt::format("redis://127.0.0.1:6379/{}", password)}},
    };
    const Fleet fleet(nginx.url());
    const std::vector<std::string> commands[] = {
        {"compile", fleet.path("saxpy.cu"), "--out-dir", fleet.path("out"), "--arch", "sm_90"},
        {"warm", "--from-remote", fleet.path("app.json"), "--json"},
        {"doctor", "--json"},
        {"info"},
        {"info", "--json"},
    };
    int outputs = 0;
    for (const auto& environment : cases) {
        for (const auto& command : commands) {
            std::filesystem::remove_all(fleet.path("one"));
            const auto outcome = fleet.on("one", command, environment);
            CHECK(outcome.exit_code >= 0);
            CHECK(outcome.out.size() + outcome.err.size() > 0);
            ++outputs;
            for (const auto& secret : secrets) {
                CAPTURE(environment.begin()->second);
                CAPTURE(command.front());
                CHECK(outcome.out.find(secret) == std::string::npos);
                CHECK(outcome.err.find(secret) == std::string::npos);
                CHECK_FALSE(lies_in_folder(fleet.path("one"), secret));
            }
        }
    }
    CHECK(outputs == static_cast<int>(std::size(cases) * std::size(commands)));
}
