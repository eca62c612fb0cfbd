#include "emulator/decode/ptx/lexer.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

namespace lode::emulator::ptx {

// 12, 017, 1.5, 2e10; a number with a decimal point or an exponent is a double.
void Lexer::decimal() noexcept {
    const char* const start = at_;
    const char* probe = at_;
    while (probe != end_ && *probe >= '0' && *probe <= '9')
        ++probe;
    const bool real = probe != end_ && (*probe == '.' || *probe == 'e' || *probe == 'E');
    if (!real) {
        digits(*start == '0' && probe - start > 1 ? 8 : 10);
        return;
    }
    double value = 0;
    const auto [end, wrong] = std::from_chars(start, end_, value);
    overflows = wrong != std::errc();
    at_ = std::max(end, probe + 1);
    bits = std::bit_cast<std::uint64_t>(value);
    token = Token::real64;
}

bool Lexer::skip_comment() noexcept {
    constexpr std::string_view close = "*/";
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    const std::size_t length = rest.find(close, close.size());
    if (length == rest.npos) return false;
    const std::string_view comment = rest.substr(0, length + close.size());
    current_line_ += static_cast<std::uint32_t>(std::ranges::count(comment, '\n'));
    at_ += comment.size();
    return true;
}

}  // namespace lode::emulator::ptx
