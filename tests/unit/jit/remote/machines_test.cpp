// Several machines that share kernels: what is hit, what it costs, and what is compiled.
#include "tests/unit/jit/remote/remote_machine.hpp"
#include "tests/unit/jit/remote/servers.hpp"

#include <lode/jit/linker.hpp>

#include <csignal>
#include <cstdlib>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lode;
using namespace lode::cache;
using namespace lode::test;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

namespace {

/// A comment that makes an entry of more than 256 KiB, in letters that don't compress well.
std::string large_comment() {
    constexpr int letters = 1'000'000;
    std::string comment = "// ";
    std::uint32_t random = 1;
    for (int i = 0; i < letters; ++i) {
        random = random * 1664525 + 1013904223;
        comment += static_cast<char>('a' + (random >> 28));
    }
    return comment + "\n";
}

std::size_t gets(const std::vector<std::string>& requests) {
    return static_cast<std::size_t>(
        std::ranges::count_if(requests, [](const auto& line) { return line.starts_with("GET"); }));
}

void check_sharing(const std::string& url) {
    const RemoteMachine first(url);
    const RemoteMachine second(url);
    CHECK(first.tier() == "");
    {
        const auto process = second.process();
        const auto hit = process.compile(second.source());
        CHECK(hit.report.tier == "remote");
        CHECK(hit.report.to_string() == "hit (remote)");
        CHECK(process.fake->compilations == 0);
        CHECK(process.cached->counters().remote_hits == 1);
        CHECK(process.cached->counters().hits() == 1);
        CHECK(process.tier(second.source()) == "memory");
        CHECK(hit.image->cubin == first.process().compile(first.source()).image->cubin);
    }
    // At the end of a process, what came from the remote lies in the folder: a hit without it.
    CHECK(
        second.process([](CacheOptions& options) { options.remote = {}; }).tier(second.source()) ==
        "disk");
}

}  // namespace

TEST_CASE("machines: what one compiles is a hit on the others (nginx)") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    check_sharing(nginx.url());
}

TEST_CASE("machines: what one compiles is a hit on the others (Redis)") {
    LODE_SKIP_WITHOUT(RedisServer)
    const RedisServer redis;
    check_sharing(redis.url());
    const RemoteMachine third(redis.unix_url());
    CHECK(third.tier() == "remote");
}

TEST_CASE("machines: a server with bazel-remote's validation accepts the actions and their blobs") {
    const auto scratch = make_scratch();
    const int port = free_port();
    const auto log_file = scratch.path() / "log";
    // bazel-remote itself, where its program is named.
    const char* real = std::getenv("LODE_TEST_BAZEL_REMOTE");
    const std::string address = fmt::format("127.0.0.1:{}", port);
    const std::string program = LODE_SOURCE_DIR "/tests/unit/jit/remote/validating_server.py";
    const ServerProcess server(
        real != nullptr
            ? std::vector<std::string>{real, "--dir", scratch.path() / "data", "--max_size", "1",
                                       "--http_address", address, "--grpc_address", "none"}
            : std::vector<std::string>{"/usr/bin/env", "python3", program, std::to_string(port)},
        log_file);
    wait_for_port(port, log_file);
    check_sharing("http://" + address);
    // An entry beyond the limit for inlining lies in the CAS, which the server compresses.
    const RemoteMachine first("http://" + address + "/prefix");
    const RemoteMachine second("http://" + address + "/prefix");
    const std::string large = large_comment();
    for (const auto* machine : {&first, &second})
        machine->scratch.write("src/kernel.cu", text + large);
    settle();
    CHECK(first.tier() == "");
    const auto process = second.process();
    const std::string tier = process.tier(second.source());
    std::this_thread::sleep_for(milliseconds(50));  // The server logs after its answer.
    std::stringstream log;
    log << std::ifstream(log_file).rdbuf();
    CHECK_MESSAGE(tier == "remote", log.str());
    CHECK(process.cached->counters().remote_faults == 0);
    // The server compresses with the program zstd.
    if (real == nullptr && !program_path("zstd").empty())
        CHECK(log.str().find("GET cas 200 zstd") != std::string::npos);
    int writes = 0;
    for (std::string line; std::getline(log, line);) {
        if (line.find("PUT") == std::string::npos) continue;
        CHECK_MESSAGE(line.find(" 200") != std::string::npos, line);
        ++writes;
    }
    CHECK(writes >= 4);
}

