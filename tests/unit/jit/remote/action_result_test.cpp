#include "jit/remote/action_result.hpp"

#include "jit/remote/zstd_body.hpp"

#include <ctime>
#include <string>

#include <doctest/doctest.h>
#include <zstd.h>

using namespace lode;
using namespace lode::cache;

namespace {

std::string refusal(const Bytes& bytes) {
    const auto files = parse_action_result(bytes);
    return files ? "accepted" : files.error().message;
}

Bytes bytes_of(const std::string& text) {
    const auto bytes = as_bytes(text);
    return {bytes.begin(), bytes.end()};
}

/// A delimited field.
std::string field(int number, const std::string& value) {
    std::string out(1, static_cast<char>(number << 3 | 2));
    std::size_t size = value.size();
    for (; size > 127; size >>= 7)
        out += static_cast<char>((size & 127) | 128);
    return out + static_cast<char>(size) + value;
}

const std::string content = "a record";
std::string good_digest() {
    return field(1, sha256(content).to_hex()) + "\x10\x08";
}
std::string good_file() {
    return field(1, "record") + field(2, good_digest()) + field(5, content);
}

}  // namespace

TEST_CASE("action result: what is written has protobuf's encoding, and is read again") {
    const std::vector<OutputFile> files = {
        OutputFile::inlined("record", as_bytes(content)),
        OutputFile::stored("entries/" + std::string(64, 'a'), as_bytes(std::string(300, 'x')))};
    const Bytes bytes = format_action_result(files);
    const std::string second =
        field(1, files[1].path) + field(2, field(1, files[1].digest.to_hex()) + "\x10\xac\x02");
    CHECK(as_text(bytes) == field(2, good_file()) + field(2, second));
    const auto read = parse_action_result(bytes);
    REQUIRE(read);
    CHECK(*read == files);
}

TEST_CASE("action result: fields that servers add are skipped") {
    // bazel-remote adds execution_metadata (9); others may add any field of any wire type.
    const std::string more = field(9, field(1, "127.0.0.1")) + "\x20\x01" +  // 4: varint
                             "\x31" + "12345678" + "\x3d" + "1234";          // 6, 7: fixed
    const auto read = parse_action_result(bytes_of(more + field(2, good_file() + "\x20\x01")));
    REQUIRE(read);
    CHECK(as_text(read->front().contents) == content);
}

TEST_CASE("action result: what isn't valid is refused with the reason") {
    CHECK(refusal({}) == "It isn't a valid ActionResult: it has no file.");
    CHECK(refusal(bytes_of("<html>")) != "accepted");
    const auto file = [](const std::string& message) {
        return refusal(bytes_of(field(2, message)));
    };
    CHECK(file(field(2, good_digest())).find("a file has no path") != std::string::npos);
    CHECK(file(field(1, "record")).find("a file has no digest") != std::string::npos);
    CHECK(file(field(1, "/etc") + field(2, good_digest())).find("path is invalid") !=
          std::string::npos);
    CHECK(file(field(1, "a.b") + field(2, good_digest())).find("path is invalid") !=
          std::string::npos);
    CHECK(file(good_file() + field(2, good_digest())).find("two digests") != std::string::npos);
    CHECK(file(good_file() + field(5, content)).find("two contents") != std::string::npos);
    CHECK(file(field(1, "record") + field(2, good_digest()) + field(5, "b record"))
              .find("don't match its digest") != std::string::npos);
    CHECK(file(field(1, "record") + field(2, good_digest()) + field(5, "short"))
              .find("don't match its digest") != std::string::npos);
    CHECK(file(field(1, "record") + field(2, field(1, "ABC"))).find("64 hexadecimal digits") !=
          std::string::npos);
    CHECK(file(field(1, "record") + field(2, field(1, sha256(content).to_hex()) +
                                                 "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
              .find("a size is negative") != std::string::npos);
    CHECK(file("\x0b").find("unknown wire type") != std::string::npos);  // A group.
    CHECK(file("\x0d").find("longer than the message") != std::string::npos);
    CHECK(file("\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02").find("incomplete") !=
          std::string::npos);
    CHECK(refusal(bytes_of("\x12\x7f")).find("longer than the message") != std::string::npos);
    std::string many;
    for (int i = 0; i < 9; ++i)
        many += field(2, good_file());
    CHECK(refusal(bytes_of(many)).find("more than 8 files") != std::string::npos);
}

TEST_CASE("action result: every truncation of a valid one is refused") {
    const std::string whole = field(2, good_file());
    for (std::size_t size = 0; size < whole.size(); ++size)
        CHECK_MESSAGE(refusal(bytes_of(whole.substr(0, size))) != "accepted", size);
}

TEST_CASE("zstd body: streams are unpacked up to the limit, others are refused") {
    const std::string text(100'000, 'k');
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    const auto plain = decompress_body(as_bytes(packed), text.size());
    REQUIRE(plain);
    CHECK(as_text(*plain) == text);
    CHECK(!decompress_body(as_bytes(packed), text.size() - 1));
    CHECK(!decompress_body(as_bytes(packed.substr(0, packed.size() / 2)), text.size()));
    CHECK(!decompress_body(as_bytes("plain text"), text.size()));
    CHECK(!decompress_body({}, text.size()));
}

TEST_CASE("zstd body: the time doesn't grow with the number of frames that hold nothing") {
    std::string frame(ZSTD_compressBound(0), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), "", 0, 3));
    std::string body;
    constexpr int frames = 5'000'000;
    for (int i = 0; i < frames; ++i)
        body += frame;
    const std::clock_t begin = std::clock();
    const auto plain = decompress_body(as_bytes(body), std::size_t{64} << 20);
    REQUIRE(plain);
    CHECK(plain->empty());
    // Clearing a buffer for each frame took 4 s of processor time, and this takes 0.3 s.
    CHECK((std::clock() - begin) / CLOCKS_PER_SEC < 2);
}
