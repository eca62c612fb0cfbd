// DwarfEntries: the debugging information entries of PTX, as a tree. Private to the reader of
// DWARF.
#pragma once

#include "emulator/debug/debug_text.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lode::emulator::debug {

// The numbers of the DWARF standard, chapter 7.
enum Tag : std::uint32_t {
    tag_array = 0x01,
    tag_class = 0x02,
    tag_enumeration = 0x04,
    tag_parameter = 0x05,
    tag_block = 0x0b,
    tag_member = 0x0d,
    tag_pointer = 0x0f,
    tag_reference = 0x10,
    tag_unit = 0x11,
    tag_structure = 0x13,
    tag_typedef = 0x16,
    tag_union = 0x17,
    tag_inheritance = 0x1c,
    tag_inlined = 0x1d,
    tag_subrange = 0x21,
    tag_base = 0x24,
    tag_const = 0x26,
    tag_enumerator = 0x28,
    tag_function = 0x2e,
    tag_variable = 0x34,
    tag_volatile = 0x35,
    tag_restrict = 0x37,
    tag_unspecified = 0x3b,
    tag_rvalue_reference = 0x42,
};
enum Attribute : std::uint32_t {
    at_location = 0x02,
    at_name = 0x03,
    at_byte_size = 0x0b,
    at_bit_size = 0x0d,
    at_low = 0x11,
    at_high = 0x12,
    at_constant = 0x1c,
    at_upper_bound = 0x2f,
    at_abstract_origin = 0x31,
    at_count = 0x37,
    at_member_location = 0x38,
    at_encoding = 0x3e,
    at_specification = 0x47,
    at_type = 0x49,
    at_data_bit_offset = 0x6b,
    at_bit_offset = 0x0c,
    at_linkage_name = 0x6e,
    at_mips_linkage_name = 0x2007,
};

/// Thrown: a section ends early, or has a form that isn't known.
struct Unreadable {};

class Cursor {
public:
    Cursor(const Section& section, std::size_t at) : section_(&section), at_(at) {}

    [[nodiscard]] std::size_t at() const noexcept { return at_; }
    [[nodiscard]] bool at_end() const noexcept { return at_ >= section_->bytes.size(); }
    std::uint64_t number(unsigned bytes) {
        need(bytes);
        std::uint64_t value = 0;
        for (unsigned k = 0; k < bytes; ++k)
            value |= std::uint64_t{section_->bytes[at_++]} << (8 * k);
        return value;
    }
    std::uint64_t unsigned_leb() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const std::uint64_t byte = number(1);
            if (shift < 64) value |= (byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
    }
    std::int64_t signed_leb() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;;) {
            const std::uint64_t byte = number(1);
            if (shift < 64) value |= (byte & 0x7f) << shift;
            shift += 7;
            if (byte >= 0x80) continue;
            if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
            return static_cast<std::int64_t>(value);
        }
    }
    std::string_view text() {
        const auto* const start = reinterpret_cast<const char*>(section_->bytes.data()) + at_;
        std::size_t size = 0;
        while (number(1) != 0)
            ++size;
        return {start, size};
    }
    void skip(std::size_t bytes) {
        need(bytes);
        at_ += bytes;
    }
    /// What stands in place of the number here.
    [[nodiscard]] const Reference* reference() const {
        const auto found = section_->references.find(at_);
        return found == section_->references.end() ? nullptr : &found->second;
    }

private:
    void need(std::size_t bytes) const {
        if (at_ > section_->bytes.size() || section_->bytes.size() - at_ < bytes)
            throw Unreadable{};
    }
    const Section* section_;
    std::size_t at_;
};

struct FormValue {
    std::uint64_t number = 0;  ///< Or the offset of a block in its section.
    std::size_t size = 0;
    bool is_block = false;
    std::string_view text;
    const Reference* reference = nullptr;
};

struct Entry {
    std::uint32_t tag = 0;
    std::unordered_map<std::uint32_t, FormValue> attributes;
    std::vector<std::size_t> children;  ///< Offsets.

    [[nodiscard]] const FormValue* find(std::uint32_t attribute) const {
        const auto found = attributes.find(attribute);
        return found == attributes.end() ? nullptr : &found->second;
    }
    [[nodiscard]] std::uint64_t number(std::uint32_t attribute, std::uint64_t fallback = 0) const {
        const FormValue* const value = find(attribute);
        return value == nullptr || value->is_block ? fallback : value->number;
    }
    [[nodiscard]] std::string text(std::uint32_t attribute) const {
        const FormValue* const value = find(attribute);
        return value == nullptr ? std::string() : std::string(value->text);
    }
};

class DwarfEntries {
public:
    /// What can be read of .debug_info; `text` must outlive it.
    explicit DwarfEntries(const DebugText& text);

    [[nodiscard]] const std::vector<std::size_t>& units() const noexcept { return units_; }
    [[nodiscard]] const Entry* find(std::size_t offset) const;
    [[nodiscard]] const Entry& at(std::size_t offset) const { return entries_.at(offset); }
    /// The entry that has the name and the type: another one for a copy of inlined code.
    [[nodiscard]] const Entry& origin_of(const Entry& entry) const;
    /// Empty if the text has none of the name.
    [[nodiscard]] const Section& section(std::string_view name) const;
    /// Bytes of an address in the newest unit.
    [[nodiscard]] unsigned address_bytes() const noexcept { return address_bytes_; }

private:
    void read_unit(Cursor& units);
    FormValue read_value(Cursor& from, std::uint32_t form, std::int64_t constant) const;

    const DebugText& text_;
    std::unordered_map<std::size_t, Entry> entries_;
    std::vector<std::size_t> units_;
    std::size_t unit_start_ = 0;
    unsigned version_ = 0, address_bytes_ = 8;
};

}  // namespace lode::emulator::debug
