// Matches operands against a form: their number, their kinds, and whether register types are
// compatible with the instruction's types, as in ptxas.
#include "emulator/decode/ptx/grammar.hpp"

#include <algorithm>
#include <bit>
#include <span>

namespace lode::emulator::ptx {
namespace {

/// Whether a register is compatible with an operand's type. An .f16x2 register counts as a 32-bit
/// register if the type comes from a modifier.
bool register_fits(const Register& have, Type want, const OperandForm& form) {
    if (want.kind == Class::predicate) return have.bytes == 0;
    if (have.bytes == 0) return false;
    const bool may_be_wider = form.is_wider && have.bytes > want.bytes;
    if (have.bytes != want.bytes && !may_be_wider) return false;
    if (form.is_number && have.kind == Class::bits) return false;
    switch (want.kind) {
        case Class::other:
            return have.kind == Class::bits;
        case Class::bits:
            return have.kind != Class::packed || form.is_template;
        case Class::real:
            return have.kind == Class::bits || (have.kind == Class::real && !may_be_wider);
        case Class::packed:
            return have.kind == Class::bits || have.kind == Class::packed;
        default:
            return is_integer(have.kind) || (have.kind == Class::packed && form.is_template);
    }
}

bool number_fits(const Operand& operand, const Limit& limit) {
    const std::uint64_t bits = operand.bits;
    if (limit.is_unit) return bits == 1 || bits == ~std::uint64_t{0};
    if (limit.is_full) return bits == 0xffff'ffff || bits == ~std::uint64_t{0};
    return !limit.is_fraction && bits >= limit.least && bits <= limit.most &&
           bits % limit.multiple == 0 && (!limit.is_power || std::has_single_bit(bits));
}

bool real_fits(const Operand& operand, const Limit& limit) {
    if (!limit.is_fraction) return true;
    const double value = operand.kind == OperandKind::real32
                             ? std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits))
                             : std::bit_cast<double>(operand.bits);
    return value > 0 && value <= 1;
}

/// Whether a selector is valid for an operand. `digits` is the number of digits, or 0 for a mask,
/// whose digits must descend; every digit must be less than `below`.
bool selector_fits(std::string_view selector, char letter, std::size_t digits, char below) {
    if (selector.empty()) return true;
    if (selector[0] != letter || selector.size() < 2) return false;
    const std::string_view parts = selector.substr(1);
    if (digits != 0 && parts.size() != digits) return false;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        if (parts[k] >= below) return false;
        if (digits == 0 && k > 0 && parts[k] >= parts[k - 1]) return false;
    }
    return true;
}

class Checker {
public:
    Checker(const Function& function, const Instruction& instruction, const Reading& reading,
            const SymbolSpaces& symbols)
        : function_(function),
          symbols_(symbols),
          opcode_(instruction.opcode),
          given_(function.operands.data() + instruction.first, instruction.count),
          is_guarded_(instruction.guard >= 0),
          reading_(reading) {}

    /// The error as a sentence; empty if the operands match.
    std::string run() {
        const auto& forms = reading_.form->operands;
        const bool has_hint = reading_.has("L2::cache_hint");
        std::size_t needed = 0;
        for (const OperandForm& form : forms) {
            if (form.want == Want::anything || form.want == Want::call) return {};
            if (!form.is_optional && (form.want != Want::hint || has_hint)) ++needed;
        }
        if (given_.size() < needed) return quoted() + " has too few operands.";
        std::size_t spare = given_.size() - needed;
        std::size_t at = 0;
        for (const OperandForm& form : forms) {
            if (form.want == Want::hint && !has_hint) continue;
            if (form.is_optional && spare == 0) continue;
            if (form.want == Want::offset && !fits(form, given_[at])) continue;
            if (form.is_optional) --spare;
            if (!fits(form, given_[at])) {
                return "Operand " + std::to_string(at + 1) + " of " + quoted() +
                       " has the wrong kind or type.";
            }
            ++at;
        }
        if (reading_.name() == "vmad" && !negations_fit())
            return quoted() + " can negate either the product or the summand, but not both.";
        return at == given_.size() ? std::string() : quoted() + " has too many operands.";
    }

private:
    [[nodiscard]] std::string quoted() const { return "'" + std::string(opcode_) + "'"; }

