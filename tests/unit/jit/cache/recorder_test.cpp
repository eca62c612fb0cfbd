#include "jit/cache/recorder.hpp"

#include "jit/cache/recorded_line.hpp"
#include "tests/support/second_process.hpp"
#include "tests/unit/jit/cache/fake_compiler.hpp"

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::cache;

namespace {

FakeProcess recording(const Scratch& scratch, const std::filesystem::path& file, Log log = {}) {
    CacheOptions options;
    options.folder = scratch / "cache";
    options.record = file;
    options.log = std::move(log);
    return FakeProcess(std::move(options));
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
    const auto text = read_text(file).value_or("");
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size() - 1);
        lines.push_back(text.substr(at, end + 1 - at));
        at = end + 1;
    }
    return lines;
}

std::string line_of(const Source& source, const CompileOptions& options = {}) {
    return recorded_line({source, *Arch::parse("sm_90"), options}, "/work").value();
}

}  // namespace

TEST_CASE("recorder: every request is one line, hit or miss, however often it is asked") {
    const Scratch scratch;
    const auto file = scratch / "record";
    const auto source = Source::text("a \"b\"\n\tc\\", "k.cu");
    const auto first = recording(scratch, file);
    for (int i = 0; i < 3; ++i)
        CHECK(first.compile(source).image);
    first.compile(source, {.line_info = true}, "sm_80", {"f<int>", "g"});
    auto lines = lines_of(file);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].starts_with(R"({"manifest":1,"name":"k.cu","text":"a \"b\"\n\tc\\","folder":")" +
                               std::filesystem::current_path().string() +
                               R"(","arch":"sm_90a","compiler":"NVRTC 13.0.88","compile_ms":)"));
    CHECK(lines[0].ends_with("}\n"));
    CHECK(lines[1].find(R"("arch":"sm_80","options":{"line_info":true},"names":["f<int>","g"],)") !=
          std::string::npos);
    // Another process gets hits, and knows the file's lines.
    const auto second = recording(scratch, file);
    CHECK(second.tier(source) == "disk");
    CHECK(lines_of(file).size() == 2);
    CHECK(second.tier(Source::text("new")) == "");
    CHECK(first.tier(Source::text("new")) == "disk");
    CHECK(lines_of(file).size() == 3);
    // A file that somebody removes is written anew.
    std::filesystem::remove(file);
    CHECK(first.tier(Source::text("newer")) == "");
    CHECK(lines_of(file).size() == 1);
}

TEST_CASE("recorder: asynchronous requests are recorded before their result is there") {
    const Scratch scratch;
    const auto process = recording(scratch, scratch / "record");
    const CompileRequest request{Source::text("x", "later.cu"), *Arch::parse("sm_90")};
    for (int i = 0; i < 2; ++i) {
        CHECK(process.cached->compile_async(request).get());
        CHECK(lines_of(scratch / "record").size() == 1);
    }
    CHECK(lines_of(scratch / "record")[0].find("later.cu") != std::string::npos);
}

TEST_CASE("recorder: a failure isn't recorded, nor is anything without a file") {
    const Scratch scratch;
    const auto process = recording(scratch, scratch / "record");
    CHECK_FALSE(process.cached->compile(Source::text("error"), *Arch::parse("sm_90")));
    CHECK_FALSE(std::filesystem::exists(scratch / "record"));
    const FakeProcess other(scratch / "cache");
    other.compile(Source::text("x"));
    CHECK_FALSE(std::filesystem::exists(scratch / "record"));
}

TEST_CASE("recorder: paths are kept as they are, with the working folder") {
    CHECK(line_of(Source::file("/a/k.cu")) ==
          R"({"manifest":1,"file":"/a/k.cu","folder":"/work","arch":"sm_90"})");
    CHECK(line_of(Source::file("k.cu")) ==
          R"({"manifest":1,"file":"k.cu","folder":"/work","arch":"sm_90"})");
    CompileOptions options;
    options.include_folders = {"include"};
    CHECK(line_of(Source::file("/a/k.cu"), options) ==
          R"({"manifest":1,"file":"/a/k.cu","folder":"/work","arch":"sm_90",)"
          R"("options":{"include_folders":["include"]}})");
}

TEST_CASE("recorder: the time and the compiler don't make a request another one") {
    const std::string line = line_of(Source::text(R"(,"compiler":)"));
    const std::string whole = with_measurement(line, "NVRTC 13.0.88", 12.34);
    CHECK(whole.ends_with(R"(,"compiler":"NVRTC 13.0.88","compile_ms":12.3})"
                          "\n"));
    CHECK(std::string(without_measurement(whole)) + "}" == line);
}

