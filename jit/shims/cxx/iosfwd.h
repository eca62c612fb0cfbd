// The names of the streams, so that headers that mention them compile.
#pragma once

namespace std {

template <class CharT, class Traits = void>
class basic_ostream {};
template <class CharT, class Traits = void>
class basic_istream {};
typedef basic_ostream<char> ostream;
typedef basic_istream<char> istream;

}  // namespace std
