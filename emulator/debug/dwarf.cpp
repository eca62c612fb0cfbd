#include "emulator/debug/dwarf.hpp"

#include "base/cxx_names.hpp"
#include "emulator/debug/dwarf_entries.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::debug {

namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

constexpr u8 op_address = 0x03;
constexpr u8 op_plus_unsigned = 0x23;
constexpr u8 op_register = 0x90;  // With the name as a number.

class Reader {
public:
    explicit Reader(std::string_view ptx) : text_(read_debug_text(ptx)), entries_(text_) {}

    std::unique_ptr<DebugInfo> run() {
        auto made = std::make_unique<DebugInfo>();
        info_ = made.get();
        for (const std::size_t unit : entries_.units())
            read_names(entries_.at(unit));
        const Section& strings = entries_.section(".debug_str");
        for (const auto& [label, at] : strings.labels)
            made->strings.emplace(label, read_string(strings, at));
        return made;
    }

private:
    static std::string read_string(const Section& from, std::size_t at) {
        try {
            return std::string(Cursor(from, at).text());
        } catch (const Unreadable&) {
            return {};
        }
    }
    [[nodiscard]] u32 line_of(const FormValue* label) const {
        if (label == nullptr || label->reference == nullptr) return 0;
        return line_of(*label->reference);
    }
    [[nodiscard]] u32 line_of(const Reference& label) const {
        const auto found = text_.labels.find(label.symbol);
        return found == text_.labels.end() ? 0 : found->second;
    }

    void read_names(const Entry& scope);
    const Type* type_at(std::size_t offset);
    const Type* type_of(const Entry& entry);
    void fill(Type& type, const Entry& entry);
    void fill_structure(Type& type, const Entry& entry);
    void fill_array(Type& type, const Entry& entry);
    Whereabouts whereabouts(const Section& in, std::size_t at, std::size_t size) const;
    DebugVariable read_variable(const Entry& entry, LineRange everywhere);
    Block read_block(const Entry& entry, LineRange around);

    const DebugText text_;
    const DwarfEntries entries_;
    DebugInfo* info_ = nullptr;
    std::unordered_map<std::size_t, Type*> types_;
};

const Type* Reader::type_of(const Entry& entry) {
    const FormValue* const type = entry.find(at_type);
    return type == nullptr ? nullptr : type_at(type->number);
}

const Type* Reader::type_at(std::size_t offset) {
    const auto [known, is_new] = types_.try_emplace(offset, nullptr);
    if (!is_new) return known->second;
    const Entry* const entry = entries_.find(offset);
    if (entry == nullptr) return nullptr;
    Type& made = info_->types.emplace_back();
    types_[offset] = &made;  // Before it is filled: types refer to each other.
    fill(made, *entry);
    return &made;
}

void Reader::fill(Type& type, const Entry& entry) {
    type.name = entry.text(at_name);
    type.bytes = entry.number(at_byte_size);
    switch (entry.tag) {
        case tag_base: {
            constexpr TypeKind kinds[] = {TypeKind::other,     TypeKind::other,
                                          TypeKind::boolean,   TypeKind::other,
                                          TypeKind::real,      TypeKind::signed_integer,
                                          TypeKind::character, TypeKind::unsigned_integer,
                                          TypeKind::character};
            const u64 encoding = entry.number(at_encoding);
            if (encoding < std::size(kinds)) type.kind = kinds[encoding];
            break;
        }
        case tag_enumeration:
            type.kind = TypeKind::enumeration;
            for (const std::size_t child : entry.children) {
                const Entry& one = entries_.at(child);
                if (one.tag == tag_enumerator)
                    type.enumerators.emplace_back(lode::readable_name(one.text(at_name)),
                                                  static_cast<i64>(one.number(at_constant)));
            }
            break;
        case tag_pointer:
        case tag_reference:
        case tag_rvalue_reference:
            type.kind = TypeKind::pointer;
            type.name = entry.tag == tag_pointer ? "*" : "&";
            type.bytes = 8;
            type.of = type_of(entry);
            break;
        case tag_array:
            fill_array(type, entry);
            break;
        case tag_structure:
        case tag_class:
        case tag_union:
            fill_structure(type, entry);
            break;
        case tag_typedef:
        case tag_const:
        case tag_volatile:
        case tag_restrict:
            type.kind = TypeKind::alias;
            type.of = type_of(entry);
            if (entry.tag == tag_const) type.name = "const";
            break;
        default:
            break;
    }
}