    [[nodiscard]] Type type_of(const OperandForm& form) const {
        if (form.of_type < 0) return form.type;
        Type type = reading_.types[static_cast<std::uint8_t>(form.of_type)];
        type.bytes = static_cast<std::uint8_t>(type.bytes * form.times);
        return type;
    }

    [[nodiscard]] bool negations_fit() const {
        return given_.size() < 4 || given_[1].negated == given_[2].negated || !given_[3].negated;
    }

    bool fits(const OperandForm& form, const Operand& operand) {
        if (operand.kind == OperandKind::list && operand.pair != -1 && form.want != Want::texels)
            return false;
        switch (form.want) {
            case Want::address:
                return address_fits(form, operand, space_++);
            case Want::number:
                return operand.kind == OperandKind::integer && !operand.address &&
                       number_fits(operand, form.limit);
            case Want::label:
                return operand.kind == OperandKind::label;
            case Want::table:
                return operand.kind == OperandKind::table && !operand.address &&
                       function_.tables[operand.index].kind == Table::Kind::branch;
            case Want::sink:
                return operand.kind == OperandKind::sink;
            case Want::move:
                return move_fits(form, operand);
            case Want::video:
            case Want::simd:
            case Want::mask:
            case Want::whole:
                return video_fits(form, operand);
            case Want::vector:
                if (operand.kind == OperandKind::sink) return form.may_discard;
                if (reading_.vector == 1 && operand.kind != OperandKind::list)
                    return value_fits(form, operand, type_of(form), false);
                return list_fits(form, operand, reading_.vector);
            case Want::list:
                return list_fits(form, operand,
                                 form.is_per_column ? reading_.columns / form.count : form.count);
            case Want::tensor:
                return tensor_fits(form, operand);
            case Want::handle:
                return handle_fits(form, operand);
            case Want::image:
            case Want::texels:
            case Want::slopes:
            case Want::offset:
            case Want::elements:
                return image_operand_fits(function_, symbols_, reading_, form, type_of(form),
                                          operand);
            default:
                return value_fits(form, operand, type_of(form), false);
        }
    }

    /// A register with this many bytes of an integer.
    [[nodiscard]] bool is_whole(const Operand& operand, std::uint8_t bytes) const {
        if (operand.kind != OperandKind::reg || operand.address) return false;
        const Register& have = function_.registers[operand.index];
        return have.bytes == bytes && is_integer(have.kind);
    }

    /// [endpoint, offset…]: registers without an offset of their own.
    bool handle_fits(const OperandForm& form, const Operand& operand) {
        ++space_;
        if (!operand.address || operand.kind != OperandKind::list || operand.count != form.count)
            return false;
        for (std::uint32_t k = 0; k < operand.count; ++k)
            if (!is_whole(function_.elements[operand.index + k], k == 0 ? 4 : 8)) return false;
        return true;
    }

    /// The map's address counts as one of the addresses that the opcode names. Between it and the
    /// coordinates there may be an address, or in a fabric a handle, the sizes, and the lower and
    /// upper parts of the strides.
    bool tensor_fits(const OperandForm& form, const Operand& operand) {
        ++space_;
        if (!operand.address || operand.kind != OperandKind::list || operand.count < 2)
            return false;
        const std::span<const Operand> parts =
            std::span(function_.elements).subspan(operand.index, operand.count);
        const Operand& map = parts[0];
        const bool is_address =
            map.kind == OperandKind::reg
                ? function_.registers[map.index].bytes >= 2 &&
                      function_.registers[map.index].bytes <= 8 &&
                      is_integer(function_.registers[map.index].kind)
                : map.kind == OperandKind::variable || map.kind == OperandKind::symbol;
        if (!is_address) return false;
        std::size_t at = 1;
        const auto whole = [&](std::uint8_t bytes) {
            return at < parts.size() && is_whole(parts[at++], bytes);
        };
        if (reading_.name() == "fabric" && !whole(4)) return false;
        if (reading_.has("override::global_address") && !whole(8)) return false;
        if (reading_.has("counted::bytes") && !whole(8)) return false;
        const bool strides = reading_.has("override::global_dim_stride");
        OperandForm registers = form;
        registers.is_register = true;
        if (strides || reading_.has("override::global_dim")) {
            if (at >= parts.size() || !sizes_fit(parts[at++], form.count)) return false;
            if (strides &&
                (at >= parts.size() ||
                 !list_fits_type(registers, parts[at++], form.count - 1u, {Class::bits, 4}) ||
                 !whole(2)))
                return false;
            if (at >= parts.size() || !are_zero(parts[at])) return false;
        }
        return at + 1 == parts.size() &&
               list_fits_type(form, parts[at], form.count, {Class::signed_integer, 4});
    }

