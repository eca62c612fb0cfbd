#include "tools/lode/arguments.hpp"

#include "base/cxx_names.hpp"
#include "base/lower_case.hpp"
#include "base/message_text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

namespace lode::tool {
namespace {

constexpr std::string_view forms =
    "1024, 2.5, 2.5f (f32), i64:7, f32[1024], f32[1k], f32[1024]:zeros, f32[1024]:ones, "
    "f32[1024]:iota, f32[1024]:random(1), f32[1024]:value(3.5), f32[1024]@data.bin";

constexpr int bits_per_byte = 8;

/// The element type that a C++ type is; nullopt for other types.
std::optional<ElementType> element_type_in_cxx(std::string_view name) {
    const auto type = number_type(name);
    if (!type) return std::nullopt;
    const char letter = type->is_floating ? 'f' : type->is_signed ? 'i' : 'u';
    return element_type_of(fmt::format("{}{}", letter, type->size * bits_per_byte));
}

/// Reads one argument's text from left to right and tracks the position.
class Reader {
public:
    Reader(std::string_view text, int number) : text_(text), number_(number) {}

    Result<Argument> read() {
        if (text_.empty()) return fault("it is empty");
        const auto mark = text_.find_first_of("[:@");
        if (mark == std::string_view::npos) return read_number_alone();
        LODE_TRY_ASSIGN(const ElementType type, read_type(mark));
        switch (text_[mark]) {
            case '[':
                return argument(read_buffer(type));
            case ':':
                return argument(read_typed_scalar(type));
            default:
                return fault(fmt::format("a buffer needs its count, as in {}[1024]{}",
                                         to_string(type), text_.substr(at_)));
        }
    }

private:
    /// An error at the current position.
    [[nodiscard]] tl::unexpected<Error> fault(std::string_view why) const {
        return fail(Errc::invalid_argument,
                    fmt::format("Argument {} ('{}') can't be read at character {}: {}{} The "
                                "accepted forms are {}; the types are {}.",
                                number_, text_, at_ + 1, why,
                                why.ends_with('?') || why.ends_with('.') ? "" : ".", forms,
                                element_type_names));
    }

    template <class T>
    [[nodiscard]] Result<Argument> argument(Result<T> value) const {
        return std::move(value).map([&](T&& read) {
            return Argument{std::string(text_), std::move(read)};
        });
    }

    Result<ElementType> read_type(std::size_t end) {
        const auto name = text_.substr(0, end);
        const auto type = element_type_of(name);
        if (!type) {
            auto meant = element_type_in_cxx(name);
            if (!meant) meant = element_type_of(lower_case(name));
            return fault(fmt::format("'{}' isn't an element type.{}", name,
                                     did_you_mean(std::string(meant ? to_string(*meant) : ""))));
        }
        at_ = end;
        return *type;
    }

    [[nodiscard]] Result<ElementBytes> read_number(ElementType type, std::string_view text) const {
        auto bytes = parse_number(type, text);
        if (!bytes) return fault(fmt::format("'{}' {}", text, bytes.error()));
        return *bytes;
    }

    /// "1024", "2.5" or "2.5f".
    [[nodiscard]] Result<Argument> read_number_alone() const {
        for (const auto type : {ElementType::i64, ElementType::u64, ElementType::f64}) {
            if (parse_number(type, text_)) return Argument{std::string(text_), UntypedArgument{}};
        }
        if (text_.size() > 1 && text_.ends_with('f')) {
            LODE_TRY_ASSIGN(const ElementBytes bytes,
                            read_number(ElementType::f32, text_.substr(0, text_.size() - 1)));
            return Argument{std::string(text_), ScalarArgument{ElementType::f32, bytes}};
        }
        return fault(fmt::format("'{}' {}", text_, parse_number(ElementType::f64, text_).error()));
    }

    Result<ScalarArgument> read_typed_scalar(ElementType type) {
        ++at_;
        LODE_TRY_ASSIGN(const ElementBytes bytes, read_number(type, text_.substr(at_)));
        return ScalarArgument{type, bytes};
    }

