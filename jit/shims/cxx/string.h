// std::string exists as a type, so that headers that mention it compile; its use is an error.
#pragma once
#include <stddef.h>

namespace std {

template <class CharT, class Traits = void, class Allocator = void>
class basic_string {
    static_assert(sizeof(CharT) == 0,
                  "std::string isn't available in kernels, which have no allocator for it. Use "
                  "std::string_view, or an array of characters.");

public:
    template <class... Args>
    __device__ basic_string(const Args&...) {}
};
typedef basic_string<char> string;
typedef basic_string<wchar_t> wstring;
typedef basic_string<char16_t> u16string;
typedef basic_string<char32_t> u32string;

template <class Value>
__device__ string& to_string(Value) {
    static_assert(sizeof(Value) == 0,
                  "std::to_string isn't available in kernels: there is no std::string. Use printf.");
    return *static_cast<string*>(nullptr);
}

}  // namespace std
