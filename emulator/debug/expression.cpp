#include "emulator/debug/expression.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::debug {

namespace {

using i64 = std::int64_t;
using u64 = std::uint64_t;

/// Thrown and caught here.
struct Problem {
    std::string sentence;
};

bool is_letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

/// Binary operators from the weakest to the strongest.
constexpr std::array<std::array<std::string_view, 4>, 10> levels = {{{"||"},
                                                                     {"&&"},
                                                                     {"|"},
                                                                     {"^"},
                                                                     {"&"},
                                                                     {"==", "!="},
                                                                     {"<=", ">=", "<", ">"},
                                                                     {"<<", ">>"},
                                                                     {"+", "-"},
                                                                     {"*", "/", "%"}}};

class Evaluator {
public:
    Evaluator(std::string_view text, const Names& names) : text_(text), names_(names) {}

    Value run() {
        Value made = binary(0);
        skip_blanks();
        if (at_ != text_.size())
            throw Problem{fmt::format("'{}' isn't understood.", text_.substr(at_))};
        return made;
    }

private:
    void skip_blanks() {
        while (at_ < text_.size() && text_[at_] == ' ')
            ++at_;
    }
    [[nodiscard]] bool follows(std::string_view mark) {
        skip_blanks();
        return text_.substr(at_).starts_with(mark);
    }
    bool accept(std::string_view mark) {
        if (!follows(mark)) return false;
        at_ += mark.size();
        return true;
    }
    void expect(std::string_view mark) {
        if (!accept(mark)) throw Problem{fmt::format("'{}' is missing.", mark)};
    }

    /// The operator of a level that stands here; empty if there is none.
    std::string_view operator_of(std::size_t level) {
        skip_blanks();
        const std::string_view rest = text_.substr(at_);
        for (const std::string_view mark : levels[level]) {
            if (mark.empty() || !rest.starts_with(mark)) continue;
            // "&" isn't the beginning of "&&", nor "<" that of "<<".
            const char next = rest.size() > mark.size() ? rest[mark.size()] : '\0';
            const bool is_longer = mark.size() == 1 && next == mark[0] &&
                                   std::string_view("|&<>").find(mark[0]) != std::string_view::npos;
            if (!is_longer) return mark;
        }
        return {};
    }

    Value binary(std::size_t level) {
        if (level == levels.size()) return unary();
        Value left = binary(level + 1);
        for (std::string_view mark = operator_of(level); !mark.empty(); mark = operator_of(level)) {
            at_ += mark.size();
            left = apply(mark, left, binary(level + 1));
        }
        return left;
    }

    Value apply(std::string_view mark, const Value& a, const Value& b) {
        known(a);
        known(b);
        if (mark == "||") return value_of(is_true(a) || is_true(b));
        if (mark == "&&") return value_of(is_true(a) && is_true(b));
        for (const Value* one : {&a, &b}) {
            const TypeKind kind = one->type->resolved().kind;
            if (kind == TypeKind::structure || kind == TypeKind::array || kind == TypeKind::other)
                throw Problem{
                    fmt::format("'{}' has no meaning for {}.", mark, name_of(*one->type))};
        }
        if (a.type->resolved().kind == TypeKind::pointer && (mark == "+" || mark == "-")) {
            const Type* const of = a.type->resolved().of;
            const auto step = static_cast<i64>(of == nullptr ? 1 : of->resolved().bytes);
            Value moved = a;
            const i64 by = integer_of(b) * step;
            const i64 to = integer_of(a) + (mark == "+" ? by : -by);
            for (std::size_t k = 0; k < moved.bytes.size() && k < sizeof(to); ++k)
                moved.bytes[k] = static_cast<std::uint8_t>(static_cast<u64>(to) >> (8 * k));
            moved.address.reset();
            return moved;
        }
        const bool are_integers = is_integral(*a.type) && is_integral(*b.type);
        return are_integers ? apply_integers(mark, integer_of(a), integer_of(b))
                            : apply_reals(mark, real_of(a), real_of(b));
    }

