#include "tests/gpu/builtins/cases.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace lode::test {
namespace {

using Kind = ScalarType::Kind;

/// Replaces the first braces of a head by each of their choices; "$1" in what follows means it.
void expand(const std::string& head, const std::string& code, std::size_t number,
            std::vector<std::pair<std::string, std::string>>& out) {
    for (std::size_t open = head.find('{'); open != std::string::npos;
         open = head.find('{', open + 1)) {
        const std::size_t close = head.find_first_of("} ;", open);
        if (close == std::string::npos || head[close] != '}') continue;
        std::stringstream choices(head.substr(open + 1, close - open - 1) + ",");
        for (std::string choice; std::getline(choices, choice, ',');) {
            const auto with = [&](std::string text) {
                const std::string mark = "$" + std::to_string(number);
                for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;
                     at += choice.size())
                    text.replace(at, mark.size(), choice);
                return text;
            };
            expand(with(head.substr(0, open) + choice + head.substr(close + 1)), with(code),
                   number + 1, out);
        }
        return;
    }
    out.emplace_back(head, code);
}

/// Adds a bound to a function's tolerance: "4", "2^-21a" or "2^-11r".
void add_bound(Function& function, const std::string& text) {
    if (!function.tolerance) function.tolerance.emplace();
    Tolerance& tolerance = *function.tolerance;
    const bool is_power = text.starts_with("2^");
    const double value = is_power ? std::exp2(std::stod(text.substr(2))) : std::stod(text);
    double& bound = text.back() == 'a'   ? tolerance.absolute
                    : text.back() == 'r' ? tolerance.relative
                                         : tolerance.ulp;
    bound = value;
}

/// Adds the function of a line "RESULT(ARGUMENTS) ~BOUNDS NAME".
void add_function(Family& family, const std::string& head, const std::string& code) {
    std::istringstream words(head);
    std::string signature;
    std::string word;
    words >> signature;
    const std::size_t open = signature.find('(');
    if (open == std::string::npos || open == 0 || signature.back() != ')')
        throw std::runtime_error(fmt::format("functions.txt has no signature in: {}", head));
    Function function;
    function.result = signature[0];
    function.is_pair = signature[1] == '2';
    function.arguments = signature.substr(open + 1, signature.size() - open - 2);
    while ((words >> std::ws).peek() == '~') {
        words >> word;
        if (word == "~bits")
            function.moves_bits = true;
        else
            add_bound(function, word.substr(1));
    }
    std::string name;
    std::getline(words >> std::ws, name);
    function.name = signature + " " + name;
    function.code = code;
    if (code.empty()) {
        for (std::size_t k = 0; k < function.arguments.size(); ++k)
            function.code += fmt::format("{}{}", k == 0 ? name + "(" : ", ", "abcd"[k]);
        function.code += ")";
    }
    family.functions.push_back(std::move(function));
}

/// Splits "RESULT(ARGUMENTS) ~BOUNDS NAMES" into a line for each name.
std::vector<std::string> lines_of_names(const std::string& line) {
    std::istringstream words(line);
    std::string signature;
    words >> signature;
    std::vector<std::string> lines;
    for (std::string word; words >> word;) {
        if (word[0] == '~')
            signature += " " + word;
        else
            lines.push_back(signature + " " + word);
    }
    return lines;
}

