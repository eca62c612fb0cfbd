// C++ names of kernels and variables: demangling, comparing spellings, and suggestions for a name
// that doesn't exist.
#pragma once

#include <lode/base/api.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// Demangles a symbol: "void ns::scale<float>(float*, int)"; nullopt for other names.
std::optional<std::string> demangled(std::string_view symbol);

/// The types of a mangled function's parameters: {"float*", "int"}; empty for other names.
std::vector<std::string> parameter_types(std::string_view symbol);

/// A C++ type of numbers, bool among them.
struct NumberType {
    bool is_floating = false;
    bool is_signed = false;
    std::size_t size = 0;  ///< Bytes.
};
/// What demangled names call "float" or "unsigned int"; nullopt for other types.
std::optional<NumberType> number_type(std::string_view name);

/// "float const*" to "float"; empty for what isn't a pointer.
std::string_view pointee_type(std::string_view type);

/// demangled() without return type and parameters: "ns::scale<float>". An unmangled symbol is
/// returned unchanged.
std::string readable_name(std::string_view symbol);

/// The text with the C++ name after each mangled symbol: "'_Z1kPf' (k(float*))".
std::string with_readable_symbols(std::string_view text);

/// How much two spellings of a name may differ.
enum class Spelling : unsigned char {
    exact,  ///< Ignores blanks, order of words ("const float", "float const"), casts of numbers,
            ///< and a leading "::".
    loose   ///< Also ignores the types of numbers (3, 3U, (short)3) and treats long long as long.
};

/// Canonical form shared by all spellings of a name. Any text is allowed; words of non-names are
/// kept.
std::string canonical_name(std::string_view name, Spelling spelling);

/// A nameable entity: its symbol, and its C++ name if that can't be derived from the symbol.
struct NamedSymbol {
    std::string symbol;
    std::string name = {};
};

/// The symbols that `wanted` names, without duplicates: exact spelling matches, or loose ones if
/// there are none. `wanted` may have a parameter list, to choose among overloads.
std::vector<std::string> symbols_named(std::string_view wanted,
                                       std::span<const NamedSymbol> candidates);

/// The part of a name that is usually mistyped: no "&", no template arguments, no scopes.
std::string_view plain_name(std::string_view name);

/// " Did you mean 'ns::scale'? …" for the name closest to `wanted`, with the difference; empty when
/// none is close. Names that differ only in spelling aren't suggested.
std::string suggestion(std::string_view wanted, std::span<const std::string> names);

/// "scale<float> (_Z5scaleIfEvPT_i), saxpy and 3 more": a message's list of kernels, each given as
/// a symbol or a C++ name. If they are too many for a message, those nearest to `wanted` come
/// first.
std::string listed_near(std::string_view wanted, std::span<const std::string> names);

}  // namespace LODE_NAMESPACE