    /// Sizes of a tensor: constants and registers with 8 or 16 bits, of one size.
    [[nodiscard]] bool sizes_fit(const Operand& list, std::uint32_t count) const {
        if (list.kind != OperandKind::list || list.count != count) return false;
        std::uint8_t bytes = 0;
        for (std::uint32_t k = 0; k < count; ++k) {
            const Operand& one = function_.elements[list.index + k];
            if (one.kind == OperandKind::integer) continue;
            if (!is_whole(one, 1) && !is_whole(one, 2)) return false;
            const std::uint8_t have = function_.registers[one.index].bytes;
            if (bytes != 0 && have != bytes) return false;
            bytes = have;
        }
        return true;
    }

    /// Whether the constants of a list are 0.
    [[nodiscard]] bool are_zero(const Operand& list) const {
        if (list.kind != OperandKind::list) return false;
        return std::ranges::all_of(
            std::span(function_.elements).subspan(list.index, list.count),
            [](const Operand& one) { return one.kind != OperandKind::integer || one.bits == 0; });
    }

    bool list_fits(const OperandForm& form, const Operand& operand, std::uint32_t count) {
        return list_fits_type(form, operand, count, type_of(form));
    }

    bool list_fits_type(const OperandForm& form, const Operand& operand, std::uint32_t count,
                        Type type) {
        if (operand.kind != OperandKind::list || operand.count != count) return false;
        bool any = false;
        // Registers must have one size and must not mix integers and reals.
        bool has_integer = false;
        bool has_real = false;
        std::uint8_t bytes = 0;
        for (std::uint32_t k = 0; k < operand.count; ++k) {
            const Operand& one = function_.elements[operand.index + k];
            if (one.kind == OperandKind::list) return false;
            any |= one.kind != OperandKind::sink;
            if (one.kind == OperandKind::reg) {
                const Register& have = function_.registers[one.index];
                if (bytes != 0 && have.bytes != bytes) return false;
                bytes = have.bytes;
                has_real |= have.kind == Class::real;
                has_integer |= (is_integer(have.kind) && have.kind != Class::bits) ||
                               have.kind == Class::packed;
                // ptxas accepts integer registers in a vector of reals.
                const bool is_raw = form.want == Want::vector && type.kind == Class::real &&
                                    is_integer(have.kind) && have.bytes == type.bytes;
                if (is_raw && one.selector.empty() && one.pair == -1) continue;
            }
            if (!value_fits(form, one, type, true)) return false;
        }
        return any && !(has_integer && has_real);
    }

