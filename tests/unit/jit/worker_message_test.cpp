// The messages between a host and its workers.
#include "jit/worker/message.hpp"
#include "tests/support/result.hpp"
#include "tests/unit/jit/worker_request.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::test;

TEST_CASE("worker message: a request comes out as it went in") {
    CompileOptions options;
    options.definitions = {{"A", "1"}, {"B"}, {"F(x, ...)", "x==1"}};
    options.include_folders = {"/x", "y"};
    options.headers = {{"h.h", "int h;"}};
    options.pre_includes = {"h.h"};
    options.standard = Standard::cxx20;
    options.math = {.preset = Math::Preset::fast, .ftz = false, .fmad = true};
    options.max_registers = 32;
    options.line_info = options.relocatable = options.lto = options.minimal = true;
    options.source_files = false;
    options.tile = Tile::only;
    options.toolkit_headers = false;
    options.extra_flags = {"--split-compile=2"};
    for (const auto& source :
         {Source::text("code", "a.cu"), Source::ptx("code", "b"), Source::file("c.cu"),
          Source::file("d.ptx").pinned("code"), Source::file("e.cu").pinned("")}) {
        auto request = request_of(source, options, {"f<int>", "&g"});
        request.nvrtc.cuda_home = "/cuda";
        request.nvrtc.cuda_path = std::nullopt;
        request.source_files = {"/s/a.cu", "/t"};
        request.compilation.limits = {.time = std::chrono::milliseconds(7), .memory_bytes = 9};
        request.is_measured = true;
        const auto parsed = require(worker::parse_request(worker::format_request(request)));
        CHECK(parsed.nvrtc == request.nvrtc);
        CHECK(parsed.working_folder == request.working_folder);
        CHECK(parsed.environment == request.environment);
        CHECK(parsed.compilation.source.name() == source.name());
        CHECK(parsed.compilation.source.language() == source.language());
        CHECK(parsed.compilation.source.is_file() == source.is_file());
        CHECK(parsed.compilation.source.is_read() == source.is_read());
        if (source.is_read())
            CHECK(require(parsed.compilation.source.read()) == require(source.read()));
        CHECK(parsed.compilation.arch == request.compilation.arch);
        CHECK(parsed.compilation.options == options);
        CHECK(parsed.compilation.name_expressions == request.compilation.name_expressions);
        CHECK(parsed.source_files == request.source_files);
        CHECK(parsed.compilation.limits == request.compilation.limits);
        CHECK(parsed.is_measured);
    }
}

TEST_CASE("worker message: a call of a program and its answer come out as they went in") {
    auto request = request_of(Source::text({}));
    request.task = worker::Task::call;
    request.call = {"source", std::nullopt, {{"h.h", "int h;"}}, {"-G", "-DX"}, {"f<int>"}};
    request.needs_new_process = true;
    auto parsed = require(worker::parse_request(worker::format_request(request)));
    CHECK(parsed.task == worker::Task::call);
    CHECK(parsed.call == request.call);
    CHECK(parsed.needs_new_process);
    CHECK(parsed.is_last());

    Image none;
    none.arch = sm(80);
    worker::Answer answer{none};
    answer.call = {6, {{"PTX", 0, 0, std::string("a\0b", 3)}}, {{"f<int>", 0, "_Z1f"}}, 10};
    CHECK(require(worker::parse_answer(worker::format_answer(answer))).call == answer.call);
}

TEST_CASE("worker message: cut off, extended or of another version, it is refused") {
    const auto bytes = worker::format_request(request_of(Source::text("code")));
    for (std::size_t size = 0; size < bytes.size(); size += 7)
        CHECK_FALSE(worker::parse_request(std::span(bytes).first(size)).has_value());
    auto longer = bytes;
    longer.push_back(std::byte{0});
    CHECK_CONTAINS(require_error(worker::parse_request(longer)).message, "can't be parsed");
    auto other = bytes;
    other[0] = std::byte{worker::protocol_version + 1};
    CHECK_CONTAINS(require_error(worker::parse_request(other)).message, "different builds");
    const auto answer = worker::format_answer({fail(Errc::compile_failed, "no"), {}});
    CHECK(require(worker::parse_answer(answer)).image.error().message == "no");
    for (std::size_t size = 0; size < answer.size(); ++size)
        CHECK_FALSE(worker::parse_answer(std::span(answer).first(size)).has_value());
}
