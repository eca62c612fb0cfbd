// Results of the functions of functions.txt: what the repository keeps of them, and whether two are
// the same.
#pragma once

#include "tests/gpu/builtins/cases.hpp"

#include <string>

namespace lode::test {

/// What results.txt has of a function's results.
std::string condensed(const Function& function, const std::string& results);

/// Whether results, all or the first ones, are those expected: exactly, or within the tolerance.
bool agree(const Function& function, const std::string& expected, const std::string& got);

/// Prints the values that differ, if there are values.
void print_differences(const Function& function, const std::string& expected,
                       const std::string& got);

}  // namespace lode::test