TEST_CASE("recorder: code that isn't UTF-8 is in base64, and a warning names another such text") {
    const auto key_of = [](std::string_view code) {
        const auto line = line_of(Source::text(std::string(code)));
        return line.find(R"("text":)") != std::string::npos ? "text" : "base64";
    };
    for (const auto* good :
         {"", "plain", "\x7f", "\u00fc\u20ac", "\U0001F600", "\U0010FFFF", "\ud7ff", "\ue000"})
        CHECK_MESSAGE(key_of(good) == "text", good);
    for (const std::string_view bad :
         {"\xfc", "\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
          "\xf4\x90\x80\x80", "\xf0\x80\x80\xaf", "\xf5\x80\x80\x80", "a\xe2\x82"})
        CHECK(key_of(bad) == "base64");
    CHECK(line_of(Source::llvm_ir("BC\xc0\xde", "k.bc")) ==
          R"({"manifest":1,"name":"k.bc","base64":"QkPA3g==","language":"llvm_ir",)"
          R"("folder":"/work","arch":"sm_90"})");

    const Scratch scratch;
    std::vector<std::string> log;
    const auto process =
        recording(scratch, scratch / "record",
                  Log([&](LogLevel, std::string_view line) { log.emplace_back(line); }));
    for (int i = 0; i < 2; ++i)
        CHECK(process.compile(Source::text("a", "gr\xfc\xdf.cu")).image);
    REQUIRE(log.size() == 1);
    CHECK(log[0] ==
          "LODE_RECORD: The request for 'gr\xfc\xdf.cu' isn't recorded: it contains a text that "
          "isn't UTF-8, which JSON can't hold.");
}

TEST_CASE("recorder: an unfinished line is removed, and another file isn't touched") {
    const Scratch scratch;
    const auto file = scratch / "record";
    for (const char* torn : {"{", R"({"manifest":1,"name":"half)"}) {
        std::filesystem::remove(file);
        recording(scratch, file).compile(Source::text("a"));
        const auto whole = read_text(file).value();
        scratch.write("record", whole + torn);
        recording(scratch, file).compile(Source::text("b"));
        const auto lines = lines_of(file);
        REQUIRE(lines.size() == 2);
        CHECK(lines[0] == whole);
        CHECK(lines[1].starts_with(R"({"manifest":1,"name":"source.cu","text":"b")"));
    }
    for (const char* foreign : {"{\n  \"manifest\": 1\n}", "notes\n", "notes"}) {
        std::vector<std::string> log;
        scratch.write("record", foreign);
        const auto process = recording(
            scratch, file, Log([&](LogLevel, std::string_view line) { log.emplace_back(line); }));
        CHECK(process.compile(Source::text("c")).image);
        CHECK(process.compile(Source::text("d")).image);
        CHECK(read_text(file).value() == foreign);
        REQUIRE(log.size() == 1);
        CHECK(log[0].ends_with("isn't a recording of lode, so nothing is added to it."));
    }
}

TEST_CASE("recorder: a file that can't be written is one warning and no failure") {
    const Scratch scratch;
    for (const std::string name : {"/nonexistent/record", "/dev/full", "/proc/record"}) {
        CAPTURE(name);
        std::vector<std::string> log;
        const auto process = recording(
            scratch, name, Log([&](LogLevel, std::string_view line) { log.emplace_back(line); }));
        CHECK(process.compile(Source::text("a")).image);
        CHECK(process.compile(Source::text("b")).image);
        REQUIRE(log.size() == 1);
        CHECK(log[0].starts_with("LODE_RECORD: "));
        CHECK(log[0].find(name) != std::string::npos);
    }
}

namespace {

constexpr int requests = 200;

/// Half of the requests are those of every writer, half are its own.
void write_requests(const std::filesystem::path& file, const std::string& own) {
    const auto image = std::make_shared<const Image>();
    Recorder recorder(file, {});
    for (int i = 0; i < requests; ++i) {
        const std::string text(static_cast<std::size_t>(i) * 50, 'x');
        recorder.record({Source::text((i % 2 == 0 ? "shared" : own) + std::to_string(i) + text),
                         *Arch::parse("sm_90")},
                        {image, {}});
    }
}

}  // namespace

TEST_CASE("child: recorder" * doctest::skip()) {
    write_requests(std::getenv("LODE_TEST_RECORD"), std::getenv("LODE_TEST_WRITER"));
}

TEST_CASE("recorder: threads and processes write to one file, and no line is lost or doubled") {
    const Scratch scratch;
    const auto file = scratch / "record";
    ::setenv("LODE_TEST_RECORD", file.c_str(), 1);
    {
        ::setenv("LODE_TEST_WRITER", "first", 1);
        lode::test::SecondProcess first("child: recorder");
        ::setenv("LODE_TEST_WRITER", "second", 1);
        lode::test::SecondProcess second("child: recorder");
        std::thread third([&] { write_requests(file, "third"); });
        write_requests(file, "fourth");
        third.join();
        CHECK(first.wait() == 0);
        CHECK(second.wait() == 0);
    }
    const auto lines = lines_of(file);
    const std::set<std::string> unique(lines.begin(), lines.end());
    CHECK(lines.size() == requests / 2 + 4 * requests / 2);
    CHECK(unique.size() == lines.size());
    for (const auto& line : lines) {
        CHECK(line.starts_with(recorded_line_start));
        CHECK(line.ends_with("}\n"));
    }
}
