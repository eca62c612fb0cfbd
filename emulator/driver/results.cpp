// cuGetErrorName, cuGetErrorString.
#include "emulator/driver/abi.hpp"

#include <algorithm>
#include <iterator>

namespace lode::emulator::driver {
namespace {

struct Row {
    int code;
    const char* name;
    const char* words;
};

constexpr Row table[] = {
#define LODE_RESULT(code, name, words) Row{code, #name, words},
#include "emulator/driver/results.def"
#undef LODE_RESULT
};

CUresult answer(CUresult code, const char** text, const char* Row::*column) noexcept {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto row = std::ranges::find(table, static_cast<int>(code), &Row::code);
    *text = row == std::end(table) ? nullptr : row->*column;
    return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

LODE_ENTRY cuGetErrorName(CUresult error, const char** pStr) {
    return answer(error, pStr, &Row::name);
}

LODE_ENTRY cuGetErrorString(CUresult error, const char** pStr) {
    return answer(error, pStr, &Row::words);
}

}  // namespace lode::emulator::driver