std::vector<std::uint64_t> tricky_values(const ScalarType& type) {
    switch (type.kind) {
        case Kind::f32:
            return {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                    0x7fc00001, 0x00000001, 0x7f7fffff, 0x40200000, 0xffa12345, 0x80700000,
                    0x7f800001, 0x7fffffff, 0xffffffff, 0x807fffff, 0x00800000, 0x80800000,
                    0x00800001, 0xff7fffff, 0x3f000000, 0xbf000000, 0x3fc00000, 0xbfc00000,
                    0xc0200000, 0x3effffff, 0x3f7fffff, 0x3f800001, 0x4b000000, 0x4b000001,
                    0x4affffff, 0x4b800000, 0xcb800001, 0x4effffff, 0x4f000000, 0xcf000000,
                    0xcf000001, 0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0xdf000000,
                    0x5f7fffff, 0x5f800000, 0x40490fdb, 0xc0490fdb, 0x47ce4780, 0x42b17218,
                    0xc2cff1b5, 0x42b20000, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001,
                    0x43e00000, 0x43e80000, 0x43f00001, 0x437f0000, 0x437f8000, 0x47000000,
                    0x7e800000, 0x7f000000, 0x00400000, 0x3a83126f, 0x7149f2ca, 0x0da24260};
        case Kind::f64:
            return {0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
                    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000001, 0x0000000000000001,
                    0x7fefffffffffffff, 0x4004000000000000, 0xfff4123456789abc, 0x8008000000000000,
                    0x7ff0000000000001, 0x7fffffffffffffff, 0xffffffffffffffff, 0x800fffffffffffff,
                    0x0010000000000000, 0x0010000000000001, 0xffefffffffffffff, 0x3fe0000000000000,
                    0xbfe0000000000000, 0x3ff8000000000000, 0xbff8000000000000, 0xc004000000000000,
                    0x3fdfffffffffffff, 0x3fefffffffffffff, 0x3ff0000000000001, 0x4330000000000000,
                    0x4330000000000001, 0x432fffffffffffff, 0x41dfffffffc00000, 0x41dfffffffe00000,
                    0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000100000, 0x41efffffffe00000,
                    0x41f0000000000000, 0x43dfffffffffffff, 0x43e0000000000000, 0xc3e0000000000000,
                    0x43efffffffffffff, 0x43f0000000000000, 0x47efffffe0000000, 0x47efffffefffffff,
                    0x47effffff0000000, 0x36a0000000000000, 0x3690000000000000, 0x3690000000000001,
                    0x380fffffffffffff, 0x3ff0000010000000, 0x3ff0000030000000, 0x7ff0000020000000,
                    0x400921fb54442d18, 0x40862e42fefa39ef, 0xc0874910d52d3051, 0x41e0000000000001,
                    0x407c000000000000, 0x407d000000000000, 0x40effdffffffffff, 0x40effe0000000000,
                    0x3e60000000000000, 0x7fd0000000000000, 0x7fe0000000000000, 0x0008000000000000};
        case Kind::half:
            return {0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e01, 0x0001, 0x7bff,
                    0x4100, 0xfd23, 0x8200, 0x7c01, 0x7fff, 0xffff, 0x83ff, 0x03ff, 0x0400,
                    0x8400, 0x0401, 0xfbff, 0x3800, 0xb800, 0x3e00, 0xbe00, 0xc100, 0x37ff,
                    0x3bff, 0x3c01, 0x6400, 0x63ff, 0x6401, 0x6800, 0x77ff, 0x7800, 0xf800,
                    0xf801, 0x5f00, 0x5f40, 0x57f0, 0x57f8, 0x4248, 0x4980, 0xc980, 0x7b00};
        case Kind::bfloat16:
            return {0x0000, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc1, 0x0001, 0x7f7f,
                    0x4020, 0xffa1, 0x8040, 0x7f81, 0x7fff, 0xffff, 0x807f, 0x007f, 0x0080,
                    0x8080, 0x0081, 0xff7f, 0x3f00, 0xbf00, 0x3fc0, 0xbfc0, 0xc020, 0x3eff,
                    0x3f7f, 0x3f81, 0x4300, 0x42ff, 0x4301, 0x4380, 0x4f00, 0xcf00, 0x4f80,
                    0x5f00, 0xdf00, 0x5f80, 0x4e7f, 0x43e0, 0x43e8, 0x4049, 0x42b1, 0xc2d0};
        default:
            return {0,
                    1,
                    ~0ULL,
                    0x7fffffff80007fff,
                    1ULL << (type.bytes * 8 - 1),
                    (1ULL << (type.bytes * 8 - 1)) - 1,
                    31,
                    32,
                    33,
                    0x7f80ff017f80ff01,
                    ~1ULL,
                    0x80000000,
                    2,
                    7,
                    8,
                    15,
                    16,
                    63,
                    64,
                    65,
                    0x7f,
                    0x80,
                    0xff,
                    0x100,
                    0x7fff,
                    0x8000,
                    0xffff,
                    0x10000,
                    0xffffff,
                    0x1000001,
                    0x7fffffff,
                    0xffffffff,
                    0x100000000,
                    0x8000800080008000,
                    0x8080808080808080,
                    0x7fff80007fff8000,
                    0xff7fff7fff7fff7f,
                    0x00ff00ff00ff00ff,
                    0x1fffffffffffff,
                    0x20000000000001,
                    0x7fffff80,
                    0x7fffffbf,
                    0x7fffffc0,
                    0xfffffe80,
                    0x7fffffffffffffc0,
                    0xfffffffffffffc00,
                    ~30ULL,
                    ~31ULL,
                    ~32ULL};
    }
}