    Result<BufferArgument> read_buffer(ElementType type) {
        ++at_;
        const auto close = text_.find(']', at_);
        if (close == std::string_view::npos) return fault("the count has no closing ]");
        const auto digits = text_.substr(at_, close - at_);
        LODE_TRY_ASSIGN(const ElementBytes bytes, read_number(ElementType::u64, digits));
        const auto count = std::get<std::uint64_t>(number_at(ElementType::u64, bytes.data()));
        if (count > max_buffer_bytes / size_of(type)) {
            return fault(fmt::format("{} elements of {} exceed the limit of {} bytes", count,
                                     to_string(type), max_buffer_bytes));
        }
        at_ = close + 1;
        LODE_TRY_ASSIGN(Fill fill, read_fill(type));
        return BufferArgument{type, count, std::move(fill)};
    }

    Result<Fill> read_fill(ElementType type) {
        const auto rest = text_.substr(at_);
        if (rest.empty()) return ZerosFill{};
        if (rest[0] == '@') {
            ++at_;
            if (rest.size() == 1) return fault("a file's name must follow the @");
            return FileFill{std::filesystem::path(rest.substr(1))};
        }
        if (rest[0] != ':') return fault(fmt::format("unexpected '{}' after the ]", rest));
        ++at_;
        const auto name = rest.substr(1);
        if (name == "zeros") return ZerosFill{};
        if (name == "ones") return OnesFill{};
        if (name == "iota") return IotaFill{};
        if (name == "random") return RandomFill{};
        if (const auto seed = inside(name, "random(")) {
            LODE_TRY_ASSIGN(const ElementBytes bytes, read_number(ElementType::u64, *seed));
            return RandomFill{std::get<std::uint64_t>(number_at(ElementType::u64, bytes.data()))};
        }
        if (const auto value = inside(name, "value(")) {
            LODE_TRY_ASSIGN(const ElementBytes bytes, read_number(type, *value));
            return ValueFill{bytes};
        }
        static const std::string fills[] = {"zeros", "ones", "iota", "random(1)", "value(1)"};
        const auto word_of = [](std::string_view fill) { return fill.substr(0, fill.find('(')); };
        const auto* const same = std::ranges::find(fills, word_of(name), word_of);
        return fault(
            fmt::format("'{}' isn't a fill.{}", name,
                        did_you_mean(same == std::end(fills) ? closest(name, fills) : *same)));
    }

    /// The text between `opening` and a closing parenthesis at the very end.
    std::optional<std::string_view> inside(std::string_view name, std::string_view opening) {
        if (!name.starts_with(opening) || !name.ends_with(')')) return std::nullopt;
        at_ += opening.size();
        return name.substr(opening.size(), name.size() - opening.size() - 1);
    }

    std::string_view text_;
    int number_;
    std::size_t at_ = 0;
};

using Kind = KernelParameter::Kind;

/// PTX before sm_100 declares pointers as integers.
bool may_be_pointer(const KernelParameter& parameter) {
    return parameter.kind == Kind::integer && parameter.size == sizeof(std::uint64_t);
}

/// A parameter, as far as it is known.
struct Parameter {
    const KernelParameter& shape;
    std::string_view type;  ///< In C++; empty if unknown.

