// Streams exist as types, so that headers that mention them compile; their use is an error.
#pragma once
#include <ostream>

namespace std {

template <class CharT, class Traits, class Value>
__device__ basic_istream<CharT, Traits>& operator>>(const basic_istream<CharT, Traits>& stream,
                                                    Value&) {
    static_assert(sizeof(CharT) == 0,
                  "std::istream isn't available in kernels. Pass the values to the kernel.");
    return const_cast<basic_istream<CharT, Traits>&>(stream);
}

static constexpr ostream cout{};
static constexpr ostream cerr{};
static constexpr ostream clog{};
static constexpr istream cin{};

}  // namespace std
