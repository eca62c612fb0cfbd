#include "tools/lode/arguments.hpp"

#include "base/message_text.hpp"
#include "base/try.hpp"

#include <optional>

#include <fmt/format.h>

namespace lode::tool {
namespace {

constexpr std::string_view forms =
    "1024 (i32), 2.5 (f64), 2.5f (f32), i64:7, f32[1024], f32[1024]:zeros, f32[1024]:ones, "
    "f32[1024]:iota, f32[1024]:random(1), f32[1024]:value(3.5), f32[1024]@data.bin";

/// Reads one argument's text from left to right and tracks the position.
class Reader {
public:
    Reader(std::string_view text, int number) : text_(text), number_(number) {}

    Result<Argument> read() {
        if (text_.empty()) return fault("it is empty");
        const auto mark = text_.find_first_of("[:@");
        if (mark == std::string_view::npos) return argument(read_untyped_scalar());
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
                    fmt::format("Argument {} ('{}') can't be read at character {}: {}. The "
                                "accepted forms are {}; the types are {}.",
                                number_, text_, at_ + 1, why, forms, element_type_names));
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
        if (!type) return fault(fmt::format("'{}' isn't an element type", name));
        at_ = end;
        return *type;
    }

    [[nodiscard]] Result<ElementBytes> read_number(ElementType type, std::string_view text,
                                                   std::string_view advice = "") const {
        auto bytes = parse_number(type, text);
        if (!bytes) return fault(fmt::format("'{}' {}{}", text, bytes.error(), advice));
        return *bytes;
    }

    [[nodiscard]] Result<ScalarArgument> read_untyped_scalar() const {
        const bool is_hexadecimal = text_.starts_with("0x") || text_.starts_with("-0x");
        auto type = ElementType::i32;
        auto digits = text_;
        if (!is_hexadecimal && digits.size() > 1 && digits.ends_with('f')) {
            type = ElementType::f32;
            digits.remove_suffix(1);
        } else if (!is_hexadecimal && digits.find_first_of(".eE") != std::string_view::npos) {
            type = ElementType::f64;
        }
        const bool fits_wider = type == ElementType::i32 && parse_number(ElementType::i64, digits);
        LODE_TRY_ASSIGN(
            const ElementBytes bytes,
            read_number(type, digits, fits_wider ? fmt::format(" (write i64:{})", digits) : ""));
        return ScalarArgument{type, bytes};
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
        return fault(fmt::format("'{}' isn't a fill", name));
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

/// The properties of an argument that checking needs: size, address or not, floating point or not.
struct ArgumentShape {
    std::size_t size;
    KernelParameter::Kind kind;
    std::string description;
};

ArgumentShape shape_of(const Argument& argument) {
    if (std::holds_alternative<BufferArgument>(argument.value)) {
        return {sizeof(std::uint64_t), KernelParameter::Kind::pointer, "a buffer"};
    }
    const auto type = std::get<ScalarArgument>(argument.value).type;
    const auto kind = is_floating_point(type) ? KernelParameter::Kind::floating_point
                                              : KernelParameter::Kind::integer;
    return {size_of(type), kind, fmt::format("a number of type {}", to_string(type))};
}

/// Whether an argument of kind `given` fits a parameter that the PTX declares as `taken`. The sizes
/// are already known to be equal.
bool kinds_agree(KernelParameter::Kind given, KernelParameter::Kind taken) {
    using Kind = KernelParameter::Kind;
    switch (taken) {
        case Kind::unknown:
        case Kind::aggregate:
            return true;
        case Kind::integer:  // Or a pointer: see may_be_pointer().
            return given != Kind::floating_point;
        case Kind::floating_point:
        case Kind::pointer:
            break;
    }
    return given == taken;
}

/// PTX before sm_100 declares pointers as integers.
bool may_be_pointer(const KernelParameter& parameter) {
    return parameter.kind == KernelParameter::Kind::integer &&
           parameter.size == sizeof(std::uint64_t);
}

/// The end of a message: how to spell an argument for this parameter.
std::string spelling_for(const KernelParameter& parameter) {
    constexpr int bits_per_byte = 8;
    switch (parameter.kind) {
        case KernelParameter::Kind::pointer:
            return "; pass a buffer, e.g. f32[1024]:iota";
        case KernelParameter::Kind::floating_point:
            return fmt::format("; write f{}:NUMBER", parameter.size * bits_per_byte);
        case KernelParameter::Kind::integer:
            return fmt::format("; {0}write i{1}:NUMBER or u{1}:NUMBER",
                               may_be_pointer(parameter) ? "pass a buffer, or " : "",
                               parameter.size * bits_per_byte);
        case KernelParameter::Kind::unknown:
        case KernelParameter::Kind::aggregate:
            break;
    }
    return "";
}

}  // namespace

std::string_view argument_help() noexcept {
    return R"(Each ARG is a number or a buffer:
  1024                  a number of type i32
  2.5                   a number of type f64
  2.5f                  a number of type f32
  i64:7                 a number of the type named
  f32[1024]             a buffer of 1024 zeros; also f32[1024]:zeros
  f32[1024]:ones        ones
  f32[1024]:iota        0, 1, 2, ...
  f32[1024]:value(3.5)  this number everywhere
  f32[1024]:random(1)   pseudo-random numbers from this seed
  f32[1024]@data.bin    the bytes of a file of exactly that size
The types are f32 f64 i8 i16 i32 i64 u8 u16 u32 u64.)";
}

Result<Argument> parse_argument(std::string_view text, int number) {
    return Reader(text, number).read();
}

std::string describe(const KernelParameter& parameter) {
    constexpr int bits_per_byte = 8;
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

Status check_arguments(std::string_view kernel, std::span<const KernelParameter> parameters,
                       std::span<const Argument> arguments) {
    if (arguments.size() != parameters.size()) {
        std::vector<std::string> list;
        for (const auto& parameter : parameters)
            list.push_back(describe(parameter));
        return fail(
            Errc::signature_mismatch,
            fmt::format("{} takes {} argument{}{}{}, but {} {} given.", kernel, parameters.size(),
                        parameters.size() == 1 ? "" : "s", list.empty() ? "" : ": ", listed(list),
                        arguments.size(), arguments.size() == 1 ? "is" : "are"));
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto shape = shape_of(arguments[i]);
        const auto& parameter = parameters[i];
        if (shape.size == parameter.size && kinds_agree(shape.kind, parameter.kind)) continue;
        return fail(Errc::signature_mismatch,
                    fmt::format("Argument {} ('{}') is {} ({} bytes), but {} takes {} ({} bytes) "
                                "there{}.",
                                i + 1, arguments[i].text, shape.description, shape.size, kernel,
                                describe(parameter), parameter.size, spelling_for(parameter)));
    }
    return {};
}

}  // namespace lode::tool