    // mov packs and unpacks, and accepts addresses and special registers; so does the source of
    // cvta.
    bool move_fits(const OperandForm& form, const Operand& operand) {
        if (operand.address || operand.pair != -1 || !operand.selector.empty()) return false;
        const Type type = reading_.types[0];
        if (operand.kind == OperandKind::list) {
            if (reading_.vector > 1) return list_fits_type(form, operand, reading_.vector, type);
            if (type.kind != Class::bits || operand.count < 2 || type.bytes % operand.count != 0)
                return false;
            const Type part{Class::bits, static_cast<std::uint8_t>(type.bytes / operand.count)};
            return list_fits_type(form, operand, operand.count, part);
        }
        if (operand.kind == OperandKind::special && !form.is_destination) {
            if (reading_.vector == 1) return special_fits(operand.name, type);
            return reading_.vector == 4 && is_integer(type.kind) && type.bytes <= 4 &&
                   operand.name.find('.') == operand.name.npos;
        }
        if (reading_.vector > 1) return false;
        if (operand.is_element || operand.kind == OperandKind::variable ||
            operand.kind == OperandKind::symbol) {
            if (form.is_destination || !is_integer(type.kind) || type.bytes < 2) return false;
            // A 32-bit global address is only valid in a module with 32-bit addresses.
            if (type.bytes == 4 && operand.bits == 0 && !operand.is_element &&
                operand.kind == OperandKind::symbol) {
                const auto global = symbols_.find(operand.name);
                if (global != symbols_.end() && global->second == Space::global) return false;
            }
            if (operand.kind == OperandKind::variable && is_call_parameter(operand)) return false;
            const Space named = space_named_at(0);
            if (named == Space::none) return true;
            if (operand.kind == OperandKind::variable)
                return space_fits(function_.variables[operand.index].space, named);
            const auto found = symbols_.find(operand.name);
            return found != symbols_.end() && space_fits(found->second, named);
        }
        return value_fits(form, operand, type, false);
    }

    /// Whether a special register can be moved to a type: one of its size, or for some, its low 16
    /// bits.
    static bool special_fits(std::string_view name, Type type) {
        const bool wide = name == "%clock64" || name == "%globaltimer" || name == "%gridid" ||
                          name.ends_with("_64") || name == "%current_graph_exec" ||
                          name == "%perctamemoryoffset";
        if (name == "%is_explicit_cluster") return type.kind == Class::predicate;
        if (!is_integer(type.kind)) return false;
        const bool is_index = name.starts_with("%tid.") || name.starts_with("%ntid.") ||
                              name.starts_with("%ctaid.") || name.starts_with("%nctaid.");
        const bool is_vector =
            is_index || name.starts_with("%clusterid.") || name.starts_with("%nclusterid.") ||
            name.starts_with("%cluster_ctaid.") || name.starts_with("%cluster_nctaid.");
        if (!is_vector && (name == "%tid" || name == "%ntid" || name.ends_with("ctaid") ||
                           name.ends_with("clusterid")))
            return false;
        if (name == "%gridid") return type.bytes == 2 || type.bytes == 4 || type.bytes == 8;
        if (wide) {
            return type.bytes == 8 &&
                   (type.kind != Class::signed_integer || name == "%perctamemoryoffset");
        }
        return type.bytes == 4 || (type.bytes == 2 && is_index);
    }

    bool video_fits(const OperandForm& form, const Operand& operand) {
        Operand plain = operand;
        plain.selector = {};
        const bool is_mad = reading_.name() == "vmad";
        if (is_mad && operand.kind == OperandKind::reg) {
            const bool is_packed = function_.registers[operand.index].kind == Class::packed;
            plain.negated = operand.negated && (reading_.has("po") || is_packed);
        }
        const bool has_halves = form.count == 2;
        const std::string_view selector = operand.selector;
        switch (form.want) {
            case Want::video:
                if (!selector_fits(selector, 'b', 1, '4') && !selector_fits(selector, 'h', 1, '2'))
                    return false;
                return (operand.kind == OperandKind::reg || operand.kind == OperandKind::integer) &&
                       value_fits(form, plain, form.type, false);
            case Want::whole:
                if (is_mad) return selector.empty() && value_fits(form, plain, form.type, false);
                if (!selector.empty()) return false;
                break;
            case Want::mask:
                if (!selector_fits(selector, has_halves ? 'h' : 'b', 0, has_halves ? '2' : '4'))
                    return false;
                break;
            default:
                if (!selector_fits(selector, has_halves ? 'h' : 'b', has_halves ? 2 : 4,
                                   has_halves ? '4' : '8'))
                    return false;
                break;
        }
        if (operand.kind != OperandKind::reg) return false;
        return value_fits(form, plain, form.type, false);
    }

