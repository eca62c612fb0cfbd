// Signatures and files of keys.
#include "jit/store/signature.hpp"

#include "jit/store/sealed_file.hpp"
#include "jit/store/trust.hpp"
#include "tests/unit/jit/cache/example_entry.hpp"
#include "tests/unit/jit/cache/keys.hpp"

#include <cstdlib>
#include <fstream>

#include <sys/stat.h>

using namespace lode;
using namespace lode::cache;

namespace {

template <std::size_t size>
std::array<std::uint8_t, size> from_hex(std::string_view hex) {
    std::array<std::uint8_t, size> bytes{};
    REQUIRE(hex.size() == 2 * size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::uint8_t>(
            std::strtoul(std::string(hex.substr(2 * i, 2)).c_str(), nullptr, 16));
    return bytes;
}

Signature with_bytes(const PublicKey& key, std::string_view hex) {
    return {key.id(), from_hex<Signature::size>(hex)};
}

/// Runs a shell command; false if there is no such program or it fails.
bool shell(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

void write_bytes(const std::filesystem::path& file, std::span<const std::byte> bytes) {
    REQUIRE(write_atomic(file, bytes));
}

std::string message_of(const Result<KeyRing>& result) {
    return result ? "" : result.error().message;
}

}  // namespace

TEST_CASE("signature: the vectors of RFC 8032 verify, and no changed one does") {
    struct Vector {
        const char* key;
        const char* text;
        const char* signature;
    };
    // Section 7.1, tests 1 to 3.
    const Vector vectors[] = {
        {"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
         "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
         "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
        {"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "\x72",
         "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
         "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
        {"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "\xaf\x82",
         "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
         "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
    };
    for (const auto& vector : vectors) {
        const PublicKey key(from_hex<PublicKey::size>(vector.key));
        Signature signature = with_bytes(key, vector.signature);
        const auto text = as_bytes(vector.text);
        CHECK(key.verifies(text, signature));
        const std::string longer = std::string(vector.text) + "x";
        CHECK_FALSE(key.verifies(as_bytes(longer), signature));
        for (std::size_t i = 0; i < signature.bytes.size(); ++i) {
            signature.bytes[i] ^= 1;
            CHECK_FALSE(key.verifies(text, signature));
            signature.bytes[i] ^= 1;
        }
    }
}

TEST_CASE("signature: openssl verifies what lode signs, and lode what openssl signs") {
    const Scratch scratch;
    if (!shell("openssl version")) {
        MESSAGE("skipped: there is no program openssl");
        return;
    }
    const SecretKey key = make_key(scratch, "key");
    const Bytes entry = format_entry(example_entry());
    const RecordKey place{RecordKind::entry, key_of(example_entry()).digest};
    const Bytes text = signed_text(place, entry);
    const Signature signature = key.sign(text);
    write_bytes(scratch / "text", text);
    write_bytes(scratch / "signature", std::as_bytes(std::span(signature.bytes)));
    const std::string in = "cd '" + scratch.path().string() + "' && ";
    const std::string verify =
        in + "openssl pkeyutl -verify -rawin -pubin -inkey key.pub -in text -sigfile signature";
    CHECK(shell(verify));
    write_bytes(scratch / "text", std::span(text).subspan(1));
    CHECK_FALSE(shell(verify));

    // Another program's key and signature.
    REQUIRE(shell(in + "openssl genpkey -algorithm ed25519 -out other && chmod 600 other && "
                       "openssl pkey -in other -pubout -out other.pub"));
    write_bytes(scratch / "text", text);
    REQUIRE(shell(in + "openssl pkeyutl -sign -rawin -inkey other -in text -out signature"));
    const KeyRing ring = unwrap(read_keys(scratch / "other.pub"));
    REQUIRE(ring.trusted.size() == 1);
    Signature theirs{ring.trusted[0].id(), {}};
    const auto bytes = unwrap(read_bytes(scratch / "signature"));
    REQUIRE(bytes.size() == Signature::size);
    std::memcpy(theirs.bytes.data(), bytes.data(), bytes.size());
    CHECK(ring.trusted[0].verifies(text, theirs));
    CHECK(unwrap(read_secret_key(scratch / "other")).sign(text) == theirs);
}

TEST_CASE("signature: no changed bit of a signed record is admitted and intact") {
    const Scratch scratch;
    const SecretKey key = make_key(scratch, "key");
    const Entry entry = example_entry();
    const RecordKey place{RecordKind::entry, key_of(entry).digest};
    const Trust trust(CacheTrust::signed_only, {{key.public_key()}, {}}, {});
    Bytes bytes = unwrap(add_signature(place, format_entry(entry), key));
    const auto is_used = [&](const RecordKey& at) {
        const auto admitted = trust.admit(at, bytes);
        return admitted && *admitted && parse_entry_for((*admitted)->sealed, key_of(entry));
    };
    REQUIRE(is_used(place));
    std::size_t used = 0;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        const auto mask = static_cast<std::byte>(1U << (bit % 8));
        bytes[bit / 8] ^= mask;
        used += is_used(place) ? 1 : 0;
        bytes[bit / 8] ^= mask;
    }
    CHECK(used == 0);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        Bytes whole(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        std::swap(whole, bytes);
        used += is_used(place) ? 1 : 0;
        std::swap(whole, bytes);
    }
    CHECK(used == 0);
    // Another place, another kind.
    CHECK_FALSE(is_used({RecordKind::entry, sha256("another")}));
    CHECK_FALSE(is_used({RecordKind::manifest, place.digest}));
    CHECK(is_used(place));
}

TEST_CASE("signature: a record has one signature of each key, and at most 16") {
    const Entry entry = example_entry();
    const RecordKey place{RecordKind::entry, key_of(entry).digest};
    const Bytes plain = format_entry(entry);
    Bytes bytes = plain;
    std::vector<SecretKey> keys;
    for (std::uint32_t i = 0; i < max_signatures; ++i) {
        keys.push_back(unwrap(SecretKey::generate()));
        bytes = unwrap(add_signature(place, bytes, keys.back()));
    }
    auto record = unwrap(split_record(bytes));
    CHECK(record.signatures.size() == max_signatures);
    CHECK(std::ranges::equal(record.sealed, plain));
    for (const auto& key : keys) {
        const Trust trust(CacheTrust::signed_only, {{key.public_key()}, {}}, {});
        CHECK(unwrap(trust.admit(place, bytes)).has_value());
    }
    CHECK(unwrap(add_signature(place, bytes, keys[3])).size() == bytes.size());
    const auto refused = add_signature(place, bytes, unwrap(SecretKey::generate()));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "16 other keys have signed this record; that is the most.");
    // Two by one key are damage.
    record.signatures[1] = record.signatures[0];
    CHECK_FALSE(split_record(join_record(record.sealed, record.signatures)));
    CHECK(join_record(record.sealed, {}) == plain);
}

TEST_CASE("key files: PEM blocks, comments and revocations, and anything else names its line") {
    const SecretKey a = unwrap(SecretKey::generate());
    const SecretKey b = unwrap(SecretKey::generate());
    const std::string id = b.public_key().id().to_hex();
    const auto ring = unwrap(parse_keys("# ours\n\n" + a.public_key().to_pem() + "  revoked " + id +
                                        "\tlost laptop\r\n" + b.public_key().to_pem()));
    REQUIRE(ring.trusted.size() == 2);
    CHECK(ring.trusted[0] == a.public_key());
    CHECK(ring.find(b.public_key().id()) == &ring.trusted[1]);
    CHECK(ring.is_revoked(b.public_key().id()));
    CHECK_FALSE(ring.is_revoked(a.public_key().id()));
    CHECK(unwrap(parse_keys("")).trusted.empty());

    CHECK(message_of(parse_keys("\nssh-ed25519 AAAA\n")) ==
          "Line 2 is neither a comment, a PUBLIC KEY block nor 'revoked' with a key's id.");
    CHECK(message_of(parse_keys("revoked 12")) ==
          "Line 1 revokes '12', which isn't a key's id (32 hexadecimal digits).");
    CHECK(message_of(parse_keys(a.to_pem())) ==
          "Line 1 begins a private key, which no client needs.");
    std::string cut = a.public_key().to_pem();
    cut.resize(cut.size() - 10);
    CHECK(message_of(parse_keys(cut)) == "Line 1 begins no Ed25519 public key.");
    // A key of another algorithm (RSA, 512 bits).
    CHECK(message_of(parse_keys("-----BEGIN PUBLIC KEY-----\n"
                                "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf\n"
                                "9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit+CqvjWYzvQwECAwEAAQ==\n"
                                "-----END PUBLIC KEY-----\n")) ==
          "Line 1 begins no Ed25519 public key.");
}

TEST_CASE("key files: a folder's files count together, and modes guard them") {
    const Scratch scratch;
    const SecretKey a = make_key(scratch, "a");
    const SecretKey b = make_key(scratch, "b");
    std::filesystem::create_directory(scratch / "keys");
    std::filesystem::copy(scratch / "a.pub", scratch / "keys" / "a.pub");
    std::filesystem::copy(scratch / "b.pub", scratch / "keys" / "b.pub");
    scratch.write("keys/.ignored", "nonsense");
    scratch.write("keys/revoked", "revoked " + a.public_key().id().to_hex() + "\n");
    const KeyRing ring = unwrap(read_keys(scratch / "keys"));
    CHECK(ring.trusted.size() == 2);
    CHECK(ring.is_revoked(a.public_key().id()));

    CHECK(unwrap(read_secret_key(scratch / "a")).public_key() == a.public_key());
    struct stat status {};
    REQUIRE(::stat((scratch / "a").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600U);
    REQUIRE(::chmod((scratch / "a").c_str(), 0640) == 0);
    const auto readable = read_secret_key(scratch / "a");
    REQUIRE_FALSE(readable);
    CHECK(readable.error().message ==
          "'" + (scratch / "a").string() +
              "' isn't used: its mode is 0640. Only its owner may read a secret key: set its mode "
              "to 0600.");
    REQUIRE(::chmod((scratch / "keys" / "b.pub").c_str(), 0664) == 0);
    CHECK(message_of(read_keys(scratch / "keys")).find("its mode is 0664") != std::string::npos);
    REQUIRE(::chmod((scratch / "keys" / "b.pub").c_str(), 0644) == 0);
    REQUIRE(::chmod((scratch / "keys").c_str(), 0777) == 0);
    CHECK(message_of(read_keys(scratch / "keys")).find("its mode is 0777") != std::string::npos);
    CHECK(read_keys(scratch / "none").error().code == Errc::not_found);
    CHECK_FALSE(read_secret_key(scratch / "b.pub"));
    // Nothing is overwritten.
    CHECK_FALSE(write_key_pair(scratch / "b", b));
    CHECK(unwrap(read_secret_key(scratch / "b")).public_key() == b.public_key());
}
