// What a faulty server costs: bounded time, a count, one log line, and never a wrong result.
#include "tests/unit/jit/cache/fake_compiler.hpp"
#include "tests/unit/jit/remote/servers.hpp"

#include <mutex>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lode;
using namespace lode::cache;
using namespace lode::test;
using std::chrono::milliseconds;

namespace {

using Clock = std::chrono::steady_clock;

Source kernel(int number) {
    return Source::text(fmt::format("__global__ void kernel{}() {{}}\n", number), "kernel.cu");
}

/// A process with a remote, and its log.
struct Machine {
    explicit Machine(const std::string& url,
                     const std::function<void(CacheOptions&)>& change = {}) {
        CacheOptions options;
        options.folder = scratch / "cache";
        options.remote.url = url;
        options.log = Log([this](LogLevel, std::string_view text) {
            const std::lock_guard guard(mutex);
            log.emplace_back(text);
        });
        if (change) change(options);
        process.emplace(std::move(options));
    }
    [[nodiscard]] CacheCounters counters() const { return process->cached->counters(); }
    [[nodiscard]] std::size_t lines(std::string_view text) {
        const std::lock_guard guard(mutex);
        return static_cast<std::size_t>(std::ranges::count_if(
            log, [&](const auto& line) { return line.find(text) != std::string::npos; }));
    }
    /// The milliseconds that some compilations take.
    [[nodiscard]] double compile(int first, int last) const {
        const auto start = Clock::now();
        for (int i = first; i < last; ++i)
            CHECK(process->tier(kernel(i)) == "");
        return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }

    Scratch scratch;
    std::mutex mutex;
    std::vector<std::string> log;
    std::optional<FakeProcess> process;
};

/// The milliseconds that 20 compilations take if each waits for the deadline of a first byte.
constexpr double all_wait = 20 * 195;

/// What a second machine does with a server that answers all reads in one way.
void check_fault(const FaultyServer::Answer& answer, std::string_view message,
                 std::string_view scheme = "http") {
    CAPTURE(message);
    const FaultyServer server(answer);
    Machine machine(server.url(std::string(scheme)));
    CHECK(machine.compile(0, 20) < all_wait);
    CHECK(machine.counters().compilations == 20);
    CHECK(machine.counters().remote_faults >= 1);
    CHECK(machine.lines("The remote cache fails") == 1);
    CHECK_MESSAGE(machine.lines(message) == 1, (machine.log.empty() ? "" : machine.log[0]));
    CHECK(server.requests() <= 8);
    // Nothing of this concerns local hits.
    CHECK(machine.process->tier(kernel(0)) == "memory");
}

}  // namespace

TEST_CASE("remote faults: a dead server") {
    Machine machine(fmt::format("http://127.0.0.1:{}", free_port()));
    CHECK(machine.compile(0, 20) < all_wait);
    CHECK(machine.lines("can't be reached") == 1);
    Machine redis(fmt::format("redis://127.0.0.1:{}", free_port()));
    CHECK(redis.compile(0, 20) < all_wait);
    CHECK(redis.lines("can't be reached") == 1);
}

TEST_CASE("remote faults: a server that hangs costs the first byte's deadline once") {
    FaultyServer* self = nullptr;
    FaultyServer server([&](int connection, const std::string&) { self->hang(connection); });
    self = &server;
    Machine machine(server.url());
    const double taken = machine.compile(0, 20);
    CHECK(taken >= 195);
    CHECK(taken < all_wait);
    CHECK(machine.lines("doesn't answer in time") == 1);
    CHECK(machine.counters().remote_faults == 1);
    CHECK(server.requests() == 1);
}

TEST_CASE("remote faults: a Redis that is stopped costs the first byte's deadline once") {
    LODE_SKIP_WITHOUT(RedisServer)
    RedisServer redis;
    Machine machine(redis.url());
    CHECK(machine.compile(0, 1) < 5000);
    redis.process().pause();
    const double taken = machine.compile(1, 20);
    CHECK(taken >= 195);
    CHECK(taken < all_wait);
    CHECK(machine.lines("doesn't answer in time") == 1);
    redis.process().resume();
}

