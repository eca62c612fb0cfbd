// Operands of texture and surface instructions, matched as in ptxas: a vector takes its type from
// its elements, and a vector with an element of bits counts as one of bits.
#include "emulator/decode/ptx/grammar.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace lode::emulator::ptx {
namespace {

/// A geometry: its coordinates, and the least number of elements in a vector that holds the layer
/// and the coordinates.
struct Geometry {
    Word name;
    std::uint32_t axes;
    bool has_layer;
    std::uint32_t elements;
};
constexpr Geometry geometries[] = {
    {"1d", 1, false, 1},   {"2d", 2, false, 2},   {"3d", 3, false, 4},
    {"a1d", 1, true, 2},   {"a2d", 2, true, 4},   {"cube", 3, false, 4},
    {"acube", 3, true, 4}, {"2dms", 2, false, 4}, {"a2dms", 2, true, 4}};

constexpr std::uint32_t most_elements = 4;

/// What the elements of a vector are; `numbers` are those of a constant.
struct Elements {
    std::uint8_t bytes = 0;  ///< Bytes of each register; 0 if there is none.
    bool bits = false, integers = false, reals = false, packed = false;
    bool whole_numbers = false, single_numbers = false, double_numbers = false;
    bool sinks = false;

    [[nodiscard]] bool is_uniform() const noexcept {
        return !(reals && (integers || packed)) && (bits || !(packed && integers));
    }
};

bool is_plain(const Operand& operand) {
    return !operand.address && !operand.is_element && !operand.negated &&
           operand.selector.empty() && operand.pair == -1;
}

class ImageChecker {
public:
    ImageChecker(const Function& function, const SymbolSpaces& symbols, const Reading& reading,
                 const OperandForm& form, Type type)
        : function_(function),
          symbols_(symbols),
          reading_(reading),
          form_(form),
          type_(type),
          geometry_(*std::ranges::find(geometries, reading.geometry, &Geometry::name)) {}

    [[nodiscard]] bool fits(const Operand& operand) const {
        switch (form_.want) {
            case Want::image:
                return image_fits(operand);
            case Want::texels:
                return texels_fit(operand);
            case Want::slopes:
                return slopes_fit(operand);
            case Want::offset:
                return offset_fits(operand);
            default:
                return elements_fit(operand);
        }
    }

private:
    [[nodiscard]] std::span<const Operand> parts(const Operand& operand) const {
        if (operand.kind != OperandKind::list) return {&operand, 1};
        return function_.elements_of(operand);
    }

    /// What the operands are, or nothing if one can't be an element or registers differ in size.
    [[nodiscard]] std::optional<Elements> elements_of(std::span<const Operand> operands) const {
        Elements made;
        for (const Operand& one : operands) {
            if (!is_plain(one)) return std::nullopt;
            switch (one.kind) {
                case OperandKind::reg: {
                    const Register& have = function_.registers[one.index];
                    if (have.bytes == 0 || (made.bytes != 0 && made.bytes != have.bytes))
                        return std::nullopt;
                    made.bytes = have.bytes;
                    made.bits |= have.kind == Class::bits;
                    made.reals |= have.kind == Class::real;
                    made.packed |= have.kind == Class::packed;
                    made.integers |=
                        have.kind == Class::unsigned_integer || have.kind == Class::signed_integer;
                    break;
                }
                case OperandKind::integer:
                    made.whole_numbers = true;
                    break;
                case OperandKind::real32:
                    made.single_numbers = true;
                    break;
                case OperandKind::real64:
                    made.double_numbers = true;
                    break;
                case OperandKind::sink:
                    made.sinks = true;
                    break;
                default:
                    return std::nullopt;
            }
        }
        if (!made.is_uniform()) return std::nullopt;
        return made;
    }

    /// Whether a vector fits a type. `may_be_raw`: integer registers may hold reals.
    [[nodiscard]] static bool vector_fits(const Elements& have, Type type, bool may_be_raw,
                                          bool may_be_packed) {
        if (have.bytes != 0 && have.bytes != type.bytes) return false;
        const bool is_real = type.kind == Class::real;
        if (is_real ? have.whole_numbers : have.single_numbers || have.double_numbers) return false;
        if (have.bits || have.bytes == 0) return true;
        if (type.kind == Class::packed) return have.packed;
        if (is_real) return have.reals || (may_be_raw && have.integers);
        return have.integers || (may_be_packed && have.packed);
    }

    [[nodiscard]] bool handle_fits(const Operand& operand) const {
        if (!is_plain(operand) || operand.bits != 0) return false;
        if (operand.kind == OperandKind::reg) {
            const Register& have = function_.registers[operand.index];
            return have.bytes == 8 &&
                   (have.kind == Class::bits || have.kind == Class::unsigned_integer ||
                    have.kind == Class::signed_integer);
        }
        if (operand.kind == OperandKind::variable)
            return function_.variables[operand.index].type.kind == Class::other;
        if (operand.kind != OperandKind::symbol) return false;
        const auto found = symbols_.find(operand.name);
        return found != symbols_.end() && found->second == Space::none;
    }

