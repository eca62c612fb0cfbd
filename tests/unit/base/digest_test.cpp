#include <lode/base/digest.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using lode::Digest;
using lode::Hasher;
using lode::sha256;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

}  // namespace

// Examples from FIPS 180-4, as published by NIST.
TEST_CASE("digest: sha256 matches NIST's values") {
    struct Row {
        std::string text;
        const char* hex;
    };
    const Row rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {std::string(1'000'000, 'a'),
         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text.size());
        CHECK(sha256(row.text).to_hex() == row.hex);
        CHECK(sha256(bytes_of(row.text)).to_hex() == row.hex);
    }
}

TEST_CASE(
    "hasher: hashing in pieces gives the digest of the whole, and finishing resets the hasher") {
    Hasher hasher;
    hasher.update(bytes_of("a")).update(bytes_of("")).update(bytes_of("bc"));
    CHECK(hasher.finish() == sha256("abc"));
    CHECK(hasher.finish() == sha256(""));

    Hasher moved = std::move(hasher.update(bytes_of("ab")));
    CHECK(moved.update(bytes_of("c")).finish() == sha256("abc"));
    hasher = Hasher{};
    CHECK(hasher.finish() == sha256(""));
}

TEST_CASE("hasher: different lists of fields never have the same digest") {
    const std::string zeros(8, '\0');
    std::vector<Digest> digests = {
        Hasher{}.finish(),
        Hasher{}.field("").finish(),
        Hasher{}.field("").field("").finish(),
        Hasher{}.field(std::uint64_t{0}).finish(),
        Hasher{}.field(zeros).finish(),
        Hasher{}.field(std::uint64_t{0}).field(std::uint64_t{0}).finish(),
        Hasher{}.field(std::uint64_t{8}).field(std::uint64_t{0}).finish(),
        Hasher{}.field("ab").field("c").finish(),
        Hasher{}.field("a").field("bc").finish(),
        Hasher{}.field("abc").finish(),
        Hasher{}.field("1").finish(),
        Hasher{}.field(std::uint64_t{1}).finish(),
        Hasher{}.field(std::uint64_t{1} << 56).finish(),
    };
    std::ranges::sort(digests);
    CHECK(std::ranges::adjacent_find(digests) == digests.end());
    CHECK(Hasher{}.field("a").field(std::uint64_t{1}).finish() ==
          Hasher{}.field("a").field(std::uint64_t{1}).finish());
}

TEST_CASE("digest: compares as its hexadecimal text does") {
    const auto a = sha256("a");
    const auto b = sha256("b");
    CHECK((a < b) == (a.to_hex() < b.to_hex()));
    CHECK(a == Digest(a.bytes()));
    CHECK(Digest().to_hex() == std::string(64, '0'));
}
