#include "base/identifier.hpp"
#include "base/message_text.hpp"
#include "base/try.hpp"
#include "jit/nvcc_flags.hpp"
#include "jit/text.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

using Use = NvccFlag::Use;
using Value = NvccFlag::Value;

const NvccFlag* row_of(std::string_view name) {
    const auto rows = nvcc_flags();
    const auto found = std::ranges::find_if(rows, [&](const NvccFlag& row) {
        return row.name == name || (!row.other.empty() && row.other == name);
    });
    return found == rows.end() ? nullptr : &*found;
}

/// The row of one value of a flag, which may differ from the flag's: "x=cu".
const NvccFlag* row_of_value(const NvccFlag& row, std::string_view value) {
    return row_of(fmt::format("{}={}", row.name, value));
}

/// The row of a letter whose value follows directly: "-DN=4", "-O3".
const NvccFlag* row_of_letter(std::string_view flag) {
    if (flag.size() < 3 || flag[0] != '-' || flag[1] == '-') return nullptr;
    const NvccFlag* const row = row_of(flag.substr(1, 1));
    if (row == nullptr || row->value != Value::joined) return nullptr;
    return row->use != Use::ignored || is_digit(flag[2]) ? row : nullptr;
}

/// The values of a list; "\," is a comma in one.
std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> values(1);
    for (std::size_t at = 0; at < list.size(); ++at) {
        if (list.substr(at).starts_with("\\,")) {
            values.back() += list[++at];
        } else if (list[at] == ',') {
            values.emplace_back();
        } else {
            values.back() += list[at];
        }
    }
    return values;
}

/// "all-warnings, reorder": the values of a flag that have rows.
std::vector<std::string> known_values(const NvccFlag& row) {
    std::vector<std::string> values;
    for (const auto& other : nvcc_flags()) {
        std::string_view name = other.name;
        if (take_prefix(name, fmt::format("{}=", row.name))) values.emplace_back(name);
    }
    return values;
}

void append_words(std::string_view text, std::vector<std::string>& words) {
    while (!text.empty()) {
        const auto blank = std::min(text.find(' '), text.size());
        words.emplace_back(text.substr(0, blank));
        text.remove_prefix(std::min(blank + 1, text.size()));
    }
}

/// A flag that is nearest to what may be misspelt; empty if none is near.
std::string nearest(std::string_view flag) {
    std::vector<std::string> known;
    for (const auto& row : nvcc_flags()) {
        if (row.name.find('=') != std::string_view::npos) continue;
        known.push_back(fmt::format("--{}", row.name));
        known.push_back(fmt::format("-{}", row.other.empty() ? row.name : row.other));
    }
    return did_you_mean(closest(flag.substr(0, flag.find('=')), known));
}

/// The parser's state: what is left of the flags, and the resulting options.
class Parser {
public:
    explicit Parser(std::span<const std::string> flags) : rest_(flags) {}

    Result<CompileOptions> parse() {
        bool takes_value = false;  // The last flag was passed on; its value may follow.
        while (!rest_.empty()) {
            flag_ = rest_.front();
            if (!flag_.starts_with('-')) {
                if (!std::exchange(takes_value, false)) {
                    return refuse(
                        "isn't a compile option: it doesn't begin with a dash and no option "
                        "before it takes a value");
                }
                pass_on();
                continue;
            }
            const ReadFlag read = read_flag(rest_);
            takes_value = read.row == nullptr && flag_.find('=') == std::string_view::npos;
            if (read.row == nullptr) {
                pass_on();
                continue;
            }
            LODE_TRY(take(read));
            rest_ = rest_.subspan(read.taken);
        }
        std::ranges::move(system_folders_, std::back_inserter(options_.include_folders));
        LODE_TRY(compile_flags(options_));
        return std::move(options_);
    }

private:
    [[nodiscard]] tl::unexpected<Error> refuse(std::string_view why) const {
        return fail(Errc::invalid_argument, fmt::format("Option '{}' {}.", shortened(flag_), why));
    }

    void pass_on() {
        options_.extra_flags.emplace_back(flag_);
        rest_ = rest_.subspan(1);
    }

    Status take(const ReadFlag& read) {
        const NvccFlag& row = *read.row;
        if (row.use == Use::refused) {
            const auto meant = row.value == Value::joined ? nearest(flag_) : std::string();
            return fail(Errc::invalid_argument,
                        fmt::format("Option '{}' can't be given here: {}.{}", shortened(flag_),
                                    row.text, meant));
        }
        if (row.value == Value::none && read.value) return refuse("takes no value");
        if (row.value != Value::none && !read.value) return refuse("needs a value after it");
        if (row.use == Use::ignored) return {};
        if (row.use == Use::passed) {
            auto spelled = spelled_for_nvrtc(read);
            if (!spelled) return refuse(spelled.error());
            std::ranges::move(*spelled, std::back_inserter(options_.extra_flags));
            return {};
        }
        // nvcc searches these after all others.
        if (row.name == "system-include") {
            system_folders_.emplace_back(*read.value);
            return {};
        }
        if (const auto why = row.set(options_, read.value.value_or("")); !why.empty())
            return refuse(why);
        return {};
    }

