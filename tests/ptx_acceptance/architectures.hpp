// The targets of the programs and their .versions.
#pragma once

#include <string_view>

namespace lode::ptx_acceptance {

struct Architecture {
    std::string_view name;
    int version;  ///< The first .version that supports it, 10 * major + minor.
};

inline constexpr Architecture architectures[] = {
    {"sm_50", 40},   {"sm_60", 50},   {"sm_70", 60},   {"sm_75", 63},   {"sm_80", 70},
    {"sm_86", 71},   {"sm_89", 78},   {"sm_90", 78},   {"sm_90a", 80},  {"sm_100", 86},
    {"sm_100a", 86}, {"sm_100f", 88}, {"sm_103a", 88}, {"sm_107", 94},  {"sm_107a", 94},
    {"sm_107f", 94}, {"sm_110", 90},  {"sm_120", 87},  {"sm_120a", 87}, {"sm_121a", 88},
    {"sm_120f", 88}};
inline constexpr int versions[] = {40, 50, 60, 63, 64, 70, 71, 74, 78, 80, 81, 83,
                                   84, 85, 86, 87, 88, 90, 91, 92, 93, 94, 95};
inline constexpr int newest = 95;

}  // namespace lode::ptx_acceptance
