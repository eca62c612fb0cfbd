#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <cstring>

namespace lode::fuzz {
namespace {

/// A random part of `text`, usually a short one.
std::string_view part_of(std::string_view text, Random& random) {
    if (text.empty()) return text;
    const std::size_t most =
        random.one_in(4) ? text.size() : std::min<std::size_t>(16, text.size());
    const std::size_t size = 1 + random.below(most);
    return text.substr(random.below(text.size() - size + 1), size);
}

/// A random line of `words`.
std::string_view word_of(std::string_view words, Random& random) {
    const std::size_t at = random.below(words.size());
    const std::size_t begin = words.rfind('\n', at == 0 ? 0 : at - 1);
    words.remove_prefix(begin == std::string_view::npos ? 0 : begin + 1);
    return words.substr(0, words.find('\n'));
}

void put_number(std::string& input, Random& random) {
    static constexpr std::uint64_t edges[] = {0,
                                              1,
                                              2,
                                              3,
                                              7,
                                              8,
                                              16,
                                              31,
                                              32,
                                              63,
                                              64,
                                              100,
                                              127,
                                              128,
                                              255,
                                              256,
                                              512,
                                              1000,
                                              1024,
                                              4096,
                                              32767,
                                              32768,
                                              65535,
                                              65536,
                                              0x7fffffff,
                                              0x80000000,
                                              0xffffffff,
                                              0x100000000,
                                              0x7fffffffffffffff,
                                              0x8000000000000000,
                                              0xfffffffffffffff0,
                                              0xffffffffffffffff};
    std::uint64_t number = edges[random.below(std::size(edges))];
    if (random.one_in(4)) number = input.size() + random.below(9) - 4;
    if (random.one_in(8)) number = random.bits();
    const std::size_t size = std::size_t{1} << random.below(4);
    if (input.size() < size) return;
    if (random.one_in(4)) number = __builtin_bswap64(number) >> (64 - 8 * size);
    std::memcpy(input.data() + random.below(input.size() - size + 1), &number, size);
}

void change(std::string& input, std::string_view other, std::string_view words, Random& random) {
    const std::size_t at = random.below(input.size() + 1);
    const std::size_t kinds = words.empty() ? 9 : 12;
    switch (random.below(kinds)) {
        case 0:
            if (!input.empty())
                input[random.below(input.size())] ^= static_cast<char>(1 << random.below(8));
            break;
        case 1:
            if (!input.empty())
                input[random.below(input.size())] = static_cast<char>(random.bits());
            break;
        case 2:
        case 3:
            put_number(input, random);
            break;
        case 4:
            input.insert(at, 1 + random.below(8), static_cast<char>(random.bits()));
            break;
        case 5:
            input.erase(at, 1 + random.below(random.one_in(4) ? input.size() + 1 : 8));
            break;
        case 6:
            input.insert(at, std::string(part_of(input, random)));
            break;
        case 7:
            input.insert(at, part_of(other, random));
            break;
        case 8: {
            const std::string part(part_of(random.one_in(2) ? other : input, random));
            input.replace(at, part.size(), part);
            break;
        }
        case 9: {
            // A digit becomes another digit, any other character a printable one.
            if (input.empty()) break;
            char& c = input[random.below(input.size())];
            c = c >= '0' && c <= '9' ? static_cast<char>('0' + random.below(10))
                                     : static_cast<char>(' ' + random.below(95));
            break;
        }
        default:
            input.insert(at, word_of(words, random));
            break;
    }
}

}  // namespace

void mutate_bytes(std::string& input, std::string_view other, std::string_view words,
                  Random& random) {
    const std::size_t changes = 1 + random.below(random.one_in(3) ? 8 : 3);
    for (std::size_t k = 0; k < changes; ++k)
        change(input, other, words, random);
}

void mutate(const Target& target, std::string& input, std::string_view other, Random& random) {
    if (target.form == Form::ptx && !random.one_in(8)) {
        mutate_ptx(input, other, random);
    } else {
        mutate_bytes(input, other, target.words, random);
    }
    if (input.size() > target.most) input.resize(target.most);
}

}  // namespace lode::fuzz
