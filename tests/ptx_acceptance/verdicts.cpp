#include "verdicts.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>

#include <fmt/format.h>

namespace lode::ptx_acceptance {
namespace {

constexpr std::string_view digits =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t on_a_line = 48;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::string after(std::string_view line, std::string_view word) {
    return line.starts_with(word) ? std::string(line.substr(word.size())) : std::string();
}

std::uint64_t number(std::string_view text, int base) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value, base);
    return value;
}

}  // namespace

std::string without_names(std::string_view message) {
    std::string out;
    for (std::size_t k = 0; k < message.size(); ++k) {
        const char c = message[k];
        if (c == '\'') {
            const std::size_t end = message.find('\'', k + 1);
            if (end != message.npos) {
                out += "'*'";
                k = end;
                continue;
            }
        }
        if (is_digit(c)) {
            if (out.empty() || out.back() != '#') out += '#';
        } else {
            out += c;
        }
    }
    if (out.ends_with("syntax error")) return "syntax error";
    return out;
}

std::uint64_t digest_of(std::span<const Program> programs) {
    std::uint64_t all = digest("");
    for (const Program& program : programs)
        all = digest(program.text(), all);
    return all;
}

bool write_verdicts(const std::string& path, const VerdictFile& file,
                    std::span<const Program> programs) {
    std::vector<std::string> messages{"", "ptxas crashes"};
    std::string codes;
    std::string family;
    std::size_t on_line = 0;
    for (std::size_t k = 0; k < programs.size(); ++k) {
        const Verdict& verdict = file.verdicts[k];
        const std::string& message = verdict.crashed ? messages[1] : verdict.message;
        auto at = std::ranges::find(messages, message);
        if (at == messages.end()) at = messages.insert(at, message);
        const auto code = static_cast<std::size_t>(at - messages.begin());
        if (programs[k].family != family) {
            family = programs[k].family;
            codes += fmt::format("{}family {}", k == 0 ? "" : "\n", family);
            on_line = 0;
        }
        if (on_line++ % on_a_line == 0) codes += '\n';
        codes += digits[code / digits.size()];
        codes += digits[code % digits.size()];
    }
    std::ofstream out(path, std::ios::trunc);
    out << "# Written by `lode_ptx_judge judge`. Two characters for each program: the number of "
           "ptxas's first\n# message; 00 for an accepted one.\n";
    out << fmt::format("judge {}\nseed {}\ndigest {:016x}\n", file.judge, file.seed, file.digest);
    for (std::size_t k = 1; k < messages.size(); ++k)
        out << "message " << messages[k] << '\n';
    out << codes << '\n';
    return static_cast<bool>(out);
}

bool read_verdicts(const std::string& path, VerdictFile& file, std::string& error) {
    std::ifstream in(path);
    if (!in) error = "The file " + path + " can't be read.";
    std::vector<std::string> messages{""};
    bool body = false;
    std::string line;
    for (int at = 1; std::getline(in, line); ++at) {
        if (line.empty() || line[0] == '#') continue;
        if (line.starts_with("family ")) {
            body = true;
        } else if (!body && line.starts_with("judge ")) {
            file.judge = after(line, "judge ");
        } else if (!body && line.starts_with("seed ")) {
            file.seed = number(after(line, "seed "), 10);
        } else if (!body && line.starts_with("digest ")) {
            file.digest = number(after(line, "digest "), 16);
        } else if (!body && line.starts_with("message ")) {
            messages.push_back(after(line, "message "));
        } else {
            for (std::size_t k = 0; k < line.size(); k += 2) {
                const std::size_t high = digits.find(line[k]);
                const std::size_t low =
                    k + 1 < line.size() ? digits.find(line[k + 1]) : digits.npos;
                const std::size_t code = high * digits.size() + low;
                if (high == digits.npos || low == digits.npos || code >= messages.size()) {
                    error = fmt::format("{}:{} has no verdict at column {}.", path, at, k + 1);
                    return false;
                }
                file.verdicts.push_back({code == 0, code == 1, messages[code]});
            }
        }
    }
    return error.empty();
}

}  // namespace lode::ptx_acceptance