TEST_CASE(
    "machines: a hit of a small kernel is one request, of a large one two, a local one none") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    const RemoteMachine first(nginx.url());
    CHECK(first.tier() == "");
    const RemoteMachine second(nginx.url());
    auto before = nginx.requests().size();
    CHECK(second.tier() == "remote");
    auto requests = nginx.requests();
    CHECK(requests.size() - before == 1);
    CHECK(requests.back().starts_with("GET /cache/ac/"));

    // Local hits don't ask, whether they come from memory or from the folder.
    before = requests.size();
    const auto process = second.process();
    CHECK(process.tier(second.source()) == "disk");
    CHECK(process.tier(second.source()) == "memory");
    CHECK(nginx.requests().size() == before);

    const std::string large = text + large_comment();
    for (const auto* machine : {&first, &second})
        machine->scratch.write("src/kernel.cu", large);
    settle();
    CHECK(first.tier() == "");
    before = nginx.requests().size();
    CHECK(second.tier() == "remote");
    requests = nginx.requests();
    CHECK(requests.size() - before == 2);
    CHECK(requests.back().starts_with("GET /cache/cas/"));
}

TEST_CASE("machines: a large entry of an older header set is two requests") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    const std::string large = text + large_comment();
    const auto machine_with = [&](const std::string& answer) {
        auto machine = std::make_unique<RemoteMachine>(nginx.url());
        machine->scratch.write("src/kernel.cu", large);
        machine->scratch.write("src/answer.h", "#pragma once\nint answer = " + answer + ";\n");
        settle();
        return machine;
    };
    for (const char* answer : {"1", "2", "3"})
        CHECK(machine_with(answer)->tier() == "");
    for (const char* answer : {"1", "2", "3"}) {
        const auto machine = machine_with(answer);
        const auto before = nginx.requests().size();
        CHECK(machine->tier() == "remote");
        CHECK(nginx.requests().size() - before == 2);
    }
    // Without its content there is no hit, and what is compiled takes its place.
    fs::remove_all(nginx.data() / "cas");
    CHECK(machine_with("1")->tier() == "");
    CHECK(machine_with("1")->tier() == "remote");
    // An action names eight files at most: with more sets the oldest costs a request more.
    for (int answer = 4; answer < 12; ++answer)
        CHECK(machine_with(std::to_string(answer))->tier() == "");
    const auto before = nginx.requests().size();
    CHECK(machine_with("2")->tier() == "");
    CHECK(machine_with("1")->tier() == "remote");
    CHECK(nginx.requests().size() - before > 2);
}

TEST_CASE("machines: a hit depends on the headers' contents, never on their stamps") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    const RemoteMachine first(nginx.url());
    CHECK(first.tier() == "");
    const RemoteMachine second(nginx.url());
    // The same size and times as on the first machine, but another content.
    const auto time = fs::last_write_time(first.scratch / "src/answer.h");
    second.scratch.write("src/answer.h", "#pragma once\nint answer = 43;\n");
    fs::last_write_time(second.scratch / "src/answer.h", time);
    settle();
    const auto process = second.process();
    const auto compiled = process.compile(second.source());
    CHECK(compiled.report.tier == "");
    CHECK(compiled.image->ptx.find("43") != std::string::npos);
    // The same content with other times is a hit.
    second.scratch.write("src/answer.h", header);
    settle();
    const auto back = second.process().compile(second.source());
    CHECK(back.report.tier == "remote");
    CHECK(back.image->ptx.find("42") != std::string::npos);
}

TEST_CASE("machines: manifests are merged, so that neither machine's headers get lost") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    const RemoteMachine first(nginx.url());
    const RemoteMachine second(nginx.url());
    second.scratch.write("src/answer.h", "#pragma once\nint answer = 43;\n");
    settle();
    CHECK(first.tier() == "");
    CHECK(second.tier() == "");
    const RemoteMachine third(nginx.url());
    CHECK(third.tier() == "remote");
    third.scratch.write("src/answer.h", "#pragma once\nint answer = 43;\n");
    settle();
    CHECK(third.tier() == "remote");
}

