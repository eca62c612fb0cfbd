#include "tests/fuzz/target.hpp"

#include <vector>

namespace lode::fuzz {

std::span<const Target> targets() {
    static const std::vector<Target> all = [] {
        std::vector<Target> rows;
        for (const auto part : {cache_targets(), remote_targets(), text_targets(), ptx_targets(),
                                command_targets(), driver_targets()})
            rows.insert(rows.end(), part.begin(), part.end());
        return rows;
    }();
    return all;
}

const Target* find_target(std::string_view name) {
    for (const Target& target : targets()) {
        if (target.name == name) return &target;
    }
    return nullptr;
}

}  // namespace lode::fuzz
