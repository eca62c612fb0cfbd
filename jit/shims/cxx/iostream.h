// Streams exist as types, so that headers that mention them compile; their use is an error.
#pragma once

namespace std {

template <class CharT, class Traits = void>
class basic_ostream {};
template <class CharT, class Traits = void>
class basic_istream {};
typedef basic_ostream<char> ostream;
typedef basic_istream<char> istream;

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
template <class CharT, class Traits, class Value>
__device__ basic_istream<CharT, Traits>& operator>>(const basic_istream<CharT, Traits>& stream,
                                                    Value&) {
    static_assert(sizeof(CharT) == 0,
                  "std::istream isn't available in kernels. Pass the values to the kernel.");
    return const_cast<basic_istream<CharT, Traits>&>(stream);
}

template <class CharT, class Traits>
__device__ basic_ostream<CharT, Traits>& endl(basic_ostream<CharT, Traits>& stream) {
    return stream;
}
template <class CharT, class Traits>
__device__ basic_ostream<CharT, Traits>& flush(basic_ostream<CharT, Traits>& stream) {
    return stream;
}

static constexpr ostream cout{};
static constexpr ostream cerr{};
static constexpr ostream clog{};
static constexpr istream cin{};

}  // namespace std