    bool value_fits(const OperandForm& form, const Operand& operand, Type type, bool in_list) {
        if (operand.address || operand.is_element || !operand.selector.empty()) return false;
        if (operand.pair != -1 && !form.has_second) return false;
        if (form.needs_second && operand.pair < 0) return false;
        if (operand.pair >= 0 &&
            function_.registers[static_cast<std::size_t>(operand.pair)].bytes != 0) {
            return false;
        }
        if (operand.negated && (form.is_destination || type.kind != Class::predicate)) return false;
        switch (operand.kind) {
            case OperandKind::reg:
                return register_fits(function_.registers[operand.index], type, form);
            case OperandKind::sum: {
                if (form.is_destination || in_list) return false;
                if (is_mma() && type.bytes == 4) return false;
                Register base = function_.registers[operand.index];
                const bool is_narrow = reading_.has("e4m3x4") || reading_.has("e5m2x4");
                if (base.bytes != 0 && type.bytes != 0 && form.is_template && !is_narrow)
                    base.bytes = type.bytes;
                return register_fits(base, type, form);
            }
            case OperandKind::sink:
                return form.is_destination &&
                       (form.may_discard ||
                        (in_list && !(reading_.name() == "tcgen05" && reading_.has("ld"))));
            default:
                return !form.is_destination && !form.is_register &&
                       constant_fits(form, operand, type);
        }
    }

    /// tcgen05.mma, which ptxas writes as instructions of its own.
    [[nodiscard]] bool is_mma() const {
        return reading_.name() == "tcgen05" && reading_.has("mma");
    }

    bool constant_fits(const OperandForm& form, const Operand& operand, Type type) {
        const bool real = type.kind == Class::real;
        const bool is_plain = is_integer(type.kind);
        switch (operand.kind) {
            case OperandKind::integer:
                return !real && type.kind != Class::packed && type.kind != Class::other &&
                       number_fits(operand, form.limit);
            case OperandKind::real32:
                return (real || (type.kind == Class::bits && type.bytes == 4)) && type.bytes >= 4 &&
                       real_fits(operand, form.limit);
            case OperandKind::real64:
                return (real || (type.kind == Class::bits && type.bytes == 8)) && type.bytes >= 4 &&
                       real_fits(operand, form.limit);
            case OperandKind::special:
                return form.is_wider && reading_.name() == "cvt" && is_plain &&
                       is_integer(reading_.types[0].kind) &&
                       (special_fits(operand.name, {Class::bits, 8}) ||
                        (type.bytes <= 4 && special_fits(operand.name, {Class::bits, 4})));
            case OperandKind::symbol:
                return is_plain && !is_mma() &&
                       (operand.bits != 0 ||
                        (form.is_template && !form.is_wider && !symbols_.contains(operand.name)));
            case OperandKind::variable:
                return is_plain && !is_mma() && operand.bits != 0;
            default:
                return false;
        }
    }

    /// Whether the variable is a .param variable of the body, which passes values in calls.
    [[nodiscard]] bool is_call_parameter(const Operand& operand) const {
        return function_.variables[operand.index].space == Space::param &&
               operand.index >= function_.returns.size() + function_.parameters.size();
    }

    /// Parameters can only be read and results only written; a call's parameters can't be accessed
    /// under a guard.
    [[nodiscard]] bool parameter_fits(const Operand& operand) const {
        if (function_.variables[operand.index].space != Space::param) return true;
        if (is_call_parameter(operand)) return !is_guarded_;
        const bool is_result = operand.index < function_.returns.size();
        return reading_.traits.effect == Effect::store ? is_result : !is_result;
    }

    /// .param::entry isn't a call's parameter, and in a kernel .param::func is nothing else.
    [[nodiscard]] bool parameter_space_fits(const Operand& operand) const {
        const bool is_of_call = operand.kind == OperandKind::variable && is_call_parameter(operand);
        if (reading_.has("param::entry")) return !is_of_call;
        return is_of_call || !function_.entry || !reading_.has("param::func");
    }

