#include "jit/store/disk_tier.hpp"
#include "tests/support/variable.hpp"
#include "tests/unit/jit/cache/fake_compiler.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace lode;
using namespace lode::cache;
namespace fs = std::filesystem;

namespace {

const Source saxpy = Source::text("__global__ void saxpy() {}\n", "saxpy.cu");

std::vector<fs::path> records(const fs::path& folder, const char* kind) {
    std::vector<fs::path> found;
    std::error_code problem;
    for (const auto& item : fs::recursive_directory_iterator(folder / "v6" / kind, problem)) {
        if (item.is_regular_file()) found.push_back(item.path());
    }
    return found;
}

void overwrite(const fs::path& file, const std::string& text) {
    REQUIRE(write_atomic(file, text, 0600));
}

}  // namespace

TEST_CASE("cached compiler: compiles once, then hits memory, and the disk in another process") {
    const Scratch scratch;
    const FakeProcess first(scratch / "cache");
    const auto compiled = first.compile(saxpy, {}, "sm_90a", {"f<int>"});
    CHECK(compiled.report.tier == "");
    CHECK(compiled.report.not_kept == "");
    const auto again = first.compile(saxpy, {}, "sm_90a", {"f<int>"});
    CHECK(again.report.tier == "memory");
    CHECK(again.report.to_string() == "hit (memory)");
    CHECK(again.image == first.compile(saxpy, {}, "sm_90a", {"f<int>"}).image);

    const FakeProcess second(scratch / "cache");
    const auto hit = second.compile(saxpy, {}, "sm_90a", {"f<int>"});
    CHECK(hit.report.tier == "disk");
    CHECK(*hit.image == *compiled.image);
    CHECK(hit.report.key == compiled.report.key);
    CHECK(first.fake->compilations == 1);
    CHECK(second.fake->openings == 0);
}

TEST_CASE("cached compiler: the compiler's properties are remembered without opening it") {
    const Scratch scratch;
    const FakeProcess first(scratch / "cache");
    const auto told = first.cached->info();
    REQUIRE(told);
    const FakeProcess second(scratch / "cache");
    const auto remembered = second.cached->info();
    REQUIRE(remembered);
    CHECK(remembered->build == told->build);
    CHECK(remembered->supported == told->supported);
    CHECK(remembered->path == told->path);
    CHECK(second.fake->openings == 0);
}

TEST_CASE("cached compiler: a record of another compiler build corrects itself") {
    const Scratch scratch;
    CacheOptions options;
    options.folder = scratch / "cache";
    CHECK(FakeProcess(options, "13.0.48").tier(saxpy) == "");
    // The compiler was replaced without a change of its fingerprint.
    const FakeProcess process(options, "13.0.88");
    const auto other = Source::text("__global__ void other() {}\n");
    const auto first = process.compile(other);
    CHECK(first.report.tier == "");
    CHECK(first.report.not_kept.find("13.0.88") != std::string::npos);
    CHECK(process.tier(other) == "");
    CHECK(process.tier(other) == "memory");
    CHECK(FakeProcess(options, "13.0.88").tier(saxpy) == "");
}

