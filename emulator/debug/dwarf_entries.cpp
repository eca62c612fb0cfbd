#include "emulator/debug/dwarf_entries.hpp"

namespace lode::emulator::debug {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

struct Abbreviation {
    struct Part {
        u32 attribute = 0, form = 0;
        i64 constant = 0;
    };
    u32 tag = 0;
    bool has_children = false;
    std::vector<Part> parts;
};
using Abbreviations = std::unordered_map<u64, Abbreviation>;

Abbreviations read_abbreviations(const Section& table, std::size_t at) {
    Abbreviations all;
    Cursor from(table, at);
    while (const u64 code = from.unsigned_leb()) {
        Abbreviation& made = all[code];
        made.tag = static_cast<u32>(from.unsigned_leb());
        made.has_children = from.number(1) != 0;
        for (;;) {
            Abbreviation::Part part;
            part.attribute = static_cast<u32>(from.unsigned_leb());
            part.form = static_cast<u32>(from.unsigned_leb());
            constexpr u32 implicit_constant = 0x21;
            if (part.form == implicit_constant) part.constant = from.signed_leb();
            if (part.attribute == 0 && part.form == 0) break;
            made.parts.push_back(part);
        }
    }
    return all;
}

}  // namespace

DwarfEntries::DwarfEntries(const DebugText& text) : text_(text) {
    try {
        for (Cursor units(section(".debug_info"), 0); !units.at_end();)
            read_unit(units);
    } catch (const Unreadable&) {  // What has been read counts.
    }
}

const Entry* DwarfEntries::find(std::size_t offset) const {
    const auto found = entries_.find(offset);
    return found == entries_.end() ? nullptr : &found->second;
}

const Section& DwarfEntries::section(std::string_view name) const {
    static const Section none;
    const auto found = text_.sections.find(name);
    return found == text_.sections.end() ? none : found->second;
}

FormValue DwarfEntries::read_value(Cursor& from, u32 form, i64 constant) const {
    FormValue value;
    value.reference = from.reference();
    const auto block = [&](u64 size) {
        value.is_block = true;
        value.number = from.at();
        value.size = size;
        from.skip(size);
    };
    const auto in_unit = [&](u64 offset) { value.number = unit_start_ + offset; };
    switch (form) {
        case 0x01:  // addr
            value.number = from.number(address_bytes_);
            break;
        case 0x03:  // block2
            block(from.number(2));
            break;
        case 0x04:  // block4
            block(from.number(4));
            break;
        case 0x05:  // data2
            value.number = from.number(2);
            break;
        case 0x06:  // data4
        case 0x17:  // sec_offset
            value.number = from.number(4);
            break;
        case 0x07:  // data8
            value.number = from.number(8);
            break;
        case 0x08:  // string
            value.text = from.text();
            break;
        case 0x09:  // block
        case 0x18:  // exprloc
            block(from.unsigned_leb());
            break;
        case 0x0a:  // block1
            block(from.number(1));
            break;
        case 0x0b:  // data1
        case 0x0c:  // flag
            value.number = from.number(1);
            break;
        case 0x0d:  // sdata
            value.number = static_cast<u64>(from.signed_leb());
            break;
        case 0x0e:    // strp
        case 0x1f: {  // line_strp
            value.number = from.number(4);
            Cursor text(section(form == 0x0e ? ".debug_str" : ".debug_line_str"), value.number);
            value.text = text.text();
            break;
        }
        case 0x0f:  // udata
            value.number = from.unsigned_leb();
            break;
        case 0x10:  // ref_addr
            value.number = from.number(version_ < 3 ? address_bytes_ : 4);
            break;
        case 0x11:  // ref1
            in_unit(from.number(1));
            break;
        case 0x12:  // ref2
            in_unit(from.number(2));
            break;
        case 0x13:  // ref4
            in_unit(from.number(4));
            break;
        case 0x14:  // ref8
            in_unit(from.number(8));
            break;
        case 0x15:  // ref_udata
            in_unit(from.unsigned_leb());
            break;
        case 0x19:  // flag_present
            value.number = 1;
            break;
        case 0x21:  // implicit_const
            value.number = static_cast<u64>(constant);
            break;
        default:
            throw Unreadable{};
    }
    return value;
}

void DwarfEntries::read_unit(Cursor& units) {
    unit_start_ = units.at();
    const u64 size = units.number(4);
    const std::size_t end = units.at() + size;
    version_ = static_cast<unsigned>(units.number(2));
    if (version_ < 2 || version_ > 5) throw Unreadable{};
    constexpr unsigned newest_order = 5;
    if (version_ >= newest_order) {
        units.skip(1);  // The kind of the unit.
        address_bytes_ = static_cast<unsigned>(units.number(1));
    }
    const u64 table = units.number(4);
    if (version_ < newest_order) address_bytes_ = static_cast<unsigned>(units.number(1));
    const Abbreviations abbreviations = read_abbreviations(section(".debug_abbrev"), table);
    std::vector<std::size_t> parents;
    while (units.at() < end) {
        const std::size_t at = units.at();
        const u64 code = units.unsigned_leb();
        if (code == 0) {
            if (parents.empty()) break;
            parents.pop_back();
            continue;
        }
        const auto found = abbreviations.find(code);
        if (found == abbreviations.end()) throw Unreadable{};
        const Abbreviation& form = found->second;
        Entry entry;
        entry.tag = form.tag;
        for (const Abbreviation::Part& part : form.parts)
            entry.attributes[part.attribute] = read_value(units, part.form, part.constant);
        entries_[at] = std::move(entry);
        (parents.empty() ? units_ : entries_[parents.back()].children).push_back(at);
        if (form.has_children) parents.push_back(at);
    }
    units = Cursor(section(".debug_info"), end);
}

const Entry& DwarfEntries::origin_of(const Entry& entry) const {
    const Entry* at = &entry;
    for (int steps = 0; steps < 8; ++steps) {
        const FormValue* to = at->find(at_abstract_origin);
        if (to == nullptr) to = at->find(at_specification);
        const Entry* const found = to == nullptr ? nullptr : find(to->number);
        if (found == nullptr) break;
        at = found;
    }
    return *at;
}

}  // namespace lode::emulator::debug
