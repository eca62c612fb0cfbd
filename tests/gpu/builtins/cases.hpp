// The functions of functions.txt, and the values that they are applied to: the same everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lode::test {

/// The values of each argument, which are a block's threads.
inline constexpr std::size_t values_count = 256;

/// The scalars of a type that functions.txt names by a letter.
struct ScalarType {
    enum class Kind : std::uint8_t { integer, f32, f64, half, bfloat16 } kind = Kind::integer;
    std::size_t bytes = 0;
    std::size_t count = 0;  ///< Scalars in a value.
    const char* name = "";  ///< In CUDA C++.
};
ScalarType scalar_type(char letter);

/// What results of an approximate function may differ by; each bound suffices by itself.
struct Tolerance {
    double ulp = 0;
    double absolute = 0;
    double relative = 0;
};

/// A line of functions.txt, after its braces are expanded.
struct Function {
    std::string name;       ///< With its signature: unique within the family.
    std::string arguments;  ///< A letter for each.
    char result = 0;        ///< 0 for printf and for statements.
    bool is_pair = false;
    std::optional<Tolerance> tolerance = std::nullopt;
    bool moves_bits = false;  ///< Whether a NaN isn't as good as another one.
    std::string code;         ///< An expression, or a body in braces.

    [[nodiscard]] std::size_t result_bytes() const;
};

struct Family {
    std::string name;
    std::vector<std::string> flags;
    std::vector<Function> functions;

    [[nodiscard]] bool prints() const { return name == "printf"; }
    [[nodiscard]] bool ends_contexts() const { return name == "fatal"; }
    [[nodiscard]] bool has_processes() const { return prints() || ends_contexts(); }
    /// CUDA C++ with a kernel for each function, "k" and its number.
    [[nodiscard]] std::string source(const std::string& prelude) const;
};

std::vector<Family> read_families(const std::string& text);

/// The bytes of an argument's values.
std::vector<std::byte> values_of(const Function& function, std::size_t argument);

}  // namespace lode::test
