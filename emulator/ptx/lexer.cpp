#include <bit>
#include <charconv>

#include <emulator/ptx/lexer.hpp>

namespace lode::emulator::ptx {

// 12, 017, 1.5, 2e10; a number with a point or an exponent is a double.
void Lexer::decimal() noexcept {
    const char* const start = at_;
    const char* probe = at_;
    while (probe != end_ && *probe >= '0' && *probe <= '9')
        ++probe;
    const bool real = probe != end_ &&
                      ((*probe == '.' && probe + 1 != end_ && probe[1] >= '0' && probe[1] <= '9') ||
                       *probe == 'e' || *probe == 'E');
    if (!real) {
        digits(*start == '0' && probe - start > 1 ? 8 : 10);
        return;
    }
    double value = 0;
    at_ = std::from_chars(start, end_, value).ptr;
    bits = std::bit_cast<std::uint64_t>(value);
    token = Token::real64;
}

}  // namespace lode::emulator::ptx