TEST_CASE("cached compiler: whatever changes the code changes the key") {
    const Scratch scratch;
    const FakeProcess process(scratch / "cache");
    REQUIRE(process.tier(saxpy) == "");
    const auto misses = [&](const Source& source, const CompileOptions& options,
                            const char* arch = "sm_90a", std::vector<std::string> names = {}) {
        const std::string before = process.tier(source, options, arch, names);
        return before == "" && process.tier(source, options, arch, names) == "memory";
    };
    CHECK(misses(Source::text("__global__ void saxpy2() {}\n", "saxpy.cu"), {}));
    CHECK(misses(Source::text("__global__ void saxpy() {}\n", "other.cu"), {}));
    CHECK(misses(saxpy, {}, "sm_90"));
    CHECK(misses(saxpy, {}, "compute_90a"));
    CHECK(misses(saxpy, {}, "sm_90a", {"saxpy"}));
    CHECK(misses(saxpy, {.definitions = {{"A"}}}));
    CHECK(misses(saxpy, {.definitions = {{"A", "2"}}}));
    CHECK(misses(saxpy, {.definitions = {{"A"}, {"B"}}}));
    CHECK(misses(saxpy, {.definitions = {{"A()"}}}));
    CHECK(misses(saxpy, {.definitions = {{"A(x)"}}}));
    CHECK(misses(saxpy, {.headers = {{"a.h", "text"}}}));
    CHECK(misses(saxpy, {.headers = {{"a.h", "other text"}}}));
    CHECK(misses(saxpy, {.standard = Standard::cxx20}));
    CHECK(misses(saxpy, {.math = {.preset = Math::Preset::fast}}));
    CHECK(misses(saxpy, {.math = {.ftz = true}}));
    CHECK(misses(saxpy, {.max_registers = 32}));
    CHECK(misses(saxpy, {.line_info = true}));
    CHECK(misses(saxpy, {.debug = true}));
    CHECK(misses(saxpy, {.relocatable = true}));
    CHECK(misses(saxpy, {.lto = true}));
    CHECK(misses(saxpy, {.lto = true}, "sm_90"));
    CHECK(misses(saxpy, {.optix_ir = true}));
    CHECK(misses(saxpy, {.toolkit_headers = false}));
    CHECK(misses(saxpy, {.extra_flags = {"--extra-device-vectorization"}}));
}

TEST_CASE("cached compiler: the order of name expressions doesn't matter") {
    const Scratch scratch;
    const FakeProcess process(scratch / "cache");
    CHECK(process.tier(saxpy, {}, "sm_90a", {"a", "b"}) == "");
    CHECK(process.tier(saxpy, {}, "sm_90a", {"b", "a", "b"}) == "memory");
}

TEST_CASE("cached compiler: code that uses the time or reads unseen files isn't kept") {
    const Scratch scratch;
    const FakeProcess process(scratch / "cache");
    const auto timed = Source::text("const char* when = __TIME__;\n");
    CHECK(process.compile(timed).report.not_kept.find("time") != std::string::npos);
    CHECK(process.tier(timed) == "");
    const CompileOptions pch{.extra_flags = {"--use-pch=a.pch"}};
    CHECK(process.compile(saxpy, pch).report.not_kept.find("--use-pch") != std::string::npos);
    CHECK(process.cached->counters().not_kept == 3);
}

TEST_CASE("cached compiler: a damaged, cut or empty entry is a miss and is repaired") {
    const Scratch scratch;
    const auto good = FakeProcess(scratch / "cache").compile(saxpy);
    const auto files = records(scratch / "cache", "entries");
    REQUIRE(files.size() == 1);
    const std::string bytes = *read_text(files[0]);
    std::string flipped = bytes;
    flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 4);
    for (const std::string& bad :
         {flipped, bytes.substr(0, bytes.size() - 1), std::string(), bytes + "x"}) {
        overwrite(files[0], bad);
        const FakeProcess process(scratch / "cache");
        const auto repaired = process.compile(saxpy);
        CHECK(repaired.report.tier == "");
        CHECK(*repaired.image == *good.image);
        CHECK(process.cached->counters().repairs == 1);
        CHECK(FakeProcess(scratch / "cache").tier(saxpy) == "disk");
    }
}

TEST_CASE("cached compiler: an entry under another entry's name is never served") {
    const Scratch scratch;
    const FakeProcess first(scratch / "cache");
    first.compile(saxpy, {}, "sm_90");
    const auto other = records(scratch / "cache", "entries").at(0);
    first.compile(saxpy, {}, "sm_80");
    for (const auto& file : records(scratch / "cache", "entries")) {
        if (file != other) overwrite(file, *read_text(other));
    }
    const FakeProcess second(scratch / "cache");
    const auto image = second.compile(saxpy, {}, "sm_80").image;
    CHECK(image->arch == *Arch::parse("sm_80"));
    CHECK(second.cached->counters().repairs == 1);
}

