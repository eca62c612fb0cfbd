// The cache's own files: entries, manifests, toolchain records, packs and keys; and the messages of
// workers.
#include "jit/cache/toolchain.hpp"
#include "jit/headers/manifest.hpp"
#include "jit/pch/prefix.hpp"
#include "jit/pch/record.hpp"
#include "jit/remote/action_result.hpp"
#include "jit/store/entry_format.hpp"
#include "jit/store/key.hpp"
#include "jit/store/key_files.hpp"
#include "jit/store/pack_tier.hpp"
#include "jit/store/sealed_file.hpp"
#include "jit/store/trust.hpp"
#include "jit/worker/message.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <string>

namespace lode::fuzz {
namespace {

using namespace lode;
using namespace lode::cache;

/// The bytes as length-prefixed sections with ids 1, 2, 3, …, sealed as by SealedWriter.
lode::Bytes sealed(Bytes bytes, FileKind kind) {
    SealedWriter out(kind);
    ByteReader in(bytes);
    constexpr std::uint32_t most = 16;
    for (std::uint32_t id = 1; id <= most && !in.rest().empty(); ++id) {
        const std::string section = in.text();
        out.section(id, as_bytes(section), SealedWriter::Effort::usual);
    }
    return out.seal();
}

bool check_entry(Bytes bytes) {
    const auto parsed = parse_entry(bytes);
    if (!parsed) return false;
    const auto again = parse_entry(format_entry(*parsed));
    require(again && *again == *parsed);
    return true;
}

bool check_manifest(Bytes bytes) {
    const auto parsed = parse_manifest(bytes);
    if (!parsed) return false;
    const auto again = parse_manifest(format_manifest(*parsed));
    require(again && *again == *parsed);
    return true;
}

/// The answer of a remote cache.
bool action_result(Bytes bytes) {
    const auto parsed = parse_action_result(bytes);
    if (!parsed) return false;
    const auto again = parse_action_result(format_action_result(*parsed));
    require(again && *again == *parsed);
    return true;
}

bool entry(Bytes bytes) {
    return check_entry(bytes);
}

bool entry_sections(Bytes bytes) {
    return check_entry(sealed(bytes, FileKind::entry));
}

bool manifest(Bytes bytes) {
    return check_manifest(bytes);
}

/// The record of a precompiled header, whole or in sections.
bool check_pch_record(Bytes bytes) {
    const auto parsed = pch::parse_record(bytes);
    if (!parsed) return false;
    const auto again = pch::parse_record(pch::format_record(*parsed));
    require(again && *again == *parsed);
    return true;
}

bool pch_record(Bytes bytes) {
    return check_pch_record(bytes);
}

/// The head of a source is its own head, and begins it.
bool pch_prefix(Bytes bytes) {
    const auto code = as_text(bytes);
    const auto head = pch::header_prefix(code);
    require(code.starts_with(head) && pch::header_prefix(head) == head);
    return !head.empty();
}

bool pch_record_sections(Bytes bytes) {
    return check_pch_record(sealed(bytes, FileKind::pch));
}

bool manifest_sections(Bytes bytes) {
    return check_manifest(sealed(bytes, FileKind::manifest));
}

bool toolchain_sections(Bytes bytes) {
    const auto parsed = parse_toolchain(sealed(bytes, FileKind::toolchain));
    if (parsed) require(parse_toolchain(format_toolchain(*parsed)).has_value());
    return parsed.has_value();
}

bool pack_sections(Bytes bytes) {
    const auto parsed = parse_pack(sealed(bytes, FileKind::pack));
    if (!parsed) return false;
    const auto again = parse_pack(format_pack(*parsed));
    require(again && again->size() == parsed->size());
    return true;
}

bool key_text(Bytes bytes) {
    const auto fields = key_fields(as_text(bytes));
    if (!fields) return false;
    KeyWriter out;
    for (const auto& [name, value] : *fields)
        out.field(name, value);
    const auto again = key_fields(out.finish().text);
    require(again && *again == *fields);
    return true;
}

bool pack(Bytes bytes) {
    return parse_pack(bytes).has_value();
}

bool toolchain(Bytes bytes) {
    return parse_toolchain(bytes).has_value();
}

/// A message that parses comes out of its own bytes again.
template <auto parse, auto format>
bool message(Bytes bytes) {
    const auto parsed = parse(bytes);
    if (!parsed) return false;
    const lode::Bytes again = format(*parsed);
    const auto twice = parse(again);
    require(twice && format(*twice) == again);
    return true;
}

/// Takes apart and puts together the same bytes; nobody has signed them with this key.
bool signed_record(Bytes bytes) {
    static const PublicKey stranger({1, 2, 3});
    static const Trust trust(CacheTrust::signed_only, {{stranger}, {}}, {});
    const auto admitted = trust.admit({RecordKind::entry, sha256("place")}, bytes);
    require(!admitted || !*admitted);
    const auto record = split_record(bytes);
    if (!record) return false;
    require(std::ranges::equal(join_record(record->sealed, record->signatures), bytes));
    return !record->signatures.empty();
}

bool key_file(Bytes bytes) {
    const auto ring = parse_keys(as_text(bytes));
    if (!ring) return false;
    std::string text;
    for (const auto& key : ring->trusted)
        text += key.to_pem();
    const auto again = parse_keys(text);
    require(again && again->trusted == ring->trusted);
    return !ring->trusted.empty();
}

bool secret_key(Bytes bytes) {
    const auto key = SecretKey::from_pem(as_text(bytes));
    if (!key) return false;
    const auto again = SecretKey::from_pem(key->to_pem());
    require(again && again->public_key() == key->public_key());
    return true;
}

constexpr Target cache_rows[] = {
    // Whole files: tests mostly headers, tables and seals.
    {"entry", entry, Form::bytes, "entry"},
    {"action_result", action_result, Form::bytes, "action_result"},
    {"manifest", manifest, Form::bytes, "manifest"},
    {"pack", pack, Form::bytes, "pack"},
    {"toolchain", toolchain, Form::bytes, "toolchain"},
    // Sections under valid seals: tests the contents.
    {"entry_sections", entry_sections, Form::bytes, "entry_sections"},
    {"manifest_sections", manifest_sections, Form::bytes, "manifest_sections"},
    {"pch_record", pch_record, Form::bytes, "pch_record"},
    {"pch_record_sections", pch_record_sections, Form::bytes, "pch_record_sections"},
    {"toolchain_sections", toolchain_sections, Form::bytes, "toolchain_sections"},
    {"pack_sections", pack_sections, Form::bytes, "pack_sections"},
    {"key_text", key_text, Form::text, "key_text"},
    // Signatures and keys.
    {"signed_record", signed_record, Form::bytes, "signed_record"},
    {"key_file", key_file, Form::text, "key_file"},
    {"secret_key", secret_key, Form::text, "secret_key"},
    {"pch_prefix", pch_prefix, Form::text, "pch_prefix"},
    // The messages between a host and its workers.
    {"worker_request", message<worker::parse_request, worker::format_request>, Form::bytes,
     "worker_request"},
    {"worker_setup", message<worker::parse_setup, worker::format_setup>, Form::bytes,
     "worker_setup"},
    {"worker_answer", message<worker::parse_answer, worker::format_answer>, Form::bytes,
     "worker_answer"},
};

}  // namespace

std::span<const Target> cache_targets() noexcept {
    return cache_rows;
}

}  // namespace lode::fuzz