void Reader::fill_structure(Type& type, const Entry& entry) {
    type.kind = TypeKind::structure;
    for (const std::size_t child : entry.children) {
        const Entry& one = entries_.at(child);
        if (one.tag != tag_member && one.tag != tag_inheritance) continue;
        Member member;
        member.name = one.text(at_name);
        if (member.name.starts_with("__b_")) member.name.clear();  // nvcc's name for a base.
        member.type = type_of(one);
        if (const FormValue* const place = one.find(at_member_location)) {
            member.offset = place->number;
            if (place->is_block) {  // DW_OP_plus_uconst and the number.
                Cursor block(entries_.section(".debug_info"), place->number);
                member.offset = block.number(1) == op_plus_unsigned ? block.unsigned_leb() : 0;
            }
        }
        member.bits = static_cast<u32>(one.number(at_bit_size));
        if (one.find(at_data_bit_offset) != nullptr) {
            member.first_bit = static_cast<u32>(one.number(at_data_bit_offset) % 8);
            member.offset += one.number(at_data_bit_offset) / 8;
        } else if (member.bits != 0) {  // Counted from the most significant bit.
            const u64 width = 8 * one.number(at_byte_size);
            member.first_bit = static_cast<u32>(width - one.number(at_bit_offset) - member.bits);
        }
        if (member.type != nullptr) type.members.push_back(std::move(member));
    }
}

void Reader::fill_array(Type& type, const Entry& entry) {
    std::vector<u64> counts;
    for (const std::size_t child : entry.children) {
        const Entry& one = entries_.at(child);
        if (one.tag != tag_subrange) continue;
        const FormValue* const last = one.find(at_upper_bound);
        counts.push_back(last != nullptr ? last->number + 1 : one.number(at_count));
    }
    std::vector<Type*> dimensions = {&type};
    while (dimensions.size() < counts.size())
        dimensions.push_back(&info_->types.emplace_back());
    std::ranges::reverse(dimensions);
    std::ranges::reverse(counts);
    // From the innermost on.
    const Type* element = type_of(entry);
    u64 bytes = element == nullptr ? 0 : element->resolved().bytes;
    for (std::size_t k = 0; k < counts.size(); ++k) {
        bytes *= counts[k];
        dimensions[k]->kind = TypeKind::array;
        dimensions[k]->count = counts[k];
        dimensions[k]->bytes = bytes;
        dimensions[k]->of = std::exchange(element, dimensions[k]);
    }
}

Whereabouts Reader::whereabouts(const Section& in, std::size_t at, std::size_t size) const {
    Whereabouts made;
    try {
        for (Cursor from(in, at); from.at() < at + size;) {
            const auto op = static_cast<u8>(from.number(1));
            if (op == op_address) {
                const Reference* const to = from.reference();
                from.skip(entries_.address_bytes());
                if (to == nullptr) return {};
                made = {Whereabouts::Kind::symbol, std::string(to->symbol), to->offset};
            } else if (op == op_plus_unsigned) {
                made.offset += from.unsigned_leb();
            } else if (op == op_register) {
                made.kind = Whereabouts::Kind::reg;
                for (u64 letters = from.unsigned_leb(); letters != 0; letters >>= 8)
                    made.name.insert(made.name.begin(), static_cast<char>(letters & 0xff));
            } else {
                return {};
            }
        }
    } catch (const Unreadable&) {
        return {};
    }
    return made;
}

