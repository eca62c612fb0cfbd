#include "jit/store/entry_format.hpp"

#include "base/try.hpp"
#include "jit/request/image_bytes.hpp"
#include "jit/store/sealed_file.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

enum EntrySection : std::uint32_t {
    key = 1,
    headers,
    properties,
    cubin,
    ptx,
    symbols,
    messages,
    lto_ir,
    tile_ir,
    answer,
    optix_ir
};

Bytes format_properties(const Entry& entry) {
    ByteWriter out;
    out.text(entry.image.name);
    out.text(entry.image.arch.to_string());
    out.text(entry.image.compiler);
    out.number(entry.compile_ms);
    return std::move(out).take();
}

Status parse_properties(std::span<const std::byte> bytes, Entry& entry) {
    ByteReader in(bytes);
    entry.image.name = in.text();
    const auto arch = Arch::parse(in.text());
    entry.image.compiler = in.text();
    entry.compile_ms = in.number<double>();
    if (!in.ended() || !arch || !std::isfinite(entry.compile_ms)) {
        return damaged("its properties can't be parsed");
    }
    entry.image.arch = *arch;
    return {};
}

/// The value of the last field of that name; empty when there is none.
std::string_view value_of(const KeyFields& fields, std::string_view name) {
    const auto found = std::find_if(fields.rbegin(), fields.rend(),
                                    [&](const auto& field) { return field.first == name; });
    return found == fields.rend() ? std::string_view() : found->second;
}

/// Checks that the contents match the key text.
Status check_consistency(const Entry& entry) {
    const auto fields = key_fields(entry.key_text);
    if (!fields) return damaged("its key text can't be parsed");
    const Image& image = entry.image;
    if (value_of(*fields, "arch") != image.arch.to_string()) {
        return damaged(fmt::format("its code is for {}, but its key is for {}",
                                   image.arch.to_string(), value_of(*fields, "arch")));
    }
    if (value_of(*fields, "compiler") != image.compiler) {
        return damaged(fmt::format("its code is from the compiler '{}', but its key is from '{}'",
                                   image.compiler, value_of(*fields, "compiler")));
    }
    if ((value_of(*fields, "output") == answer_output) != entry.answer.has_value())
        return damaged("it holds another kind of result than its key says");
    if (entry.answer) return {};
    if (value_of(*fields, "output") == lto_ir_output) {
        if (image.lto_ir.empty()) return damaged("it holds no LTO-IR");
    } else if (value_of(*fields, "output") == tile_ir_output) {
        if (image.tile_ir.empty()) return damaged("it holds no Tile IR");
    } else if (value_of(*fields, "output") == optix_ir_output) {
        if (image.optix_ir.empty()) return damaged("it holds no OptiX IR");
    } else if (image.arch.is_real() ? image.cubin.empty() : image.ptx.empty()) {
        return damaged("it holds no code");
    }
    return {};
}

/// Reads all sections except the header list.
Result<Entry> read_entry(const SealedFile& file) {
    Entry entry;
    LODE_TRY_ASSIGN(entry.key_text, file.text(EntrySection::key));
    LODE_TRY_ASSIGN(const Bytes property_bytes, file.section(EntrySection::properties));
    LODE_TRY_ASSIGN(entry.image.cubin, file.section(EntrySection::cubin));
    LODE_TRY_ASSIGN(entry.image.ptx, file.text(EntrySection::ptx));
    LODE_TRY_ASSIGN(entry.image.lto_ir, file.section(EntrySection::lto_ir));
    LODE_TRY_ASSIGN(entry.image.tile_ir, file.section(EntrySection::tile_ir));
    if (file.has(EntrySection::optix_ir)) {
        LODE_TRY_ASSIGN(entry.image.optix_ir, file.section(EntrySection::optix_ir));
    }
    LODE_TRY_ASSIGN(const Bytes symbol_bytes, file.section(EntrySection::symbols));
    LODE_TRY_ASSIGN(const Bytes message_bytes, file.section(EntrySection::messages));
    if (file.has(EntrySection::answer)) {
        LODE_TRY_ASSIGN(const Bytes bytes, file.section(EntrySection::answer));
        ByteReader in(bytes);
        entry.answer = read_nvrtc_answer(in);
        if (!in.ended()) return damaged("its answer can't be parsed");
    }
    LODE_TRY(parse_properties(property_bytes, entry));
    if (!parse_symbols(symbol_bytes, entry.image)) return damaged("its symbols can't be parsed");
    if (!parse_messages(message_bytes, entry.image)) return damaged("its messages can't be parsed");
    LODE_TRY(check_consistency(entry));
    return entry;
}

}  // namespace

Bytes format_entry(const Entry& entry) {
    SealedWriter out(FileKind::entry);
    out.section(EntrySection::key, as_bytes(entry.key_text), SealedWriter::Effort::usual);
    out.section(EntrySection::headers, as_bytes(entry.header_list), SealedWriter::Effort::usual);
    out.section(EntrySection::properties, format_properties(entry), SealedWriter::Effort::none);
    out.section(EntrySection::cubin, entry.image.cubin, SealedWriter::Effort::usual);
    out.section(EntrySection::ptx, as_bytes(entry.image.ptx), SealedWriter::Effort::usual);
    out.section(EntrySection::symbols, format_symbols(entry.image), SealedWriter::Effort::usual);
    out.section(EntrySection::messages, format_messages(entry.image), SealedWriter::Effort::usual);
    out.section(EntrySection::lto_ir, entry.image.lto_ir, SealedWriter::Effort::usual);
    out.section(EntrySection::tile_ir, entry.image.tile_ir, SealedWriter::Effort::usual);
    if (entry.answer) {
        ByteWriter answer;
        write(answer, *entry.answer);
        out.section(EntrySection::answer, answer.bytes(), SealedWriter::Effort::usual);
    }
    if (!entry.image.optix_ir.empty())
        out.section(EntrySection::optix_ir, entry.image.optix_ir, SealedWriter::Effort::usual);
    return out.seal();
}

Result<Entry> parse_entry(std::span<const std::byte> bytes) {
    LODE_TRY_ASSIGN(const auto file, SealedFile::parse(bytes, FileKind::entry));
    LODE_TRY_ASSIGN(Entry entry, read_entry(file));
    LODE_TRY_ASSIGN(entry.header_list, file.text(EntrySection::headers));
    const auto fields = key_fields(entry.key_text);
    if (!fields || value_of(*fields, "headers.sha256") != sha256(entry.header_list).to_hex()) {
        return damaged("its header list doesn't match its key");
    }
    return entry;
}

Result<Entry> parse_entry_for(std::span<const std::byte> bytes, const Key& key) {
    LODE_TRY_ASSIGN(const auto file, SealedFile::parse(bytes, FileKind::entry));
    LODE_TRY_ASSIGN(Entry entry, read_entry(file));
    if (entry.key_text != key.text) return damaged("it belongs to another key");
    return entry;
}

}  // namespace LODE_NAMESPACE::cache
