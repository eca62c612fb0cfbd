// Writes the seed corpora: make_corpus FOLDER.
#include "base/file.hpp"
#include "jit/cache/toolchain.hpp"
#include "jit/headers/manifest.hpp"
#include "jit/pch/record.hpp"
#include "jit/remote/action_result.hpp"
#include "jit/store/key_files.hpp"
#include "jit/store/pack_tier.hpp"
#include "jit/store/sealed_file.hpp"
#include "jit/worker/message.hpp"
#include "tests/unit/jit/cache/example_entry.hpp"

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include <zstd.h>

namespace {

using namespace lode;
using namespace lode::cache;

std::filesystem::path root;

bool seed(const char* parser, const char* name, std::span<const std::byte> bytes) {
    std::filesystem::create_directories(root / parser);
    const bool written = write_atomic(root / parser / name, bytes).has_value();
    if (!written) std::fprintf(stderr, "make_corpus: %s/%s isn't written\n", parser, name);
    return written;
}

/// The sections of a sealed file, in the form that sealed() in target_cache.cpp reads.
Bytes sections_of(const Bytes& bytes, FileKind kind) {
    ByteWriter out;
    const auto file = SealedFile::parse(bytes, kind);
    for (std::uint32_t id = 1; file; ++id) {
        const auto text = file->text(id);
        if (!text) break;
        out.text(*text);
    }
    return std::move(out).take();
}

Manifest example_manifest() {
    HeaderRecord relative;
    relative.path = {HeaderPath::Root::toolkit, 0, "cuda_fp16.h"};
    relative.stamp = {1, 2, 9, 8, 7};
    relative.settled = true;
    HeaderRecord absolute;
    absolute.path = {HeaderPath::Root::absolute, 0, "/a/b.h"};
    HeaderSet set;
    set.headers = {relative, absolute};
    set.probes = {{{HeaderPath::Root::include, 0, "early"}, HeaderProbe::Kind::absent},
                  {{HeaderPath::Root::working, 0, "there"}, HeaderProbe::Kind::file, {1, 3}}};
    set.variables = {VariableRecord::of("NVRTC_OTHER", nullptr)};
    set.bound_to = "source /a/k.cu\n";
    Manifest manifest{KeyWriter().field("arch", "sm_90").finish().text, {}};
    manifest.add(std::move(set));
    return manifest;
}

lode::pch::PchRecord example_pch_record() {
    using Kind = lode::FileAnswer::Kind;
    lode::pch::PchRecord record;
    record.key_text = KeyWriter().field("prefix", "#include <a.h>\n").finish().text;
    record.size = 4096;
    record.content = sha256("content");
    record.verified = {{1, 2, 4096, 8, 9}, "boot"};
    record.conditions.paths = {{"/a.h", Kind::file, true, {1, 3, 5, 7, 9}, true, sha256("a")},
                               {"/b.h", Kind::absent, false, {}, false, {}},
                               {"/c", Kind::folder, false, {}, false, {}}};
    record.conditions.variables = {VariableRecord::of("V", "1")};
    return record;
}

/// What a server answers to target_remote.cpp's requests, and a compressed body.
bool seed_answers(const Bytes& manifest, const Bytes& entry) {
    const std::string path = "entries/" + sha256("a").to_hex();
    const OutputFile with_large[] = {OutputFile::inlined("record", manifest),
                                     OutputFile::stored(path, entry)};
    const OutputFile with_small[] = {OutputFile::inlined("record", manifest),
                                     OutputFile::inlined(path, entry)};
    const OutputFile alone[] = {OutputFile::stored("record", entry)};
    const auto answers = [](std::initializer_list<std::span<const std::byte>> pieces) {
        ByteWriter out;
        for (const auto piece : pieces) {
            out.number(static_cast<std::uint16_t>(piece.size()));
            out.raw(piece);
        }
        return std::move(out).take();
    };
    const Bytes large = format_action_result(with_large);
    const Bytes small = format_action_result(with_small);
    const Bytes entry_action = format_action_result(alone);
    bool fine = seed("remote_answers", "get", answers({large, entry, entry_action, entry}));
    fine &= seed("remote_answers", "prefetch",
                 answers({small, {}, large, entry_action, {}, entry, entry, entry_action, entry}));
    const std::string text(3000, 'x');
    Bytes packed(ZSTD_compressBound(text.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    return seed("zstd_body", "small", packed) && fine;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    root = argv[1];
    const Entry entry = example_entry();
    Entry large = example_entry(1, 20'000);
    large.image.diagnostics.clear();
    const Bytes entry_bytes = format_entry(entry);
    const Bytes manifest = format_manifest(example_manifest());
    KnownCompiler compiler;
    compiler.digest = sha256("compiler").to_hex();
    compiler.properties.files = {{"/usr/local/cuda/lib64/libnvrtc.so.13", {1, 2, 3, 4, 5}}};
    CompilerInfo& info = compiler.properties.info;
    info.version_major = 13;
    info.build = "13.0.88";
    info.path = "/usr/local/cuda/lib64/libnvrtc.so.13";
    info.supported = {{8, 0}, {9, 0}};
    info.search_attempts = {"opened"};
    const Bytes pack = format_pack({{{RecordKind::entry, sha256("a")}, Bytes(10)},
                                    {{RecordKind::manifest, sha256("a")}, Bytes(3)}});
    constexpr std::string_view source =
        "#include <a.h>\n#inc\\\nlude \"b.h\"\n#if __has_include(<c.h>)\n#include M\n/*x*/ "
        "%:include "
        "<d.h>\n?\?=include_next <e.h>\n";
    bool fine = seed("entry", "small", entry_bytes);
    // The key of test 1 in RFC 8032, section 7.1.
    constexpr std::string_view pem =
        "-----BEGIN PRIVATE KEY-----\n"
        "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
        "-----END PRIVATE KEY-----\n";
    const auto key = SecretKey::from_pem(pem);
    if (!key) return 1;
    const RecordKey place{RecordKind::entry, lode::sha256(entry.key_text)};
    fine &=
        seed("signed_record", "small", add_signature(place, entry_bytes, *key).value_or(Bytes()));
    fine &= seed("secret_key", "small", as_bytes(pem));
    fine &= seed("key_file", "small",
                 as_bytes("# ours\n" + key->public_key().to_pem() + "revoked " +
                          key->public_key().id().to_hex() + " lost\n"));
    fine &= seed("entry", "compressed", format_entry(large));
    fine &= seed("entry_sections", "small", sections_of(entry_bytes, FileKind::entry));
    fine &= seed("manifest", "small", manifest);
    const std::string entry_path = "entries/" + sha256("a").to_hex();
    const OutputFile files[] = {OutputFile::inlined("record", manifest),
                                OutputFile::stored(entry_path, entry_bytes)};
    fine &= seed("action_result", "small", format_action_result(files));
    fine &= seed_answers(manifest, entry_bytes);
    fine &= seed("pack", "small", pack);
    fine &= seed("toolchain", "small", format_toolchain(compiler));
    fine &= seed("manifest_sections", "small", sections_of(manifest, FileKind::manifest));
    const Bytes record_bytes = lode::pch::format_record(example_pch_record());
    fine &= seed("pch_prefix", "small", as_bytes(source));
    fine &= seed("pch_record", "small", record_bytes);
    fine &= seed("pch_record_sections", "small", sections_of(record_bytes, FileKind::pch));
    fine &= seed("toolchain_sections", "small",
                 sections_of(format_toolchain(compiler), FileKind::toolchain));
    fine &= seed("pack_sections", "small", sections_of(pack, FileKind::pack));
    fine &= seed("key_text", "small", as_bytes(entry.key_text));
    lode::worker::Request request{
        {},
        "/work",
        {"A=1", "B="},
        {lode::Source::text("__global__ void k() {}", "a.cu"), entry.image.arch, {}, {"f<int>"}}};
    request.compilation.options.definitions = {{"N", "4"}, {"M"}};
    request.compilation.options.headers = {{"h.h", "int h;"}};
    request.compilation.options.math.ftz = true;
    request.compilation.limits.memory_bytes = 1 << 30;
    fine &= seed("worker_request", "small", lode::worker::format_request(request));
    fine &= seed("worker_setup", "small",
                 lode::worker::format_setup(
                     {lode::Source::Language::nvvm_ir, request.nvrtc, {"/a", "/b"}, 64, 1024}));
    lode::FileRecord record;
    record.answers["a.h"].content =
        std::make_shared<const lode::FileContent>(lode::FileContent{.text = "int a;", .stamp = {}});
    record.variables["V"] = "1";
    lode::worker::Answer answer{entry.image, {}};
    answer.files.compiler = lode::FileAccesses(record);
    fine &= seed("worker_answer", "image", lode::worker::format_answer(answer));
    answer.image = lode::fail(lode::Errc::compile_failed, "no", {}, "log");
    fine &= seed("worker_answer", "error", lode::worker::format_answer(answer));
    fine &= seed("include_scan", "small", as_bytes(source));
    return fine ? 0 : 1;
}
