// Names of kernels and variables as C++ writes them: symbols made readable, spellings compared, and
// what was meant by a name that doesn't exist.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode {

/// What a mangled symbol is in C++: "void ns::scale<float>(float*, int)"; nullopt for other names.
std::optional<std::string> demangled(std::string_view symbol);

/// The same without return type and parameters: "ns::scale<float>"; a symbol that isn't mangled is
/// its own name.
std::string readable_name(std::string_view symbol);

/// The text with the C++ name behind each mangled symbol: "'_Z1kPf' (k(float*))".
std::string with_readable_symbols(std::string_view text);

/// How far two spellings of a name may be apart.
enum class Spelling : unsigned char {
    exact,  ///< Blanks, order of words ("const float", "float const"), casts of numbers, "::"
            ///< first.
    loose   ///< Also the types of numbers (3, 3U, (short)3) and long for long long.
};

/// One text for all spellings of a name. Any text is allowed; what isn't a name keeps its words.
std::string canonical_name(std::string_view name, Spelling spelling);

/// A thing that can be named: its symbol, and the C++ name if that isn't to be had from the symbol.
struct NamedSymbol {
    std::string symbol;
    std::string name = {};
};

/// The symbols that `wanted` names, each once: those whose exact spelling it is, otherwise those
/// whose loose one it is. It may have a parameter list, to choose among overloads.
std::vector<std::string> symbols_named(std::string_view wanted,
                                       std::span<const NamedSymbol> candidates);

/// The part of a name that people mistype: no "&", no template arguments, no scopes.
std::string_view plain_name(std::string_view name);

/// " Is it 'ns::scale'? …" for the name that comes closest to `wanted`, with what differs; empty
/// when none is close. Names that differ in nothing but their spelling aren't suggested.
std::string suggestion(std::string_view wanted, std::span<const std::string> names);

}  // namespace lode