TEST_CASE("cached compiler: every miss has its reason, and a hit has none") {
    const Scratch scratch;
    scratch.write("a.h", "int a;\n");
    scratch.write("k.cu", "#include \"a.h\"\n");
    const auto source = Source::file(scratch / "k.cu");
    const FakeProcess process(scratch / "cache");
    const auto miss_of = [&](const Source& asked, const CompileOptions& options = {}) {
        return FakeProcess(scratch / "cache").compile(asked, options).report.miss;
    };
    const CacheMiss first = miss_of(source);
    CHECK(first.reason == MissReason::never_compiled);
    CHECK(first.to_string() == "it was never compiled before");
    const CacheMiss none = miss_of(source);
    CHECK(none.reason == MissReason::none);
    CHECK_FALSE(none);
    CHECK(none.to_string().empty());

    scratch.write("a.h", "int b;\n");
    const CacheMiss changed = miss_of(source);
    CHECK(changed.reason == MissReason::dependency_changed);
    CHECK(changed.to_string() == "header source a.h has changed");

    for (const auto& entry : records(scratch / "cache", "entries"))
        fs::remove(entry);
    const CacheMiss lost = miss_of(source);
    CHECK(lost.reason == MissReason::entry_lost);
    CHECK(lost.to_string() == "its entry is gone");

    CHECK(miss_of(Source::ptx(".version 8.0\n.target sm_90\n")).reason == MissReason::ptx_source);
    const CacheMiss timed = miss_of(Source::text("const char* t = __TIME__;\n"));
    CHECK(timed.reason == MissReason::uncacheable);
    CHECK(timed.to_string() == "the source depends on the time of compilation");
    CompileOptions opaque;
    opaque.extra_flags = {"--pch"};
    CHECK(miss_of(saxpy, opaque).to_string() ==
          "the flag --pch has effects that the cache's key doesn't cover");
}

TEST_CASE("cached compiler: an image that the driver refuses is dropped and made anew") {
    const Scratch scratch;
    const FakeProcess process(scratch / "cache");
    process.compile(saxpy);
    process.cached->discard(process.compile(saxpy));
    CHECK(records(scratch / "cache", "entries").empty());
    CHECK(process.tier(saxpy) == "");
    CHECK(process.cached->counters().repairs == 1);
    CHECK(process.cached->counters().compilations == 2);
}

TEST_CASE("cached compiler: a failure isn't published, and is replayed from memory") {
    const Scratch scratch;
    const FakeProcess process(scratch / "cache");
    const auto bad = Source::text("error\n");
    for (int i = 0; i < 3; ++i) {
        const auto result = process.cached->compile(bad, *Arch::parse("sm_90"));
        REQUIRE_FALSE(result);
        CHECK(result.error().code == Errc::compile_failed);
        CHECK(result.error().log == "the log");
    }
    CHECK(process.fake->compilations == 1);
    CHECK(process.cached->counters().replayed_failures == 2);
    CHECK(records(scratch / "cache", "entries").empty());
    CHECK(records(scratch / "cache", "manifests").empty());
}

TEST_CASE("cached compiler: the error for a missing source file names it") {
    const Scratch scratch;
    const FakeProcess process(scratch / "cache");
    const auto result =
        process.cached->compile(Source::file(scratch / "none.cu"), *Arch::parse("sm_90"));
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Errc::not_found);
    CHECK(result.error().message.find("none.cu") != std::string::npos);
}

TEST_CASE("cached compiler: threads that ask for one key share one compilation") {
    const Scratch scratch;
    const FakeProcess process(scratch / "cache");
    process.fake->takes = std::chrono::milliseconds(50);
    const auto ask_together = [&](const Source& source) {
        std::vector<std::thread> threads;
        std::atomic<int> good{0};
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&] {
                const auto result = process.cached->compile(source, *Arch::parse("sm_90"));
                good += result && !result->image->cubin.empty() ? 1 : 0;
            });
        }
        for (auto& thread : threads)
            thread.join();
        return good.load();
    };
    CHECK(ask_together(saxpy) == 8);
    CHECK(process.fake->compilations == 1);
    CHECK(ask_together(Source::text("error\n")) == 0);
    CHECK(process.fake->compilations == 2);
}