    [[nodiscard]] std::string text() const {
        return type.empty() ? describe(shape) : std::string(type);
    }
    [[nodiscard]] std::string text_with_size() const {
        const auto bytes = fmt::format("{} bytes", shape.size);
        return text() == bytes ? bytes : fmt::format("{} ({})", text(), bytes);
    }
    [[nodiscard]] bool is_pointer() const {
        return shape.kind == Kind::pointer || type.ends_with('*');
    }
    /// Whether an argument of this size and kind fits.
    [[nodiscard]] bool takes(std::size_t size, Kind kind) const {
        if (size != shape.size) return false;
        if (is_pointer()) return kind == Kind::pointer;
        if (shape.kind == Kind::floating_point) return kind == Kind::floating_point;
        if (shape.kind != Kind::integer) return true;
        return kind == Kind::integer ||
               (kind == Kind::pointer && type.empty() && may_be_pointer(shape));
    }
    /// Whether a buffer of this type fits: its numbers are the pointer's, or either's are bytes.
    [[nodiscard]] bool takes_buffer(ElementType type_given) const {
        if (!takes(sizeof(std::uint64_t), Kind::pointer)) return false;
        const auto element = element_type_in_cxx(pointee_type(type));
        if (!element || size_of(*element) == 1 || size_of(type_given) == 1) return true;
        return size_of(*element) == size_of(type_given) &&
               is_floating_point(*element) == is_floating_point(type_given);
    }
    /// Whether a number without a type can have this parameter's.
    [[nodiscard]] bool types_numbers() const {
        return shape.kind == Kind::floating_point ||
               (shape.kind == Kind::integer && !is_pointer() &&
                !(type.empty() && may_be_pointer(shape)));
    }
    /// The end of a message: how to spell `number` for this parameter.
    [[nodiscard]] std::string spelling(std::string_view number) const {
        const auto bits = shape.size * bits_per_byte;
        if (is_pointer()) {
            const auto element = element_type_in_cxx(pointee_type(type));
            return fmt::format("; pass a buffer, e.g. {}[1024]:iota",
                               to_string(element.value_or(ElementType::f32)));
        }
        const bool is_whole = shape.kind == Kind::integer;
        const bool fits =
            parse_number(is_whole ? ElementType::i64 : ElementType::f64, number).has_value();
        if (types_numbers()) {
            return fmt::format("; write {}", fits       ? number
                                             : is_whole ? "a whole number"
                                                        : "a number");
        }
        if (!fits) number = "NUMBER";
        if (is_whole)
            return fmt::format("; pass a buffer, or write i{1}:{0} or u{1}:{0}", number, bits);
        if (element_type_of(fmt::format("u{}", bits)))
            return fmt::format("; write its bits as u{}:NUMBER", bits);
        return "; `lode run` passes numbers and buffers alone, so let the kernel take a pointer";
    }
};

/// The types that a number for an integer parameter may have, the preferred one first.
std::vector<ElementType> integer_types(const Parameter& parameter) {
    if (const auto type = element_type_in_cxx(parameter.type)) return {*type};
    const auto bits = parameter.shape.size * bits_per_byte;
    std::vector<ElementType> types;
    for (const char letter : {'i', 'u'}) {
        if (const auto type = element_type_of(fmt::format("{}{}", letter, bits)))
            types.push_back(*type);
    }
    return types;
}

/// A number of the parameter's type. The error is the end of a sentence.
tl::expected<ScalarArgument, std::string> typed_number(std::string_view text,
                                                       const Parameter& parameter) {
    if (parameter.shape.kind == Kind::floating_point) {
        const auto type =
            parameter.shape.size == sizeof(float) ? ElementType::f32 : ElementType::f64;
        return parse_number(type, text).map([&](const auto& bytes) {
            return ScalarArgument{type, bytes};
        });
    }
    std::string problem;
    for (const ElementType type : integer_types(parameter)) {
        const auto bytes = parse_number(type, text);
        if (bytes && parameter.type == "bool" && (*bytes)[0] > std::byte{1})
            return tl::unexpected<std::string>("is outside the range of bool, 0 to 1");
        if (bytes) return ScalarArgument{type, *bytes};
        // What is negative is no number of the unsigned type.
        if (problem.empty() || !text.starts_with('-')) problem = bytes.error();
    }
    return tl::unexpected(problem);
}

/// The number with the type that its spelling has in C++, for parameters of unknown types.
ScalarArgument number_as_spelled(std::string_view text) {
    for (const auto type : {ElementType::i32, ElementType::i64, ElementType::u64}) {
        if (const auto bytes = parse_number(type, text)) return {type, *bytes};
    }
    return {ElementType::f64, parse_number(ElementType::f64, text).value_or(ElementBytes{})};
}

/// An argument of one kernel.
struct Place {
    std::string_view kernel;
    std::size_t index;
};

/// "2.5" of "2.5f" and "f32:2.5".
std::string_view number_in(const Argument& argument) {
    std::string_view text = argument.text;
    if (std::holds_alternative<BufferArgument>(argument.value)) return {};
    if (const auto colon = text.find(':'); colon != std::string_view::npos)
        return text.substr(colon + 1);
    if (std::holds_alternative<ScalarArgument>(argument.value)) text.remove_suffix(1);
    return text;
}

Status check_fit(const Argument& argument, const Parameter& parameter, const Place& place) {
    std::string description;
    if (const auto* buffer = std::get_if<BufferArgument>(&argument.value)) {
        if (parameter.takes_buffer(buffer->type)) return {};
        description = parameter.is_pointer()
                          ? fmt::format("a buffer of {}", to_string(buffer->type))
                          : "a buffer (8 bytes)";
    } else if (const auto* scalar = std::get_if<ScalarArgument>(&argument.value)) {
        const auto kind = is_floating_point(scalar->type) ? Kind::floating_point : Kind::integer;
        if (parameter.takes(size_of(scalar->type), kind)) return {};
        description = fmt::format("a number of type {} ({} bytes)", to_string(scalar->type),
                                  size_of(scalar->type));
    }
    return fail(Errc::signature_mismatch,
                fmt::format("Argument {} ('{}') is {}, but {} takes {} there{}.", place.index + 1,
                            argument.text, description, place.kernel, parameter.text_with_size(),
                            parameter.spelling(number_in(argument))));
}

Result<Argument> fit(const Argument& argument, const Parameter& parameter, const Place& place) {
    if (!std::holds_alternative<UntypedArgument>(argument.value)) {
        LODE_TRY(check_fit(argument, parameter, place));
        return argument;
    }
    if (parameter.types_numbers()) {
        const auto number = typed_number(argument.text, parameter);
        if (number) return Argument{argument.text, *number};
        return fail(Errc::signature_mismatch,
                    fmt::format("Argument {} ('{}') {}; {} takes {} there.", place.index + 1,
                                argument.text, number.error(), place.kernel, parameter.text()));
    }
    // An address that is a small number is a mistake.
    if (parameter.shape.kind == Kind::integer || parameter.is_pointer()) {
        return fail(Errc::signature_mismatch,
                    fmt::format("Argument {} ('{}') is a number, but {} takes {} there{}.",
                                place.index + 1, argument.text, place.kernel, parameter.text(),
                                parameter.spelling(argument.text)));
    }
    Argument spelled{argument.text, number_as_spelled(argument.text)};
    LODE_TRY(check_fit(spelled, parameter, place));
    return spelled;
}

}  // namespace

std::string_view argument_help() noexcept {
    return R"(Each ARG is a number or a buffer:
  1024, 2.5             a number of the type that the kernel takes
  2.5f                  a number of type f32
  i64:7                 a number of the type named
  f32[1024]             a buffer of 1024 zeros; also f32[1024]:zeros
  f32[1024]:ones        ones
  f32[1024]:iota        0, 1, 2, ...
  f32[1024]:value(3.5)  this number everywhere
  f32[1024]:random(1)   pseudo-random numbers from this seed
  f32[1024]@data.bin    the bytes of a file of exactly that size

The types are f32 f64 i8 i16 i32 i64 u8 u16 u32 u64.
In whole numbers, 1k is 1000 and 1Ki is 1024; likewise M, G and T.)";
}

