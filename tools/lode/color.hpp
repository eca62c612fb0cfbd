// Whether and how the command's text is coloured. Nothing else writes colours.
#pragma once

#include <lode/base/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lode::tool {

enum class ColorMode : std::uint8_t { automatic, always, never };

/// "auto", "always" or "never". Errors: invalid_argument names --color.
[[nodiscard]] Result<ColorMode> parse_color_mode(std::string_view text);

/// The colours of one stream; all texts stay as they are if there are none.
class Colors {
public:
    /// What decides in automatic mode.
    struct Surroundings {
        bool is_terminal = false;
        std::optional<std::string> term = {};            ///< TERM; "dumb" has no colours.
        std::optional<std::string> no_color = {};        ///< NO_COLOR: none, unless it is empty.
        std::optional<std::string> clicolor_force = {};  ///< CLICOLOR_FORCE: also into files,
                                                         ///< unless it is empty or "0".
    };

    Colors() = default;  ///< None.
    Colors(ColorMode mode, const Surroundings& surroundings);

    [[nodiscard]] std::string error(std::string_view text) const;
    [[nodiscard]] std::string warning(std::string_view text) const;
    [[nodiscard]] std::string remark(std::string_view text) const;
    [[nodiscard]] std::string success(std::string_view text) const;

    /// A compiler's log: the location and the word "error" of its messages, and the carets.
    [[nodiscard]] std::string log(std::string_view text) const;

private:
    bool are_on_ = false;
};

/// Sets what --color says. Call before the first output.
void set_color_mode(ColorMode mode) noexcept;

/// The colours of the open stream `file` of this process.
[[nodiscard]] Colors colors_of(int file);

}  // namespace lode::tool