TEST_CASE("remote faults: a slow drip ends at the read's limit") {
    const FaultyServer server([](int connection, const std::string&) {
        FaultyServer::send(connection, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        for (int i = 0; i < 300; ++i) {
            if (::send(connection, "x", 1, MSG_NOSIGNAL) != 1) return;
            std::this_thread::sleep_for(milliseconds(10));
        }
    });
    Machine machine(server.url(),
                    [](CacheOptions& options) { options.remote.read_total = milliseconds(400); });
    const double taken = machine.compile(0, 20);
    CHECK(taken >= 395);
    CHECK(taken < 2 * all_wait);
    CHECK(machine.lines("doesn't end its answer in time") == 1);
    CHECK(server.requests() == 1);
}

TEST_CASE("remote faults: wrong answers are misses, and three in a row open the breaker") {
    using Server = FaultyServer;
    const auto respond = [](const std::string& status, const std::string& body,
                            const std::string& headers = "") {
        return [=](int connection, const std::string&) {
            Server::send_response(connection, status, body, headers);
        };
    };
    check_fault(respond("500 Broken", "no"), "answers with HTTP 500");
    check_fault(respond("401 Unauthorized", "no"), "answers with HTTP 401");
    check_fault(respond("302 Found", "", "Location: http://127.0.0.1:1/\r\n"),
                "redirects (HTTP 302)");
    check_fault(respond("200 OK", "<html>captive portal</html>"), "a valid ActionResult");
    check_fault(respond("200 OK", ""), "it has no file");
    const auto garbage = OutputFile::inlined("record", as_bytes("not a sealed file"));
    check_fault(respond("200 OK", std::string(as_text(format_action_result({&garbage, 1})))),
                "holds a damaged record");
    const auto elsewhere = OutputFile::stored("record", as_bytes("what the digest says"));
    const std::string action(as_text(format_action_result({&elsewhere, 1})));
    check_fault(
        [&](int connection, const std::string& head) {
            const bool is_content = head.find("/cas/") != std::string::npos;
            Server::send_response(connection, "200 OK",
                                  is_content ? "something else xxxxx" : action);
        },
        "don't match their digest");
    check_fault(
        [](int connection, const std::string&) {
            Server::send(connection, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf");
        },
        "can't be reached");
    check_fault([](int, const std::string&) {}, "can't be reached");
    check_fault([](int connection, const std::string&) { Server::send(connection, "SSH-2.0\r\n"); },
                "can't be reached");
    check_fault(respond("200 OK", "damaged", "Content-Encoding: zstd\r\n"), "zstd");
}

TEST_CASE("remote faults: an answer without end isn't read beyond the limit") {
    std::atomic<std::size_t> sent = 0;
    const FaultyServer server([&](int connection, const std::string&) {
        FaultyServer::send(connection, "HTTP/1.1 200 OK\r\n\r\n");
        const std::string block(65'536, 'x');
        while (::send(connection, block.data(), block.size(), MSG_NOSIGNAL) > 0)
            sent += block.size();
    });
    Machine machine(server.url(),
                    [](CacheOptions& options) { options.remote.max_record_bytes = 1 << 20; });
    CHECK(machine.compile(0, 20) < 2 * all_wait);
    CHECK(machine.lines("sends more than") == 1);
    CHECK(server.requests() <= 8);
    CHECK(sent < 80'000'000);  // Each time the limit and the sockets' buffers.
}

TEST_CASE("remote faults: a breaker that is open closes after a trial in the background") {
    LODE_SKIP_WITHOUT(Nginx)
    Nginx nginx;
    Machine machine(nginx.url(),
                    [](CacheOptions& options) { options.remote.retry_after = milliseconds(100); });
    CHECK(machine.compile(0, 1) < 5000);
    nginx.end();
    (void)machine.compile(1, 10);
    CHECK(machine.lines("The remote cache fails") == 1);
    nginx.start();
    const auto end = Clock::now() + std::chrono::seconds(10);
    while (machine.lines("is used again") == 0 && Clock::now() < end)
        std::this_thread::sleep_for(milliseconds(10));
    CHECK(machine.lines("is used again") == 1);
    const auto writes = machine.counters().remote_writes;
    (void)machine.compile(10, 11);
    while (machine.counters().remote_writes == writes && Clock::now() < end)
        std::this_thread::sleep_for(milliseconds(10));
    CHECK(machine.counters().remote_writes > writes);
}

TEST_CASE("remote faults: a breaker that a read opens while nothing is written closes again") {
    LODE_SKIP_WITHOUT(Nginx)
    Nginx nginx;
    Machine machine(nginx.url(), [](CacheOptions& options) {
        options.remote.retry_after = milliseconds(20);
        options.remote.first_byte = milliseconds(100);
    });
    const auto end = Clock::now() + std::chrono::seconds(20);
    const auto wait_for = [&](const auto& is_true) {
        while (!is_true() && Clock::now() < end)
            std::this_thread::sleep_for(milliseconds(5));
        CHECK(is_true());
    };
    (void)machine.compile(0, 1);
    wait_for([&] { return machine.counters().remote_writes > 0; });
    for (std::size_t round = 1; round <= 3; ++round) {
        std::this_thread::sleep_for(milliseconds(20));  // The thread has nothing to do.
        nginx.process().pause();
        (void)machine.compile(static_cast<int>(round), static_cast<int>(round) + 1);
        nginx.process().resume();
        wait_for([&] { return machine.lines("is used again") == round; });
    }
}

TEST_CASE("remote faults: a full queue drops writes and counts them") {
    FaultyServer* self = nullptr;
    FaultyServer server([&](int connection, const std::string& head) {
        if (head.starts_with("GET"))
            FaultyServer::send_response(connection, "404 Not Found", "");
        else
            self->hang(connection);
    });
    self = &server;
    Machine machine(server.url(), [](CacheOptions& options) {
        options.remote.queue_records = 4;
        options.remote.drain = milliseconds(200);
    });
    (void)machine.compile(0, 20);
    CHECK(machine.counters().remote_dropped >= 14);
    CHECK(machine.counters().remote_faults == 0);
    // The end waits for the drain's time, not for the server.
    const auto start = Clock::now();
    machine.process.reset();
    CHECK(Clock::now() - start >= milliseconds(195));
    CHECK(Clock::now() - start < milliseconds(900));
}

TEST_CASE("remote faults: quiesce() forgets them, so that the server is tried at once") {
    LODE_SKIP_WITHOUT(Nginx)
    Nginx nginx;
    Machine machine(nginx.url(), [](CacheOptions& options) {
        options.remote.retry_after = std::chrono::hours(1);
        options.remote.first_byte = std::chrono::seconds(5);
    });
    nginx.end();
    (void)machine.compile(0, 10);
    const auto faults = machine.counters().remote_faults;
    CHECK(faults > 0);
    nginx.start();
    REQUIRE(machine.process->cached->quiesce());
    machine.process->cached->resume();
    (void)machine.compile(10, 11);
    REQUIRE(machine.process->cached->quiesce());
    CHECK(machine.counters().remote_writes > 0);
    CHECK(machine.counters().remote_faults == faults);
    machine.process->cached->resume();
}

TEST_CASE("remote faults: quiesce() doesn't wait for a server that hangs, and keeps what is left") {
    std::atomic<bool> hangs = true;
    FaultyServer* self = nullptr;
    FaultyServer server([&](int connection, const std::string& head) {
        if (head.starts_with("GET"))
            return FaultyServer::send_response(connection, "404 Not Found", "");
        if (hangs) return self->hang(connection);
        const std::string length = "Content-Length: ";
        auto left = std::stoul(head.substr(head.find(length) + length.size()));
        for (char byte = 0; left > 0 && ::recv(connection, &byte, 1, 0) == 1;)
            --left;
        FaultyServer::send_response(connection, "201 Created", "");
    });
    self = &server;
    Machine machine(server.url(), [](CacheOptions& options) {
        options.remote.drain = milliseconds(100);
        options.remote.write_total = milliseconds(600);
        options.remote.first_byte = std::chrono::seconds(5);
    });
    (void)machine.compile(0, 3);
    const auto start = Clock::now();
    REQUIRE(machine.process->cached->quiesce());
    CHECK(Clock::now() - start < milliseconds(2000));
    CHECK(machine.counters().remote_dropped == 1);  // The one under way.
    hangs = false;
    machine.process->cached->resume();
    (void)machine.compile(3, 4);
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (machine.counters().remote_writes < 3 && Clock::now() < end)
        std::this_thread::sleep_for(milliseconds(5));
    CHECK(machine.counters().remote_writes == 3);
    CHECK(machine.counters().remote_dropped == 1);
}

TEST_CASE("remote faults: in a forked child the end sends nothing and doesn't wait") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    auto machine = std::make_unique<Machine>(nginx.url());
    (void)machine->compile(0, 3);
    const pid_t child = ::fork();
    if (child == 0) {
        machine->process.reset();
        ::_exit(0);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    (void)machine->compile(3, 4);
    machine.reset();
    CHECK(!nginx.requests().empty());
}