TEST_CASE("machines: a manifest that names another state's entry isn't believed") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    const RemoteMachine first(nginx.url());
    CHECK(first.tier() == "");
    // A manifest whose set is that of `second`, but whose digest is that of `first`.
    const RemoteMachine second(nginx.url());
    second.scratch.write("src/answer.h", "#pragma once\nint answer = 43;\n");
    settle();
    RemoteCacheOptions options;
    options.url = nginx.url();
    options.first_byte = milliseconds(2000);
    std::optional<Manifest> own;
    {
        const FakeProcess process(second.scratch / "other");
        CHECK(process.tier(second.source()) == "");
        const auto disk = DiskTier::open(second.scratch / "other", false, 1 << 30);
        REQUIRE(disk);
        REQUIRE((*disk)->for_each(RecordKind::manifest, [&](const RecordKey& key, const auto&) {
            const auto record = (*disk)->peek(key);
            REQUIRE((record && *record));
            own = *parse_manifest((*record)->bytes);
            const auto stored = open_remote_store(options);
            REQUIRE(stored);
            const BlobName name = action_of(key);
            const auto answer = std::move((*stored)->get({&name, 1}).front());
            REQUIRE((answer && *answer));
            const auto files = parse_action_result(**answer);
            REQUIRE(files);
            const auto theirs = parse_manifest(files->front().contents);
            REQUIRE(theirs);
            REQUIRE(theirs->key_text == own->key_text);
            own->sets.front().list = theirs->sets.front().list;
            const auto lie = OutputFile::inlined("record", format_manifest(*own));
            REQUIRE((*stored)->put(name, format_action_result({&lie, 1})));
        }));
    }
    REQUIRE(own);
    const auto compiled = second.process().compile(second.source());
    CHECK(compiled.report.tier == "");
    CHECK(compiled.image->ptx.find("43") != std::string::npos);
}

TEST_CASE("machines: with Redis every kernel is compiled once, by whom the lease says") {
    LODE_SKIP_WITHOUT(RedisServer)
    const RedisServer redis;
    constexpr int machines = 8;
    std::vector<std::unique_ptr<RemoteMachine>> folders;
    std::vector<FakeProcess> processes;
    for (int i = 0; i < machines; ++i) {
        folders.push_back(std::make_unique<RemoteMachine>(redis.url()));
        processes.push_back(folders.back()->process());
        processes.back().fake->takes = milliseconds(300);
    }
    std::vector<std::thread> threads;
    std::vector<std::string> code(machines);
    for (int i = 0; i < machines; ++i) {
        threads.emplace_back([&, i] {
            const auto result =
                processes[i].cached->compile(folders[i]->source(), *Arch::parse("sm_90a"));
            if (result) code[i] = result->image->ptx;
        });
    }
    for (auto& thread : threads)
        thread.join();
    int compilations = 0;
    for (int i = 0; i < machines; ++i) {
        compilations += processes[i].fake->compilations;
        CHECK(!code[i].empty());
        CHECK(code[i] == code[0]);
    }
    CHECK(compilations == 1);
}

TEST_CASE("machines: with Redis equal links are made once") {
    LODE_SKIP_WITHOUT(RedisServer)
    const Linker linker;
    if (!linker.info()) {
        MESSAGE("skipped: " << linker.info().error().message);
        return;
    }
    const RedisServer redis;
    constexpr int machines = 8;
    const std::string code =
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry linked() { ret; }\n";
    const auto input = LinkInput::from_bytes(std::as_bytes(std::span(code)), "linked.ptx");
    REQUIRE(input);
    std::vector<std::unique_ptr<Scratch>> folders;
    std::vector<CachedCompiler> compilers;
    for (int i = 0; i < machines; ++i) {
        folders.push_back(std::make_unique<Scratch>());
        CacheOptions options;
        options.folder = *folders.back() / "cache";
        options.remote.url = redis.url();
        options.remote.first_byte = milliseconds(2000);
        compilers.emplace_back(CompilerSearch{}, options);
    }
    std::vector<std::thread> threads;
    std::vector<std::shared_ptr<const Image>> images(machines);
    for (int i = 0; i < machines; ++i) {
        threads.emplace_back([&, i] {
            const auto linked = compilers[i].link(linker, {&*input, 1}, *Arch::parse("sm_80"));
            if (linked) images[i] = linked->image;
        });
    }
    for (auto& thread : threads)
        thread.join();
    std::uint64_t links = 0;
    std::uint64_t remote_hits = 0;
    for (int i = 0; i < machines; ++i) {
        REQUIRE(images[i]);
        CHECK(images[i]->cubin == images[0]->cubin);
        links += compilers[i].counters().compilations;
        remote_hits += compilers[i].counters().remote_hits;
    }
    CHECK(links == 1);
    CHECK(remote_hits == machines - 1);
}