DebugVariable Reader::read_variable(const Entry& entry, LineRange everywhere) {
    const Entry& origin = entries_.origin_of(entry);
    DebugVariable made;
    made.name = origin.text(at_name);
    made.type = type_of(origin);
    const FormValue* const place = entry.find(at_location);
    if (place == nullptr) return made;
    if (place->is_block) {
        made.places.emplace_back(
            everywhere, whereabouts(entries_.section(".debug_info"), place->number, place->size));
        return made;
    }
    const Section& lists = entries_.section(".debug_loc");
    try {
        for (Cursor from(lists, place->number);;) {
            const Reference* const first = from.reference();
            from.skip(entries_.address_bytes());
            const Reference* const end = from.reference();
            from.skip(entries_.address_bytes());
            if (first == nullptr || end == nullptr) break;
            const u64 size = from.number(2);
            made.places.emplace_back(LineRange{line_of(*first), line_of(*end)},
                                     whereabouts(lists, from.at(), size));
            from.skip(size);
        }
    } catch (const Unreadable&) {  // The ranges so far count.
    }
    return made;
}

Block Reader::read_block(const Entry& entry, LineRange around) {
    Block made;
    const LineRange own{line_of(entry.find(at_low)), line_of(entry.find(at_high))};
    made.range = own.end == 0 ? around : own;
    for (const std::size_t child : entry.children) {
        const Entry& one = entries_.at(child);
        if (one.tag == tag_variable || one.tag == tag_parameter) {
            made.variables.push_back(read_variable(one, made.range));
        } else if (one.tag == tag_block || one.tag == tag_inlined) {
            made.blocks.push_back(read_block(one, made.range));
        }
    }
    return made;
}

/// Functions and variables, also those in namespaces and classes.
void Reader::read_names(const Entry& scope) {
    constexpr LineRange everywhere{0, ~u32{0}};
    for (const std::size_t child : scope.children) {
        const Entry& one = entries_.at(child);
        if (one.tag == tag_function) {
            if (one.find(at_low) == nullptr) continue;
            const Entry& origin = entries_.origin_of(one);
            DebugFunction made;
            made.name = origin.text(at_name);
            for (const Entry* from : {&one, &origin}) {
                for (const u32 kind : {at_linkage_name, at_mips_linkage_name})
                    if (made.symbol.empty()) made.symbol = from->text(kind);
            }
            made.body = read_block(one, {});
            info_->functions.push_back(std::move(made));
        } else if (one.tag == tag_variable) {
            DebugVariable made = read_variable(one, everywhere);
            made.name = lode::readable_name(made.name);  // In namespaces it is the symbol.
            if (!made.places.empty()) info_->globals.push_back(std::move(made));
        } else if (one.tag != tag_unit) {
            read_names(one);
        }
    }
}

}  // namespace

const Type& Type::resolved() const noexcept {
    const Type* at = this;
    constexpr int most = 100;  // Wrong information may have a circle.
    for (int k = 0; k < most && at->kind == TypeKind::alias && at->of != nullptr; ++k)
        at = at->of;
    return *at;
}

std::string name_of(const Type& type) {
    const auto of = [&] { return type.of == nullptr ? std::string("void") : name_of(*type.of); };
    switch (type.kind) {
        case TypeKind::pointer:
            return of() + type.name;
        case TypeKind::array: {
            std::string counts;
            const Type* element = &type;
            for (; element != nullptr && element->kind == TypeKind::array; element = element->of)
                counts += fmt::format("[{}]", element->count);
            return (element == nullptr ? "?" : name_of(*element)) + counts;
        }
        case TypeKind::alias:
            if (type.name.empty()) return of();
            return type.name == "const" ? "const " + of() : type.name;
        default:
            return type.name;
    }
}

Whereabouts DebugVariable::at(std::uint32_t line) const {
    const auto found =
        std::ranges::find_if(places, [&](const auto& one) { return one.first.contains(line); });
    return found == places.end() ? Whereabouts{} : found->second;
}

const DebugFunction* DebugInfo::function(std::string_view symbol) const noexcept {
    const auto found = std::ranges::find_if(
        functions, [&](const DebugFunction& one) { return one.symbol == symbol; });
    return found == functions.end() ? nullptr : &*found;
}

std::unique_ptr<DebugInfo> read_debug_info(std::string_view ptx) {
    return Reader(ptx).run();
}

}  // namespace lode::emulator::debug