/// A value of a common size: small integers, and reals from 2^-8 to 2^8 or so.
std::uint64_t common_value(Kind kind, std::uint64_t bits) {
    const auto exponent = static_cast<int>(bits >> 60) - 8;
    const std::uint64_t sign = bits >> 59 & 1;
    const auto real = [&](int bias, unsigned mantissa, unsigned width) {
        return sign << (width - 1) | static_cast<std::uint64_t>(bias + exponent) << mantissa |
               (bits & ((1ULL << mantissa) - 1));
    };
    switch (kind) {
        case Kind::f32:
            return real(127, 23, 32);
        case Kind::f64:
            return real(1023, 52, 64);
        case Kind::half:
            return real(15, 10, 16);
        case Kind::bfloat16:
            return real(127, 7, 16);
        default:
            return sign != 0 ? ~(bits >> 8 & 63) : bits >> 8 & 63;
    }
}

}  // namespace

ScalarType scalar_type(char letter) {
    switch (letter) {
        case 'c':
            return {Kind::integer, 1, 1, "signed char"};
        case 'y':
            return {Kind::integer, 1, 1, "unsigned char"};
        case 's':
            return {Kind::integer, 2, 1, "short"};
        case 't':
            return {Kind::integer, 2, 1, "unsigned short"};
        case 'i':
            return {Kind::integer, 4, 1, "int"};
        case 'u':
            return {Kind::integer, 4, 1, "unsigned"};
        case 'l':
            return {Kind::integer, 8, 1, "long long"};
        case 'm':
            return {Kind::integer, 8, 1, "unsigned long long"};
        case 'w':
            return {Kind::integer, 4, 4, "uint4"};
        case 'f':
            return {Kind::f32, 4, 1, "float"};
        case 'F':
            return {Kind::f32, 4, 2, "float2"};
        case 'd':
            return {Kind::f64, 8, 1, "double"};
        case 'D':
            return {Kind::f64, 8, 2, "double2"};
        case 'h':
            return {Kind::half, 2, 1, "__half"};
        case 'H':
            return {Kind::half, 2, 2, "__half2"};
        case 'g':
            return {Kind::bfloat16, 2, 1, "__nv_bfloat16"};
        case 'G':
            return {Kind::bfloat16, 2, 2, "__nv_bfloat162"};
        default:
            throw std::runtime_error(fmt::format("functions.txt has the unknown type {}", letter));
    }
}

std::size_t Function::result_bytes() const {
    const ScalarType type = scalar_type(result);
    return type.bytes * type.count * (is_pair ? 2 : 1);
}

