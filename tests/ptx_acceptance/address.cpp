#include "address.hpp"

#include <string_view>

namespace lode::ptx_acceptance {
namespace {

/// address: "[" sum "]" | sum
/// sum:     item {("+" | "-") item}
/// item:    (name | register | constant | "(" sum ")") {"[" sum "]"}
class Grammar {
public:
    explicit Grammar(Random& random) : random_(random) {}

    std::string address(const std::string& base) {
        const bool in_brackets = random_.one_in(2);
        // Without brackets, an index makes it an address.
        const std::string all = sum(base, 0, in_brackets ? 5 : 2);
        return in_brackets ? "[" + all + "]" : all;
    }

private:
    std::string sum(const std::string& base, int depth, std::size_t few_indices) {
        std::string made = item(base, depth, few_indices);
        while (random_.one_in(3)) {
            made += random_.one_in(4) ? "-" : "+";
            made += random_.one_in(6) ? item("", depth + 1, few_indices) : constant(depth + 1);
        }
        return made;
    }

    std::string item(const std::string& base, int depth, std::size_t few_indices) {
        std::string made = base.empty() ? primary(depth) : base;
        while (depth < 2 && random_.one_in(few_indices)) {
            few_indices = 8;
            made += "[" + (random_.one_in(6) ? sum("", depth + 1, 12) : index(depth + 1)) + "]";
        }
        return made;
    }

    std::string index(int depth) {
        if (random_.one_in(3)) return constant(depth);
        std::string made = random_.pick(registers);
        if (random_.one_in(2)) made += "+" + constant(depth);
        return made;
    }

    std::string primary(int depth) {
        switch (random_.below(depth > 2 ? 6 : 7)) {
            case 0:
            case 1:
                return std::string(random_.pick(names));
            case 2:
            case 3:
            case 4:
                return std::string(random_.pick(registers));
            case 5:
                return constant(depth);
            default:
                return "(" + sum("", depth + 1, 12) + ")";
        }
    }

    std::string constant(int depth) {
        switch (random_.below(depth > 3 ? 4 : 7)) {
            case 4:
                return "-" + constant(depth + 1);
            case 5:
                return "(" + constant(depth + 1) + ")";
            case 6: {
                std::string made = constant(depth + 1);
                made += random_.pick(operators);
                made += constant(depth + 1);
                return made;
            }
            default:
                return std::string(random_.pick(numbers));
        }
    }

    static constexpr std::string_view names[] = {"gbuf", "garr", "gvec", "gone", "sbuf", "sarr",
                                                 "cbuf", "lbuf", "pbuf", "prm",  "L1"};
    static constexpr const char* registers[] = {"%u32_7", "%u64_7", "%b32_7", "%b64_7", "%s32_7",
                                                "%s64_7", "%u16_7", "%s16_7", "%b16_7", "%u8_7",
                                                "%f32_7", "%p_7",   "%f16_7", "%tid.x", "%laneid"};
    static constexpr std::string_view numbers[] = {"0", "4",    "8",           "16",      "1",
                                                   "7", "0x10", "0x100000000", "WARP_SZ", "1.5"};
    static constexpr std::string_view operators[] = {"+", "-", "*", "<<", "|"};

    Random& random_;
};

}  // namespace

std::string random_address(Random& random, const std::string& base) {
    return Grammar(random).address(base);
}

}  // namespace lode::ptx_acceptance