    bool address_fits(const OperandForm& form, const Operand& operand, std::size_t index) {
        const Effect effect = reading_.traits.effect;
        if (!parameter_space_fits(operand)) return false;
        if (operand.is_element) {
            // ptxas moves the address of multimem.red to a register first.
            const bool is_moved = reading_.name() == "multimem" && reading_.has("red");
            if (effect != Effect::load && effect != Effect::store && !is_moved) return false;
        } else if (!operand.address) {
            return false;
        }
        switch (operand.kind) {
            case OperandKind::reg: {
                const Register& base = function_.registers[operand.index];
                const Space named = space_named_at(index);
                // A 32-bit generic or global address is only valid in a module with 32-bit
                // addresses.
                if (form.is_tensor_memory) {
                    if (base.bytes != 4) return false;
                    if (reading_.has("mma")) return base.kind == Class::bits;
                    const bool is_load = reading_.has("ld") || reading_.has("st");
                    return is_integer(base.kind) || (base.kind == Class::packed && !is_load);
                }
                static constexpr Word may_be_narrow[] = {
                    "cp",    "ldmatrix",  "stmatrix", "wmma",
                    "fence", "tensormap", "tcgen05",  "clusterlaunchcontrol"};
                const bool is_wide =
                    (named == Space::none || named == Space::global) &&
                    (!reading_.has("async") || reading_.name() == "applypriority") &&
                    (!reading_.has("bulk") || reading_.name() == "applypriority") &&
                    std::ranges::find(may_be_narrow, reading_.name()) == std::end(may_be_narrow);
                if (is_wide && base.bytes == 4) return false;
                if (form.is_wide && base.bytes < 4) return false;
                return base.bytes != 0 && base.bytes <= 8 && is_integer(base.kind);
            }
            case OperandKind::integer:
                return space_named_at(index) == Space::local;
            case OperandKind::variable:
                if (form.is_tensor_memory) return false;
                return space_fits(function_.variables[operand.index].space,
                                  space_named_at(index)) &&
                       parameter_fits(operand);
            case OperandKind::symbol: {
                const auto found = symbols_.find(operand.name);
                if (form.is_tensor_memory) return false;
                return found != symbols_.end() && space_fits(found->second, space_named_at(index));
            }
            default:
                return false;
        }
    }

    /// The third address of a copy, its mbarrier, is in shared memory; a variable that prefetchu
    /// names is in global memory.
    [[nodiscard]] Space space_named_at(std::size_t index) const {
        if (reading_.name() == "prefetchu") return Space::global;
        if (index == 2 && reading_.has("mbarrier::complete_tx::bytes")) return Space::shared;
        return index < reading_.spaces.size() ? reading_.spaces[index] : Space::none;
    }

    /// Whether an instruction that names a space can access a variable; without a space, the
    /// address is generic.
    static bool space_fits(Space have, Space named) {
        const bool has_generic =
            have == Space::global || have == Space::shared || have == Space::local;
        return named == have || (named == Space::none && has_generic);
    }

    const Function& function_;
    const SymbolSpaces& symbols_;
    std::string_view opcode_;
    std::span<const Operand> given_;
    bool is_guarded_;
    const Reading& reading_;
    std::size_t space_ = 0;
};

}  // namespace

const Reading* matching(const Function& function, const Instruction& instruction,
                        std::span<const Reading> readings, const SymbolSpaces& symbols,
                        const Device& device, std::string& why) {
    why.clear();
    for (const Reading& reading : readings) {
        std::string wrong = Checker(function, instruction, reading, symbols).run();
        const bool has_all = std::ranges::all_of(reading.form->needs, [&](const auto& row) {
            const auto& [word, needs] = row;
            return (word && !reading.has(word)) || device.has(needs);
        });
        if (wrong.empty() && has_all) return &reading;
        if (wrong.empty()) {
            why = "The PTX's .target or .version doesn't support '" +
                  std::string(instruction.opcode) + "'.";
        } else if (why.empty()) {
            why = std::move(wrong);
        }
    }
    return nullptr;
}

}  // namespace lode::emulator::ptx
