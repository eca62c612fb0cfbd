// The results of nvrtcGetSupportedArchs for the CUDA releases that the target tests cover.
#pragma once

#include <lode/jit/target.hpp>

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace lode::test {

using Supported = std::vector<ComputeCapability>;

inline Supported list(std::initializer_list<int> numbers) {
    Supported capabilities;
    for (const int number : numbers)
        capabilities.push_back(ComputeCapability::from_number(number));
    return capabilities;
}

inline const std::map<int, Supported>& compilers() {
    static const std::map<int, Supported> table{
        {12000, list({50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90})},
        {12040, list({50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90})},
        {12080, list({50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 120})},
        {12090,
         list({50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121})},
        {13000, list({75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121})},
        {13050, list({75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121})},
    };
    return table;
}

/// Returns "sm_90", "compute_90", "compute_90 linked" or "refused".
inline std::string decide(ComputeCapability device, int compiler, ToolProperties tools,
                          SuffixPolicy suffix = SuffixPolicy::none) {
    tools.compiler_version = compiler;
    const auto target = choose_target({.device = device,
                                       .supported = compilers().at(compiler),
                                       .suffix = suffix,
                                       .tools = tools});
    if (!target) return "refused";
    return target->arch.to_string() + (target->route == CodeRoute::linked ? " linked" : "");
}

}  // namespace lode::test
