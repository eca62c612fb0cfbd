#include <cmath>

#include <fmt/format.h>
#include <tests/corpus/corpus.hpp>

namespace lode::corpus {

bool Check::near(double a, double b, double relative, double absolute) {
    if (std::isnan(a) && std::isnan(b)) return true;
    if (a == b) return true;
    const double distance = std::fabs(a - b);
    return distance <= absolute || distance <= relative * std::fabs(b);
}

void Check::differs(std::string_view what, std::size_t index, double got, double want) {
    ++compared_;
    differences_.push_back(fmt::format("{}[{}] is {} and should be {}", what, index, got, want));
}

const std::vector<Case>& all_cases() {
    static const std::vector<Case> cases = [] {
        std::vector<Case> made;
        add_map_cases(made);
        add_block_cases(made);
        add_grid_cases(made);
        add_maths_cases(made);
        add_library_cases(made);
        return made;
    }();
    return cases;
}

}  // namespace lode::corpus
