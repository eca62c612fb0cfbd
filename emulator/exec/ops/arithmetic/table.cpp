#include "emulator/exec/ops/arithmetic/rows.hpp"

#include <unordered_map>

namespace lode::emulator {

const OpRow* find_op(std::string_view key) {
    static const auto* const index = [] {
        auto* const made = new std::unordered_map<std::string_view, const OpRow*>;
        made->reserve(4096);
        for (const auto rows :
             {exec::integer_rows(), exec::wide_integer_rows(), exec::bit_rows(), exec::carry_rows(),
              exec::float_rows(), exec::rounding_rows(), exec::approx_rows(), exec::half_rows(),
              exec::compare_rows(), exec::set_rows(), exec::integer_convert_rows(),
              exec::float_convert_rows(), exec::narrow_convert_rows(), exec::move_rows()}) {
            for (const OpRow& row : rows) {
                std::string_view keys = row.keys;
                while (!keys.empty()) {
                    const auto space = keys.find(' ');
                    made->emplace(keys.substr(0, space), &row);
                    keys.remove_prefix(space == keys.npos ? keys.size() : space + 1);
                }
            }
        }
        return made;
    }();
    const auto found = index->find(key);
    return found == index->end() ? nullptr : found->second;
}

}  // namespace lode::emulator
