// Reads the tables.
#include "architectures.hpp"
#include "program.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace lode::ptx_acceptance {

bool Tables::read(const std::string& folder, Tables& tables, std::string& error) {
    std::vector<std::string> files;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
        files.push_back(entry.path().string());
    std::ranges::sort(files);
    if (files.empty()) error = "The folder " + folder + " has no tables.";
    for (const std::string& file : files) {
        std::ifstream in(file);
        std::string line;
        for (int number = 1; std::getline(in, line); ++number) {
            if (line.empty() || line[0] == '#') continue;
            const std::size_t first = line.find(" | ");
            const std::size_t second = line.find(" | ", first + 1);
            if (first == line.npos || second == line.npos) {
                error = fmt::format("{}:{} has no family, target and text.", file, number);
                return false;
            }
            Row row;
            row.family = line.substr(0, first);
            std::string need = line.substr(first + 3, second - first - 3);
            row.text = line.substr(second + 3);
            row.every_operand = need.ends_with(" !");
            if (row.every_operand) need.resize(need.size() - 2);
            if (const std::size_t space = need.find(' '); space != need.npos) {
                row.version = 10 * (need[space + 1] - '0') + (need[space + 3] - '0');
                need.resize(space);
            }
            row.target = "sm_" + need;
            for (const Architecture& known : architectures)
                if (row.target == known.name)
                    row.version = std::max(row.version == 90 && need == "75" ? 63 : row.version,
                                           known.version);
            tables.rows_.push_back(std::move(row));
        }
    }
    return error.empty();
}

}  // namespace lode::ptx_acceptance
