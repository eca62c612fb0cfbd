#include <unordered_map>

#include <emulator/exec/ops/table.hpp>

namespace lode::emulator {

const OpRow* find_op(std::string_view key) {
    static const std::unordered_map<std::string_view, const OpRow*> index = [] {
        std::unordered_map<std::string_view, const OpRow*> made;
        made.reserve(4096);
        for (const auto rows :
             {integer_rows(), wide_integer_rows(), bit_rows(), carry_rows(), float_rows(),
              rounding_rows(), approx_rows(), half_rows(), compare_rows(), set_rows(),
              integer_convert_rows(), float_convert_rows(), narrow_convert_rows(), move_rows()}) {
            for (const OpRow& row : rows) {
                std::string_view keys = row.keys;
                while (!keys.empty()) {
                    const auto space = keys.find(' ');
                    made.emplace(keys.substr(0, space), &row);
                    keys.remove_prefix(space == keys.npos ? keys.size() : space + 1);
                }
            }
        }
        return made;
    }();
    const auto found = index.find(key);
    return found == index.end() ? nullptr : found->second;
}

}  // namespace lode::emulator
