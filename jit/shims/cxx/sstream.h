// String streams exist as types, so that headers that mention them compile; their use is an error.
#pragma once
#include <iostream>

namespace std {

template <class CharT, class Traits = void, class Allocator = void>
class basic_stringstream : public basic_ostream<CharT> {
    static_assert(sizeof(CharT) == 0,
                  "std::stringstream isn't available in kernels: there is no std::string. Use "
                  "printf, or write characters to an array.");

public:
    template <class... Args>
    __device__ explicit basic_stringstream(const Args&...) {}
};
template <class CharT, class Traits = void, class Allocator = void>
class basic_ostringstream : public basic_ostream<CharT> {
    static_assert(sizeof(CharT) == 0,
                  "std::ostringstream isn't available in kernels: there is no std::string. Use "
                  "printf, or write characters to an array.");

public:
    template <class... Args>
    __device__ explicit basic_ostringstream(const Args&...) {}
};
template <class CharT, class Traits = void, class Allocator = void>
class basic_istringstream : public basic_istream<CharT> {
    static_assert(sizeof(CharT) == 0,
                  "std::istringstream isn't available in kernels: there is no std::string. Pass "
                  "the values to the kernel.");

public:
    template <class... Args>
    __device__ explicit basic_istringstream(const Args&...) {}
};
typedef basic_stringstream<char> stringstream;
typedef basic_ostringstream<char> ostringstream;
typedef basic_istringstream<char> istringstream;

}  // namespace std