std::string Family::source(const std::string& prelude) const {
    std::string text = prelude + "#line 1\n";  // For the lines that assert names.
    for (std::size_t number = 0; number < functions.size(); ++number) {
        const Function& one = functions[number];
        if (prints() || ends_contexts()) {
            text += fmt::format("extern \"C\" __global__ void k{}(int* out) {{ {} }}\n", number,
                                prints() ? fmt::format("PRINT({});", one.code)
                                         : fmt::format("STATEMENT {}", one.code));
            continue;
        }
        std::string parameters;
        std::string values;
        for (std::size_t k = 0; k < one.arguments.size(); ++k) {
            const char* type = scalar_type(one.arguments[k]).name;
            parameters += fmt::format("const {}* {}_, ", type, "abcd"[k]);
            values += fmt::format("using {} = {}; [[maybe_unused]] const {} {} = {}_[i]; ",
                                  "ABCD"[k], type, "ABCD"[k], "abcd"[k], "abcd"[k]);
        }
        const std::string result = scalar_type(one.result).name;
        text += fmt::format(
            "extern \"C\" __global__ void k{}({}{}* out, const __grid_constant__ int parameter) "
            "{{ const int i = threadIdx.x; {}using R = {}; out[i] = {}; }}\n",
            number, parameters, one.is_pair ? "Pair<" + result + ">" : result, values,
            one.is_pair ? "Pair<" + result + ">" : result,
            one.code[0] == '{' ? "[&]() -> R " + one.code.substr(0, one.code.size() - 1) + ";}()"
                               : "R(" + one.code + ")");
    }
    return text;
}

std::vector<Family> read_families(const std::string& text) {
    std::vector<Family> families;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        if (line[0] == '[') {
            std::istringstream words(line.substr(1, line.find(']') - 1));
            Family& family = families.emplace_back();
            words >> family.name;
            for (std::string flag; words >> flag;)
                family.flags.push_back(flag);
            continue;
        }
        Family& family = families.back();
        if (family.ends_contexts()) {
            Function& statement = family.functions.emplace_back();
            statement.name = statement.code = line;
            continue;
        }
        std::vector<std::pair<std::string, std::string>> expanded;
        const std::size_t equals = line.find(" = ");
        if (family.prints()) {
            expand(line, "", 1, expanded);
        } else if (equals != std::string::npos) {
            expand(line.substr(0, equals), line.substr(equals + 3), 1, expanded);
        } else {
            for (const std::string& one : lines_of_names(line))
                expand(one, "", 1, expanded);
        }
        for (const auto& [head, code] : expanded) {
            if (!family.prints()) {
                add_function(family, head, code);
                continue;
            }
            Function& call = family.functions.emplace_back();
            call.name = call.code = head;
        }
    }
    return families;
}

std::vector<std::byte> values_of(const Function& function, std::size_t argument) {
    const ScalarType type = scalar_type(function.arguments[argument]);
    const std::vector<std::uint64_t> tricky = tricky_values(type);
    // All combinations of so many, then random ones.
    constexpr std::array<std::size_t, 4> all_of{values_count, 12, 5, 3};
    const std::size_t arity = function.arguments.size();
    const std::size_t grid = std::min(all_of[arity - 1], tricky.size());
    std::size_t stride = 1;
    for (std::size_t k = 0; k < argument; ++k)
        stride *= grid;
    std::size_t combinations = 1;
    for (std::size_t k = 0; k < arity; ++k)
        combinations *= grid;
    std::mt19937_64 random(argument + 1);
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < values_count; ++i) {
        for (std::size_t component = 0; component < type.count; ++component) {
            const std::uint64_t bits = random();
            std::uint64_t value = 0;
            if (i < combinations)
                value = tricky[(i / stride % grid + component * 5) % tricky.size()];
            else if (bits % 4 == 0)
                value = tricky[bits / 4 % tricky.size()];
            else
                value = bits % 4 == 1 ? bits / 4 : common_value(type.kind, random());
            const auto* first = reinterpret_cast<const std::byte*>(&value);
            bytes.insert(bytes.end(), first, first + type.bytes);
        }
    }
    return bytes;
}

}  // namespace lode::test
