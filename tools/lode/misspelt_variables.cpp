#include "tools/lode/misspelt_variables.hpp"

#include "base/foreign_environment.hpp"
#include "base/message_text.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>

namespace lode::tool {

std::vector<MisspeltVariable> misspelt_variables() {
    constexpr std::size_t most_edits = 2;
    const auto table = environment_table();
    std::vector<MisspeltVariable> misspelt;
    for (const auto& name : environment_names("LODE_")) {
        const auto nearest = std::ranges::min_element(
            table, {}, [&](const auto& row) { return edit_distance(name, row.name); });
        const std::size_t edits = edit_distance(name, nearest->name);
        if (edits > 0 && edits <= most_edits)
            misspelt.push_back({name, std::string(nearest->name)});
    }
    return misspelt;
}

}  // namespace lode::tool