    /// [handle, coordinates], or [texture, sampler, coordinates].
    [[nodiscard]] bool image_fits(const Operand& operand) const {
        if (!operand.address || operand.kind != OperandKind::list) return false;
        const auto all = parts(operand);
        const bool is_texture = reading_.name() != "suld" && reading_.name() != "sust";
        if (all.size() != 2 && !(is_texture && all.size() == 3)) return false;
        const auto handles = all.first(all.size() - 1);
        if (!std::ranges::all_of(handles, [&](const Operand& one) { return handle_fits(one); }))
            return false;
        if (all.back().kind != OperandKind::list) return single_fits(all.back());
        const auto coordinates = parts(all.back());
        if (coordinates.size() < geometry_.elements || !has_vector_size(coordinates.size()))
            return false;
        return is_texture && geometry_.has_layer ? layered_fit(coordinates) : all_fit(coordinates);
    }

    /// ptxas takes one register for all coordinates.
    [[nodiscard]] bool single_fits(const Operand& operand) const {
        if (operand.kind != OperandKind::reg || geometry_.has_layer) return false;
        const auto have = elements_of({&operand, 1});
        return have && vector_fits(*have, type_, false, form_.is_template);
    }

    [[nodiscard]] bool all_fit(std::span<const Operand> coordinates) const {
        const auto have = elements_of(coordinates);
        return have && !have->sinks && vector_fits(*have, type_, true, form_.is_template);
    }

    /// The layer is an integer, and the coordinates after it are checked by themselves: ptxas
    /// doesn't compare their type with the instruction's.
    [[nodiscard]] bool layered_fit(std::span<const Operand> coordinates) const {
        constexpr Type layer_type{Class::unsigned_integer, 4};
        const auto layer = elements_of(coordinates.first(1));
        if (!layer || layer->sinks || !vector_fits(*layer, layer_type, false, false)) return false;
        const auto rest = elements_of(coordinates.subspan(1));
        return rest && !rest->sinks && (rest->bytes == 0 || rest->bytes == 4) &&
               (rest->bits || !rest->packed);
    }

    /// {r, g, b, a}, or {r, g, b, a}|p where p says whether the texels have memory.
    [[nodiscard]] bool texels_fit(const Operand& operand) const {
        if (operand.address || operand.kind != OperandKind::list) return false;
        const bool has_second = operand.pair != -1;
        if (has_second != form_.needs_second) return false;
        if (has_second &&
            (operand.pair < 0 ||
             function_.registers[static_cast<std::size_t>(operand.pair)].bytes != 0)) {
            return false;
        }
        const std::uint32_t count = type_.kind == Class::packed ? 2 : 4;
        if (reading_.vector != count || operand.count != count) return false;
        const auto have = elements_of(parts(operand));
        return have && have->bytes != 0 && !has_numbers(*have) &&
               vector_fits(*have, type_, true, form_.is_template);
    }

    [[nodiscard]] bool slopes_fit(const Operand& operand) const {
        if (operand.address || operand.kind != OperandKind::list ||
            operand.count != slope_elements() || !is_plain(operand)) {
            return false;
        }
        const auto have = elements_of(parts(operand));
        return have && !have->sinks && vector_fits(*have, type_, false, false);
    }

    /// Offsets in texels. One integer fits for all axes, but a register of bits is a comparison.
    [[nodiscard]] bool offset_fits(const Operand& operand) const {
        if (!is_plain(operand)) return false;
        const auto all = parts(operand);
        const auto have = elements_of(all);
        if (!have || have->sinks || !vector_fits(*have, type_, false, false)) return false;
        if (operand.kind != OperandKind::list) return !have->bits;
        return has_vector_size(all.size()) && all.size() >= slope_elements();
    }

    /// The values of a surface, whose registers may have more bits than the surface's elements.
    [[nodiscard]] bool elements_fit(const Operand& operand) const {
        if (!is_plain(operand)) return false;
        const auto all = parts(operand);
        const auto have = elements_of(all);
        if (!have || (have->bytes != 0 && have->bytes < type_.bytes)) return false;
        const bool is_list = operand.kind == OperandKind::list;
        if (is_list && reading_.vector > 1 && all.size() != reading_.vector) return false;
        if (is_list && !has_vector_size(all.size())) return false;
        // A constant also stands for each element of a vector.
        if (!is_list && reading_.vector > 1 && !has_numbers(*have)) return false;
        if (form_.is_destination) return have->bytes != 0 && !has_numbers(*have);
        return !have->sinks && (!have->single_numbers || type_.bytes == 4) &&
               (!have->double_numbers || type_.bytes == 8);
    }

    [[nodiscard]] static bool has_vector_size(std::size_t count) noexcept {
        return count == 1 || count == 2 || count == most_elements;
    }

    [[nodiscard]] static bool has_numbers(const Elements& have) noexcept {
        return have.whole_numbers || have.single_numbers || have.double_numbers;
    }

    [[nodiscard]] std::uint32_t slope_elements() const noexcept {
        return geometry_.axes == 3 ? most_elements : geometry_.axes;
    }

    const Function& function_;
    const SymbolSpaces& symbols_;
    const Reading& reading_;
    const OperandForm& form_;
    Type type_;
    const Geometry& geometry_;
};

}  // namespace

bool is_geometry(Word word) noexcept {
    return std::ranges::find(geometries, word, &Geometry::name) != std::end(geometries);
}

bool image_operand_fits(const Function& function, const SymbolSpaces& symbols,
                        const Reading& reading, const OperandForm& form, Type type,
                        const Operand& operand) {
    return ImageChecker(function, symbols, reading, form, type).fits(operand);
}

}  // namespace lode::emulator::ptx
