#include "base/try.hpp"
#include "jit/options_text.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace lode {
namespace {

/// The parser state: a flag, its value, and the resulting options.
class Parser {
public:
    explicit Parser(std::span<const std::string> flags) : flags_(flags) {}

    Result<CompileOptions> parse() {
        bool takes_value = false;  // The last flag was passed on; its value may follow.
        while (at_ < flags_.size()) {
            flag_ = flags_[at_++];
            const bool is_flag = flag_.starts_with('-');
            if (!is_flag && !takes_value) {
                return refuse(
                    "isn't a compile option: it doesn't begin with a dash and no option "
                    "before it takes a value");
            }
            takes_value = false;
            LODE_TRY_ASSIGN(const bool known, is_flag ? take() : Result<bool>(false));
            if (known) continue;
            if (const auto why = owner_of(flag_); is_flag && !why.empty())
                return refuse(fmt::format("can't be given here: {}", why));
            takes_value = is_flag && flag_.find('=') == std::string_view::npos;
            options_.extra_flags.emplace_back(flag_);
        }
        LODE_TRY(compile_flags(options_));
        return std::move(options_);
    }

private:
    [[nodiscard]] tl::unexpected<Error> refuse(std::string_view why) const {
        return fail(Errc::invalid_argument, fmt::format("Option '{}' {}.", flag_, why));
    }

    /// The text after "=", else the next argument.
    Result<std::string_view> value(std::string_view rest) {
        if (rest.starts_with('=')) return rest.substr(1);
        if (at_ == flags_.size()) return refuse("needs a value after it");
        return std::string_view(flags_[at_++]);
    }

    /// The text after a one-letter flag, else the next argument.
    Result<std::string_view> joined_value(std::string_view rest) {
        if (!rest.empty()) return rest;
        return value(rest);
    }

    Result<bool> truth(std::string_view rest) {
        LODE_TRY_ASSIGN(const auto text, value(rest));
        if (text == "true" || text == "false") return text == "true";
        return refuse(fmt::format("is '{}' but must be true or false", text));
    }

    /// Handles the flag if it sets a member of the options; returns whether it does.
    Result<bool> take() {
        if (flag_.starts_with("-D")) {
            LODE_TRY_ASSIGN(const auto text, joined_value(flag_.substr(2)));
            options_.definitions.push_back(definition_of(text));
            return true;
        }
        if (flag_.starts_with("-I")) {
            LODE_TRY_ASSIGN(const auto text, joined_value(flag_.substr(2)));
            options_.include_folders.emplace_back(text);
            return true;
        }
        const auto dashes = std::min(flag_.find_first_not_of('-'), flag_.size());
        const auto end = std::min(flag_.find('='), flag_.size());
        const auto name = flag_.substr(dashes, std::max(end, dashes) - dashes);
        const auto rest = flag_.substr(std::max(end, dashes));
        if (rest.empty() && set_switch(name)) return true;
        return take_named(name, rest);
    }

    bool set_switch(std::string_view name) {
        if (name == "use_fast_math") {
            options_.math.preset = Math::Preset::fast;
        } else if (name == "lineinfo" || name == "generate-line-info") {
            options_.line_info = true;
        } else if (name == "G" || name == "device-debug") {
            options_.debug = true;
        } else if (name == "dc" || name == "device-c" || name == "dw" || name == "device-w") {
            options_.relocatable = true;
        } else if (name == "dlto" || name == "dlink-time-opt") {
            options_.lto = true;
        } else if (name == "minimal") {
            options_.minimal = true;
        } else if (name == "enable-tile") {
            if (options_.tile == Tile::none) options_.tile = Tile::enabled;
        } else if (name == "tile-only") {
            options_.tile = Tile::only;
        } else {
            return false;
        }
        return true;
    }

    Result<bool> take_named(std::string_view name, std::string_view rest) {
        if (name == "define-macro") {
            LODE_TRY_ASSIGN(const auto text, value(rest));
            options_.definitions.push_back(definition_of(text));
        } else if (name == "include-path") {
            LODE_TRY_ASSIGN(const auto text, value(rest));
            options_.include_folders.emplace_back(text);
        } else if (name == "include" || name == "pre-include") {
            LODE_TRY_ASSIGN(const auto text, value(rest));
            options_.pre_includes.emplace_back(text);
        } else if (name == "std") {
            LODE_TRY_ASSIGN(const auto text, value(rest));
            const auto standard = text.starts_with("c++") ? standard_of(text) : std::nullopt;
            if (!standard) {
                return refuse(
                    fmt::format("is '{}' but must be c++11, c++14, c++17 or c++20", text));
            }
            options_.standard = *standard;
        } else if (name == "maxrregcount") {
            LODE_TRY_ASSIGN(const auto text, value(rest));
            const char* const end = text.data() + text.size();
            const auto [stop, wrong] = std::from_chars(text.data(), end, options_.max_registers);
            if (wrong != std::errc{} || stop != end)
                return refuse(fmt::format("is '{}' but must be a number from 0 to 255", text));
        } else if (name == "rdc" || name == "relocatable-device-code") {
            LODE_TRY_ASSIGN(options_.relocatable, truth(rest));
        } else if (name == "ftz") {
            LODE_TRY_ASSIGN(options_.math.ftz, truth(rest));
        } else if (name == "prec-div") {
            LODE_TRY_ASSIGN(options_.math.prec_div, truth(rest));
        } else if (name == "prec-sqrt") {
            LODE_TRY_ASSIGN(options_.math.prec_sqrt, truth(rest));
        } else if (name == "fmad") {
            LODE_TRY_ASSIGN(options_.math.fmad, truth(rest));
        } else {
            return false;
        }
        return true;
    }

    std::span<const std::string> flags_;
    std::size_t at_ = 0;
    std::string_view flag_;
    CompileOptions options_;
};

}  // namespace

Result<CompileOptions> CompileOptions::parse(std::span<const std::string> flags) {
    return Parser(flags).parse();
}

}  // namespace lode