Result<Argument> parse_argument(std::string_view text, int number) {
    return Reader(text, number).read();
}

std::string describe(const KernelParameter& parameter) {
    switch (parameter.kind) {
        case KernelParameter::Kind::pointer:
            return "pointer";
        case KernelParameter::Kind::floating_point:
            return fmt::format("f{}", parameter.size * bits_per_byte);
        case KernelParameter::Kind::integer:
            return fmt::format("{}int{}", may_be_pointer(parameter) ? "pointer/" : "",
                               parameter.size * bits_per_byte);
        case KernelParameter::Kind::unknown:
        case KernelParameter::Kind::aggregate:
            break;
    }
    return fmt::format("{} byte{}", parameter.size, parameter.size == 1 ? "" : "s");
}

Result<std::vector<Argument>> fit_arguments(std::string_view kernel,
                                            std::span<const KernelParameter> parameters,
                                            std::span<const std::string> types,
                                            std::span<const Argument> arguments) {
    const bool types_known = types.size() == parameters.size();
    if (arguments.size() != parameters.size()) {
        std::vector<std::string> list;
        for (std::size_t i = 0; i < parameters.size(); ++i)
            list.push_back(types_known ? types[i] : describe(parameters[i]));
        return fail(
            Errc::signature_mismatch,
            fmt::format("{} takes {} argument{}{}{}, but {} {} given.", kernel, parameters.size(),
                        parameters.size() == 1 ? "" : "s", list.empty() ? "" : ": ", listed(list),
                        arguments.size(), arguments.size() == 1 ? "is" : "are"));
    }
    std::vector<Argument> fitted;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const Parameter parameter{parameters[i],
                                  types_known ? std::string_view(types[i]) : std::string_view()};
        LODE_TRY_ASSIGN(auto argument, fit(arguments[i], parameter, {kernel, i}));
        fitted.push_back(std::move(argument));
    }
    return fitted;
}

}  // namespace lode::tool
