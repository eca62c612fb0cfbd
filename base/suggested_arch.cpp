#include "base/suggested_arch.hpp"

#include "base/lower_case.hpp"

#include <lode/base/arch.hpp>

namespace LODE_NAMESPACE {

std::string suggested_arch(std::string_view text) {
    std::string letters;
    std::string rest;
    for (const char c : lower_case(text)) {
        const bool is_letter = c >= 'a' && c <= 'z';
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_letter && !is_digit) continue;
        (is_letter && rest.empty() ? letters : rest) += c;
    }
    const bool is_virtual = letters == "compute" || letters == "ptx";
    if (!letters.empty() && letters != "sm" && !is_virtual) return {};
    const auto arch = Arch::parse((is_virtual ? "compute_" : "sm_") + rest);
    return arch ? arch->to_string() : std::string();
}

}  // namespace LODE_NAMESPACE