    std::span<const std::string> rest_;
    std::string_view flag_;
    std::vector<std::filesystem::path> system_folders_;
    CompileOptions options_;
};

}  // namespace

ReadFlag read_flag(std::span<const std::string> arguments) {
    const std::string_view flag = arguments.front();
    std::string_view name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
    const auto equals = name.find('=');
    ReadFlag read;
    if (equals != std::string_view::npos) read.value = name.substr(equals + 1);
    name = name.substr(0, equals);
    read.row = row_of(name);
    if (read.row == nullptr) {
        read.row = row_of_letter(flag);
        if (read.row != nullptr) read.value = flag.substr(2);
    }
    if (read.row == nullptr) return read;
    if (read.row->value != Value::none && !read.value && arguments.size() > 1) {
        read.value = arguments[1];
        read.taken = 2;
    }
    if (read.row->value == Value::list || !read.value) return read;
    if (const auto* row = row_of_value(*read.row, *read.value); row != nullptr) {
        read.row = row;
        read.value.reset();
    }
    return read;
}

tl::expected<std::vector<std::string>, std::string> spelled_for_nvrtc(const ReadFlag& flag) {
    const NvccFlag& row = *flag.row;
    std::vector<std::string> spelled;
    if (row.value == Value::none) append_words(row.text, spelled);
    if (row.value == Value::one || row.value == Value::joined)
        spelled.push_back(fmt::format("{}={}", row.text, flag.value.value_or("")));
    if (row.value != Value::list) return spelled;
    for (const auto& value : split(flag.value.value_or(""))) {
        if (const auto* of_value = row_of_value(row, value); of_value != nullptr) {
            if (of_value->use == Use::passed) append_words(of_value->text, spelled);
        } else if (row.text.empty()) {
            return tl::unexpected(fmt::format("has '{}', but its values are {}", shortened(value),
                                              listed(known_values(row))));
        } else {
            spelled.push_back(fmt::format("{}={}", row.text, value));
        }
    }
    return spelled;
}

Result<std::vector<std::string>> passed_flags(std::span<const std::string> extra_flags) {
    std::vector<std::string> passed;
    for (auto rest = extra_flags; !rest.empty();) {
        const std::string& flag = rest.front();
        const auto refuse = [&](std::string_view why) {
            return fail(Errc::invalid_argument,
                        fmt::format("Extra flag '{}' {}.", shortened(flag), why));
        };
        if (flag.empty()) return fail(Errc::invalid_argument, "An extra flag is empty.");
        // NVRTC skips leading blanks, which would hide the flag from the checks below.
        if (std::isspace(static_cast<unsigned char>(flag[0])) != 0)
            return refuse("begins with a blank");
        const ReadFlag read = flag.starts_with('-') ? read_flag(rest) : ReadFlag{};
        const auto is_cut = [](const std::string& text) { return text.find('\0') != text.npos; };
        if (std::ranges::any_of(rest.first(read.taken), is_cut))
            return refuse("contains a NUL character");
        rest = rest.subspan(read.taken);
        if (read.row == nullptr) {
            passed.push_back(flag);
            continue;
        }
        const NvccFlag& row = *read.row;
        if (row.use == Use::option) return refuse(fmt::format("isn't allowed: use {}", row.text));
        if (row.use == Use::refused) return refuse(fmt::format("isn't allowed: {}", row.text));
        if (row.value == Value::none && read.value) return refuse("takes no value");
        if (row.value != Value::none && !read.value) return refuse("needs a value after it");
        if (row.use == Use::ignored) continue;
        auto spelled = spelled_for_nvrtc(read);
        if (!spelled) return refuse(spelled.error());
        for (auto& one : *spelled) {
            // NVRTC before 12.9 refuses a flag without a value that is given twice.
            const bool is_there = std::ranges::find(passed, one) != passed.end();
            if (row.value != Value::none || !is_there) passed.push_back(std::move(one));
        }
    }
    return passed;
}

std::string unknown_flag_hint(std::string_view message) {
    constexpr std::string_view end = " found";
    if (!take_prefix(message, "unrecognized option ") || !message.ends_with(end)) return {};
    const std::string flag(message.substr(0, message.size() - end.size()));
    const ReadFlag read = read_flag({&flag, 1});
    if (read.row == nullptr) return nearest(flag);
    const int since = read.row->since;
    if (since == 0) return {};
    return fmt::format(" NVRTC {}.{} and newer have it.", since / 100, since % 100);
}

Result<CompileOptions> CompileOptions::parse(std::span<const std::string> flags) {
    return Parser(flags).parse();
}

}  // namespace LODE_NAMESPACE
