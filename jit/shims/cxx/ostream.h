// Output streams exist as types, so that headers that mention them compile; their use is an error.
#pragma once
#include <iosfwd>

namespace std {

template <class CharT, class Traits, class Value>
__device__ basic_ostream<CharT, Traits>& operator<<(const basic_ostream<CharT, Traits>& stream,
                                                    const Value&) {
    static_assert(sizeof(CharT) == 0, "std::ostream isn't available in kernels. Use printf.");
    return const_cast<basic_ostream<CharT, Traits>&>(stream);
}
template <class CharT, class Traits>
__device__ basic_ostream<CharT, Traits>& operator<<(
    const basic_ostream<CharT, Traits>& stream,
    basic_ostream<CharT, Traits>& (*)(basic_ostream<CharT, Traits>&)) {
    static_assert(sizeof(CharT) == 0, "std::ostream isn't available in kernels. Use printf.");
    return const_cast<basic_ostream<CharT, Traits>&>(stream);
}
template <class CharT, class Traits>
__device__ basic_ostream<CharT, Traits>& endl(basic_ostream<CharT, Traits>& stream) {
    return stream;
}
template <class CharT, class Traits>
__device__ basic_ostream<CharT, Traits>& flush(basic_ostream<CharT, Traits>& stream) {
    return stream;
}

}  // namespace std
