// Links PTX texts: makes one text out of several, as a device linker makes one program.
#pragma once

#include "emulator/decode/ptx/ast.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator::ptx {

/// The inputs of one link, and their result. Not thread-safe.
class Link {
public:
    /// `newest_version`: as for parse().
    explicit Link(int newest_version) noexcept : newest_version_(newest_version) {}

    /// Parses and checks a text; `name` is for messages. Returns the error, or "". A text with an
    /// error isn't part of the link.
    [[nodiscard]] std::string add(std::string_view text, std::string name);

    /// The link has libcudadevrt.a: its functions count as defined.
    void add_device_runtime() noexcept { has_device_runtime_ = true; }

    /// Resolves the symbols and makes the linked text, which result() has afterwards. Returns every
    /// error, one per line, or "". A symbol that several inputs define is an error unless all
    /// definitions but one are .weak; so is one that is used but nowhere defined, unless the device
    /// provides it, and one that is declared with different types. Symbols that are neither
    /// .visible nor .weak are private to their input.
    [[nodiscard]] std::string complete();

    [[nodiscard]] const std::string& result() const noexcept { return result_; }
    [[nodiscard]] bool empty() const noexcept { return units_.empty(); }

private:
    enum class PieceKind : std::uint8_t { function, variable, file, section, other };
    /// One directive at module level, with everything that belongs to it.
    struct Piece {
        PieceKind kind = PieceKind::other;
        std::string_view text;
        std::size_t heading = 0;  ///< The bytes before a function's body or final ';'.
        const Function* function = nullptr;
        std::vector<const Variable*> variables;
    };
    struct Unit {
        std::string name;
        std::string text;  ///< The module's and the pieces' views point into it.
        Module module;
        std::vector<Piece> pieces;
        std::vector<std::string_view> labels;  ///< Labels in its sections.
        std::unordered_map<std::string_view, std::string> renamed;
        std::uint64_t files = 0;  ///< Added to its file numbers.
    };
    /// A name that all inputs share.
    struct Symbol {
        const Unit* unit = nullptr;
        const Function* function = nullptr;
        const Variable* variable = nullptr;
        bool is_defined = false;
        bool is_replaceable = false;  ///< .weak or .common
    };

    static void split(Unit& unit);
    void resolve(Unit& unit);
    void resolve(const Unit& unit, std::string_view name, Symbol found);
    void check_uses();
    void add_grid_functions();
    [[nodiscard]] bool is_provided(std::string_view name) const noexcept;
    void rename();
    void write();
    void write_variables(bool with_symbols);
    [[nodiscard]] bool is_kept(const Unit& unit, const Piece& piece) const;
    [[nodiscard]] static std::string rewritten(const Unit& unit, std::string_view text,
                                               bool is_code);
    void fail(std::string_view text);

    const int newest_version_;
    bool has_device_runtime_ = false;
    bool has_grid_functions_ = false;
    std::deque<Unit> units_;
    std::unordered_map<std::string_view, Symbol> symbols_;
    std::string errors_;
    std::string result_;
};

}  // namespace lode::emulator::ptx