TEST_CASE("machines: a holder of the lease that dies delays the others by the lease's time only") {
    LODE_SKIP_WITHOUT(RedisServer)
    const RedisServer redis;
    const RemoteMachine first(redis.url());
    const RemoteMachine second(redis.url());
    const auto change = [](CacheOptions& options) { options.remote.lease = milliseconds(600); };
    const pid_t child = ::fork();
    if (child == 0) {
        const auto process = first.process(change);
        process.fake->on_compile = [] { ::raise(SIGKILL); };
        (void)process.tier(first.source());
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    const auto start = std::chrono::steady_clock::now();
    const auto process = second.process(change);
    CHECK(process.tier(second.source()) == "");
    CHECK(process.cached->counters().waits == 1);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("machines: a compilation longer than the lease keeps it") {
    LODE_SKIP_WITHOUT(RedisServer)
    const RedisServer redis;
    const RemoteMachine first(redis.url());
    const RemoteMachine second(redis.url());
    const auto change = [](CacheOptions& options) { options.remote.lease = milliseconds(900); };
    const auto one = first.process(change);
    const auto two = second.process(change);
    std::atomic<bool> is_compiling = false;
    one.fake->takes = milliseconds(2500);
    one.fake->on_compile = [&] { is_compiling = true; };
    std::thread thread([&] { CHECK(one.tier(first.source()) == ""); });
    while (!is_compiling)
        std::this_thread::sleep_for(milliseconds(1));
    CHECK(two.tier(second.source()) == "remote");
    thread.join();
    CHECK(two.fake->compilations == 0);
}

TEST_CASE("machines: a read-only remote is read, and neither written nor leased") {
    LODE_SKIP_WITHOUT(RedisServer)
    const RedisServer redis;
    const auto read_only = [](CacheOptions& options) { options.remote.read_only = true; };
    const RemoteMachine first(redis.url());
    CHECK(first.process(read_only).tier(first.source()) == "");
    const RemoteMachine second(redis.url());
    CHECK(second.tier() == "");
    const RemoteMachine third(redis.url());
    CHECK(third.process(read_only).tier(third.source()) == "remote");
    // LODE_CACHE=read-only means the remote too; off means that it isn't asked.
    const RemoteMachine fourth(redis.url());
    const auto off = fourth.process([](CacheOptions& options) { options.mode = CacheMode::off; });
    CHECK(off.tier(fourth.source()) == "");
    CHECK(off.cached->counters().remote_hits == 0);
}

TEST_CASE("machines: an image that the driver refuses is removed from the remote too") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    const Source plain = Source::text("__global__ void plain() {}\n", "plain.cu");
    {
        const RemoteMachine first(nginx.url());
        const auto process = first.process();
        process.cached->discard(process.compile(plain));
    }
    const RemoteMachine second(nginx.url());
    CHECK(gets(nginx.requests()) > 0);
    CHECK(second.process().tier(plain) == "");
}

TEST_CASE("machines: asynchronous requests hit the remote") {
    LODE_SKIP_WITHOUT(Nginx)
    const Nginx nginx;
    const RemoteMachine first(nginx.url());
    CHECK(first.tier() == "");
    const RemoteMachine second(nginx.url());
    const auto process = second.process();
    auto pending = process.cached->compile_async({second.source(), *Arch::parse("sm_90a")});
    const auto result = pending.get();
    REQUIRE(result);
    CHECK(result->report.tier == "remote");
}