    static Value apply_integers(std::string_view mark, i64 a, i64 b) {
        const auto x = static_cast<u64>(a);
        const auto y = static_cast<u64>(b);
        const auto whole = [](u64 bits) { return value_of(static_cast<i64>(bits)); };
        if (mark == "|") return whole(x | y);
        if (mark == "^") return whole(x ^ y);
        if (mark == "&") return whole(x & y);
        if (mark == "<<") return whole(y < 64 ? x << y : 0);
        if (mark == ">>") return value_of(a >> (y < 64 ? y : 63));
        if (mark == "+") return whole(x + y);
        if (mark == "-") return whole(x - y);
        if (mark == "*") return whole(x * y);
        if (mark == "/" || mark == "%") {
            if (b == 0) throw Problem{"The expression divides by zero."};
            if (b == -1) return whole(mark == "/" ? 0 - x : 0);
            return value_of(mark == "/" ? a / b : a % b);
        }
        return value_of(compare(mark, a, b));
    }

    static Value apply_reals(std::string_view mark, double a, double b) {
        if (mark == "+") return value_of(a + b);
        if (mark == "-") return value_of(a - b);
        if (mark == "*") return value_of(a * b);
        if (mark == "/") return value_of(a / b);
        if (mark == "|" || mark == "^" || mark == "&" || mark == "%" || mark == "<<" ||
            mark == ">>")
            throw Problem{fmt::format("'{}' needs integers.", mark)};
        return value_of(compare(mark, a, b));
    }

    template <class T>
    static bool compare(std::string_view mark, T a, T b) {
        if (mark == "==") return a == b;
        if (mark == "!=") return a != b;
        if (mark == "<=") return a <= b;
        if (mark == ">=") return a >= b;
        return mark == "<" ? a < b : a > b;
    }

    Value unary() {
        constexpr int deepest = 100;
        if (++depth_ > deepest) throw Problem{"The expression is nested too deeply."};
        Value made = unary_inside();
        --depth_;
        return made;
    }

    /// For an operator: a variable may have no value at this place.
    static const Value& known(const Value& operand) {
        if (operand.bytes.empty() && operand.type->resolved().bytes != 0)
            throw Problem{fmt::format("An operand is {}.", text_of(operand))};
        return operand;
    }

    Value unary_inside() {
        if (accept("!")) return value_of(!is_true(known(unary())));
        if (accept("~")) return value_of(~integer_of(known(unary())));
        if (accept("-")) {
            const Value of = known(unary());
            return is_integral(*of.type)
                       ? value_of(static_cast<i64>(0 - static_cast<u64>(integer_of(of))))
                       : value_of(-real_of(of));
        }
        if (accept("+")) return unary();
        if (accept("*")) return at(unary(), 0);
        if (accept("&")) return address(unary());
        if (const Type* const type = cast()) return converted(type, unary());
        return suffixed(primary());
    }

    const Type* pointer_to(const Type* of) {
        return &names_.made_types->emplace_back(
            Type{.kind = TypeKind::pointer, .name = "*", .bytes = 8, .of = of});
    }
    static Value pointer(const Type* type, u64 address) {
        Value made{type, std::vector<std::uint8_t>(sizeof(address)), {}};
        std::memcpy(made.bytes.data(), &address, sizeof(address));
        return made;
    }
    Value address(const Value& of) {
        if (!of.address) throw Problem{"This value has no address: it is in a register."};
        return pointer(pointer_to(of.type), *of.address);
    }

    /// The type in "(float*)", which is taken from the text; nullptr if none stands here.
    const Type* cast() {
        const std::size_t before = at_;
        const Type* type = nullptr;
        if (accept("(")) {
            std::string name;
            for (skip_blanks(); at_ < text_.size() && is_letter(text_[at_]); skip_blanks())
                name += (name.empty() ? "" : " ") + std::string(word());
            if (!name.empty()) type = find_type(name);
            while (type != nullptr && accept("*"))
                type = pointer_to(type);
            if (type != nullptr && accept(")")) return type;
        }
        at_ = before;
        return nullptr;
    }
    [[nodiscard]] const Type* find_type(const std::string& name) const {
        for (const Type* one : {&type_bool, &type_int, &type_unsigned, &type_long,
                                &type_unsigned_long, &type_float, &type_double, &type_byte})
            if (one->name == name) return one;
        if (name == "unsigned") return &type_unsigned;
        return names_.find_type(name);
    }
    static Value converted(const Type* type, const Value& of) {
        const Type& to = type->resolved();
        const TypeKind from = of.type->resolved().kind;
        if (from == TypeKind::array && of.address && to.kind == TypeKind::pointer)
            return pointer(type, *of.address);
        if (from == TypeKind::structure || from == TypeKind::array || !has_number(to))
            throw Problem{
                fmt::format("{} can't be made of {}.", name_of(*type), name_of(*of.type))};
        if (to.kind == TypeKind::boolean) return value_of(is_true(of));
        Value made = to.kind == TypeKind::real ? value_of(real_of(of)) : value_of(integer_of(of));
        if (to.kind == TypeKind::real && to.bytes == sizeof(float)) {
            const auto narrow = static_cast<float>(real_of(of));
            made.bytes.resize(sizeof(narrow));
            std::memcpy(made.bytes.data(), &narrow, sizeof(narrow));
        } else if (to.kind != TypeKind::real) {
            const i64 whole = integer_of(of);
            made.bytes.resize(sizeof(whole));
            std::memcpy(made.bytes.data(), &whole, sizeof(whole));
            made.bytes.resize(to.bytes);
        }
        made.type = type;
        return made;
    }
    static bool has_number(const Type& type) noexcept {
        return is_integral(type) || (type.kind == TypeKind::real && type.bytes >= sizeof(float));
    }