TEST_CASE("cached compiler: forbid refuses and names the source, warn logs") {
    const Scratch scratch;
    std::vector<std::string> lines;
    CacheOptions options;
    options.folder = scratch / "cache";
    options.log = Log([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
    options.policy = JitPolicy::forbid;
    scratch.write("other.pack", "not a pack");
    options.packs = {scratch / "missing.pack", scratch / "other.pack"};
    std::vector<std::string> events;
    options.events = [&](const CompileEvent& event) {
        events.push_back(fmt::format("{} {}", to_string(event.kind), event.key.to_hex()));
        CHECK((event.error == nullptr || event.error->code == Errc::not_found));
    };
    const FakeProcess strict(options);
    const auto refused = strict.cached->compile(saxpy, *Arch::parse("sm_90"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::not_found);
    CHECK(refused.error().message.find("saxpy.cu") != std::string::npos);
    CHECK(refused.error().message.find("(by CacheOptions::policy in the code)") !=
          std::string::npos);
    CHECK(refused.error().message.find(fmt::format(
              "Searched: the folder {0}/cache, the pack {0}/missing.pack (it doesn't exist), the "
              "pack {0}/other.pack (not used: '{0}/other.pack' isn't a pack",
              scratch.path().string())) != std::string::npos);
    const auto explained = strict.cached->explain(saxpy, *Arch::parse("sm_90"));
    REQUIRE(explained);
    CHECK(refused.error().message.find("key " + explained->key.to_hex()) != std::string::npos);
    const std::vector<std::string> names{"saxpy<float>"};
    const auto instance = strict.cached->compile(saxpy, *Arch::parse("sm_90"), {}, names);
    CHECK(
        instance.error().message.starts_with("'saxpy.cu' for sm_90, with saxpy<float>, isn't in"));
    CHECK(strict.fake->compilations == 0);
    events.resize(2);
    CHECK(events == std::vector<std::string>{"refused " + explained->key.to_hex(),
                                             "failed " + Digest().to_hex()});
    {
        const test::Variable forbidden("LODE_JIT", "forbid");
        const auto again = strict.cached->compile(saxpy, *Arch::parse("sm_90"));
        CHECK(again.error().message.find("(LODE_JIT=forbid)") != std::string::npos);
    }

    options.policy = JitPolicy::warn;
    options.events = nullptr;
    options.packs.clear();
    lines.clear();
    CHECK(FakeProcess(options).tier(saxpy, {}, "sm_90") == "");
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].find("saxpy.cu") != std::string::npos);
    CHECK(strict.cached->compile(saxpy, *Arch::parse("sm_90")));
}

TEST_CASE("cached compiler: off touches no disk, and read-only only reads") {
    const Scratch scratch;
    CacheOptions options;
    options.folder = scratch / "cache";
    options.mode = CacheMode::off;
    const FakeProcess off(options);
    CHECK(off.tier(saxpy) == "");
    CHECK(off.tier(saxpy) == "memory");
    CHECK_FALSE(fs::exists(options.folder));

    options.mode = CacheMode::read_only;
    CHECK(FakeProcess(options).tier(saxpy) == "");
    CHECK_FALSE(fs::exists(options.folder));
    FakeProcess(options.folder).compile(saxpy);
    CHECK(FakeProcess(options).tier(saxpy) == "disk");
    const auto other = Source::text("__global__ void other() {}\n");
    CHECK(FakeProcess(options).tier(other) == "");
    CHECK(FakeProcess(options).tier(other) == "");
}

TEST_CASE("cached compiler: a folder that can't be used costs one log line, not the compilation") {
    const Scratch scratch;
    scratch.write("file", "not a folder");
    fs::create_directory(scratch / "open");
    ::chmod((scratch / "open").c_str(), 0777);
    for (const auto& folder : {scratch / "file", scratch / "open", scratch / "file" / "below"}) {
        CAPTURE(folder.string());
        std::vector<std::string> warnings;
        CacheOptions options;
        options.folder = folder;
        options.log = Log([&](LogLevel level, std::string_view line) {
            if (level == LogLevel::warning) warnings.emplace_back(line);
        });
        const FakeProcess process(options);
        CHECK(process.tier(saxpy) == "");
        CHECK(process.tier(saxpy) == "memory");
        CHECK(process.tier(Source::text("__global__ void other() {}\n")) == "");
        CHECK(warnings.size() == 1);
        CHECK(process.cached->counters().faults == 1);
    }
}

TEST_CASE("cached compiler: the steps of every request are told") {
    const Scratch scratch;
    std::vector<std::string> seen;
    CacheOptions options;
    options.folder = scratch / "cache";
    options.events = [&](const CompileEvent& event) {
        std::string step = fmt::format("{} {} {} {}", event.request, event.source,
                                       event.arch.to_string(), to_string(event.kind));
        if (event.kind == CompileEvent::Kind::phase)
            step += fmt::format(" {}", to_string(event.phase));
        if (event.report != nullptr) step += " " + event.report->tier;
        if (event.error != nullptr) step += " " + event.error->message;
        CHECK(event.milliseconds >= 0);
        seen.push_back(step);
    };
    const FakeProcess process(options);
    process.compile(saxpy);
    process.compile(saxpy);
    (void)process.cached->compile(Source::text("error", "wrong.cu"), *Arch::parse("sm_90"));
    CHECK(seen == std::vector<std::string>{
                      "1 saxpy.cu sm_90a started", "1 saxpy.cu sm_90a phase storing",
                      "1 saxpy.cu sm_90a done ", "2 saxpy.cu sm_90a hit memory",
                      "3 wrong.cu sm_90 started", "3 wrong.cu sm_90 failed It doesn't compile."});
    const auto counters = process.cached->counters();
    CHECK(counters.memory_hits == 1);
    CHECK(counters.new_requests == 2);
    CHECK(counters.compilations == 1);
    CHECK(counters.failures == 1);
    CHECK(counters.bytes_written > 0);
}

TEST_CASE("cached compiler: a moved cache and moved sources still hit, under the new name") {
    const Scratch scratch;
    scratch.write("a/k.cu", "#include \"util.h\"\n__global__ void k() {}\n");
    scratch.write("a/util.h", "int util;\n");
    settle();
    const auto first = FakeProcess(scratch / "cache").compile(Source::file(scratch / "a/k.cu"));
    CHECK(first.report.not_kept == "");
    fs::rename(scratch / "cache", scratch / "elsewhere");
    fs::rename(scratch / "a", scratch / "b");
    const FakeProcess process(scratch / "elsewhere");
    const auto hit = process.compile(Source::file(scratch / "b/k.cu"));
    CHECK(hit.report.tier == "disk");
    CHECK(hit.image->name == (scratch / "b/k.cu").string());
    CHECK(hit.image->log == (scratch / "b/k.cu").string() + "(1): warning: fake\n");
    CHECK(hit.image->cubin == first.image->cubin);
}

TEST_CASE("cached compiler: paths matter where they get into the code") {
    const Scratch scratch;
    const std::string plain = "__global__ void k() {}\n";
    const std::string asserting = "__global__ void k() { assert(0); }\n";
    for (const char* folder : {"a", "b"}) {
        scratch.write(fs::path(folder) / "plain.cu", plain);
        scratch.write(fs::path(folder) / "asserting.cu", asserting);
    }
    const FakeProcess process(scratch / "cache");
    const auto second_hits = [&](const char* name, const CompileOptions& options) {
        REQUIRE(process.tier(Source::file(scratch / "a" / name), options) == "");
        return process.tier(Source::file(scratch / "b" / name), options) == "memory";
    };
    CHECK(second_hits("plain.cu", {}));
    CHECK_FALSE(second_hits("plain.cu", {.line_info = true}));
    CHECK_FALSE(second_hits("plain.cu", {.debug = true}));
    CHECK_FALSE(second_hits("asserting.cu", {}));
}
