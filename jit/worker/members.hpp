// The options of a request as bytes. Each struct is taken apart as a whole, so that a new member
// doesn't compile here; what writes and what reads visit the same list.
#pragma once

#include "jit/bytes.hpp"

#include <lode/jit/linker.hpp>
#include <lode/jit/options.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE::worker {

inline void write(ByteWriter& out, const std::optional<std::string>& text) {
    out.flag(text.has_value());
    if (text) out.text(*text);
}
inline std::optional<std::string> read_optional(ByteReader& in) {
    if (!in.flag()) return std::nullopt;
    return in.text();
}

inline void write(ByteWriter& out, const std::vector<std::string>& texts) {
    out.count(texts.size());
    for (const auto& text : texts)
        out.text(text);
}
inline std::vector<std::string> read_texts(ByteReader& in) {
    std::vector<std::string> texts;
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
        texts.push_back(in.text());
    return texts;
}

inline void write(ByteWriter& out, const std::optional<bool>& value) {
    out.flag(value.has_value());
    out.flag(value.value_or(false));
}
inline std::optional<bool> read_switch(ByteReader& in) {
    const bool has_value = in.flag();
    const bool value = in.flag();
    return has_value ? std::optional(value) : std::nullopt;
}

inline std::vector<std::byte> read_bytes(ByteReader& in) {
    const auto bytes = in.raw(in.number<std::uint64_t>());
    return {bytes.begin(), bytes.end()};
}

/// CompileOptions, const or not.
template <class Visitor>
void for_each_member(auto& options, const Visitor& visit) requires
    std::is_same_v<std::remove_cvref_t<decltype(options)>, CompileOptions> {
    auto& [definitions, include_folders, headers, pre_includes, standard, math, max_registers,
           line_info, debug, source_files, relocatable, lto, minimal, tile, toolkit_headers,
           extra_flags] = options;
    visit(definitions);
    visit(include_folders);
    visit(headers);
    visit(pre_includes);
    visit(standard, Standard::cxx20);
    auto& [preset, ftz, prec_div, prec_sqrt, fmad] = math;
    visit(preset, Math::Preset::host_comparable);
    visit(ftz);
    visit(prec_div);
    visit(prec_sqrt);
    visit(fmad);
    visit(max_registers);
    visit(line_info);
    visit(debug);
    visit(source_files);
    visit(relocatable);
    visit(lto);
    visit(minimal);
    visit(tile, Tile::only);
    visit(toolkit_headers);
    visit(extra_flags);
}

/// LinkOptions, const or not.
template <class Visitor>
void for_each_member(auto& options, const Visitor& visit) requires
    std::is_same_v<std::remove_cvref_t<decltype(options)>, LinkOptions> {
    auto& [max_registers, line_info, debug, verbose, extra_flags, lto, optimization_level,
           split_compile, kernels_used, variables_used, drop_unused_variables] = options;
    visit(max_registers);
    visit(line_info);
    visit(debug);
    visit(verbose);
    visit(extra_flags);
    visit(lto);
    visit(optimization_level);
    visit(split_compile);
    visit(kernels_used);
    visit(variables_used);
    visit(drop_unused_variables);
}

struct MemberWriter {
    ByteWriter& out;

    void operator()(bool value) const { out.flag(value); }
    void operator()(int value) const { out.number(std::int32_t{value}); }
    void operator()(const std::optional<bool>& value) const { write(out, value); }
    void operator()(const std::optional<int>& value) const {
        out.flag(value.has_value());
        out.number(std::int32_t{value.value_or(0)});
    }
    void operator()(const std::vector<std::string>& texts) const { write(out, texts); }
    void operator()(const std::vector<std::filesystem::path>& paths) const {
        out.count(paths.size());
        for (const auto& path : paths)
            out.text(path.string());
    }
    void operator()(const std::vector<Definition>& definitions) const {
        out.count(definitions.size());
        for (const auto& [name, value] : definitions) {
            out.text(name);
            write(out, value);
        }
    }
    void operator()(const std::vector<Header>& headers) const {
        out.count(headers.size());
        for (const auto& [name, text] : headers) {
            out.text(name);
            out.long_text(text);
        }
    }
    template <class Enumeration>
    void operator()(Enumeration value, Enumeration /*last*/) const {
        out.number(static_cast<std::uint8_t>(value));
    }
};

struct MemberReader {
    ByteReader& in;

    void operator()(bool& value) const { value = in.flag(); }
    void operator()(int& value) const { value = in.number<std::int32_t>(); }
    void operator()(std::optional<bool>& value) const { value = read_switch(in); }
    void operator()(std::optional<int>& value) const {
        const bool has_value = in.flag();
        const int number = in.number<std::int32_t>();
        value = has_value ? std::optional(number) : std::nullopt;
    }
    void operator()(std::vector<std::string>& texts) const { texts = read_texts(in); }
    void operator()(std::vector<std::filesystem::path>& paths) const {
        for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
            paths.emplace_back(in.text());
    }
    void operator()(std::vector<Definition>& definitions) const {
        for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
            Definition definition;
            definition.name = in.text();
            definition.value = read_optional(in);
            definitions.push_back(std::move(definition));
        }
    }
    void operator()(std::vector<Header>& headers) const {
        for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
            Header header;
            header.name = in.text();
            header.text = in.long_text();
            headers.push_back(std::move(header));
        }
    }
    template <class Enumeration>
    void operator()(Enumeration& value, Enumeration last) const {
        value = in.enumerator(last);
    }
};

}  // namespace LODE_NAMESPACE::worker