    Value at(const Value& of, i64 index) {
        auto found = element_of(of, index, names_.read);
        if (found) return *std::move(found);
        const Type& type = of.type->resolved();
        if (type.kind == TypeKind::array)
            throw Problem{fmt::format("{} isn't an index of {}.", index, name_of(type))};
        if (type.kind == TypeKind::pointer)
            throw Problem{fmt::format("Nothing can be read at {}[{}].", text_of(of), index)};
        throw Problem{fmt::format("{} has no elements.", name_of(*of.type))};
    }

    Value suffixed(Value of) {
        for (;;) {
            const bool is_arrow = accept("->");
            if (is_arrow || (follows(".") && accept("."))) {
                const std::string name(word());
                const Value whole = is_arrow ? at(of, 0) : std::move(of);
                auto found = member_of(whole, name);
                if (!found)
                    throw Problem{
                        fmt::format("{} has no member '{}'.", name_of(*whole.type), name)};
                of = *std::move(found);
            } else if (accept("[")) {
                const Value index = binary(0);
                expect("]");
                of = at(of, integer_of(index));
            } else {
                return of;
            }
        }
    }

    std::string_view word() {
        skip_blanks();
        const std::size_t first = at_;
        if (at_ < text_.size() && text_[at_] == '%') ++at_;
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) ||
                                      text_.substr(at_).starts_with("::"))) {
            at_ += text_[at_] == ':' ? 2 : 1;
        }
        if (at_ == first) throw Problem{"A name is missing."};
        return text_.substr(first, at_ - first);
    }

    Value primary() {
        if (accept("(")) {
            Value made = binary(0);
            expect(")");
            return made;
        }
        skip_blanks();
        if (at_ == text_.size()) throw Problem{"The expression ends too early."};
        if (is_digit(text_[at_])) return number();
        if (!is_letter(text_[at_]) && text_[at_] != '%' && text_[at_] != ':')
            throw Problem{fmt::format("'{}' isn't understood.", text_.substr(at_))};
        const std::string name(word());
        if (name == "true" || name == "false") return value_of(name == "true");
        auto found = names_.find(name);
        if (!found) throw Problem{fmt::format("There is no '{}' here.", name)};
        return *std::move(found);
    }

    Value number() {
        const std::string_view rest = text_.substr(at_);
        const char* const end = rest.data() + rest.size();
        u64 whole = 0;
        double real = 0;
        const bool is_hex = rest.starts_with("0x") || rest.starts_with("0X");
        auto read = is_hex ? std::from_chars(rest.data() + 2, end, whole, 16)
                           : std::from_chars(rest.data(), end, whole);
        const bool is_real = !is_hex && read.ptr != end &&
                             (*read.ptr == '.' || *read.ptr == 'e' || *read.ptr == 'E');
        if (is_real) read = std::from_chars(rest.data(), end, real);
        if (read.ec != std::errc()) throw Problem{fmt::format("'{}' isn't a number.", rest)};
        at_ += static_cast<std::size_t>(read.ptr - rest.data());
        while (at_ < text_.size() &&
               std::string_view("uUlLfF").find(text_[at_]) != std::string_view::npos)
            ++at_;
        return is_real ? value_of(real) : value_of(static_cast<i64>(whole));
    }

    std::string_view text_;
    const Names& names_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

tl::expected<Value, std::string> evaluate(std::string_view text, const Names& names) {
    try {
        return Evaluator(text, names).run();
    } catch (Problem& problem) {
        return tl::unexpected(std::move(problem.sentence));
    }
}

}  // namespace lode::emulator::debug
