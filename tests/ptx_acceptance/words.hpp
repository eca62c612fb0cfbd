// What the generator puts in a wrong place.
#pragma once

#include <string>

namespace lode::ptx_acceptance::words {

inline const std::string arrays[] = {"garr", "garr", "gvec", "sarr", "lbuf", "cbuf"};

inline const std::string guards[] = {"@%p_1 ", "@!%p_1 "};

inline const std::string suffixes[] = {"x", "2", "_", "::a"};

inline const std::string types[] = {"u16", "u32",   "u64",  "s16", "s32", "s64", "b16",
                                    "b32", "b64",   "f32",  "f64", "p",   "u8",  "b8",
                                    "f16", "f16x2", "b128", "u32", "b32", "u64", "s32"};

inline const std::string strange[] = {"7",
                                      "-1",
                                      "0x10",
                                      "0f3F800000",
                                      "1.5",
                                      "%p_7",
                                      "!%p_7",
                                      "%tid.x",
                                      "%laneid",
                                      "[%u64_7]",
                                      "gbuf",
                                      "sbuf",
                                      "_",
                                      "{%u32_6, %u32_7}",
                                      "{%b64_6, %b64_7}",
                                      "L1",
                                      "%undeclared",
                                      "%u32_7",
                                      "%u64_7",
                                      "%b32_7",
                                      "%f32_7",
                                      "%b16_7",
                                      "[%u32_7]",
                                      "[gbuf]",
                                      "-%u32_7",
                                      "!%u32_7",
                                      "%u32_7+1",
                                      "(%u32_7)",
                                      "0xffffffffffffffff",
                                      "%u32_7|%p_7",
                                      "{%u32_7}",
                                      "[%u64_7+4]",
                                      "[7]",
                                      "prm",
                                      "0d3FF0000000000000",
                                      "1+2"};

inline const std::string pieces[] = {";",   ",", "{",      "}",       "[",    "]",        "(",
                                     ")",   "0", "-1",     ".b32",    ".u64", ".align 4", "@",
                                     "1.5", "x", "%u32_1", ".global", "<",    "=",        "\"a\""};

/// Every operand of a newer row becomes each of these in turn.
inline const std::string no_registers[] = {
    "7",    "-1",    "1.5",     "gbuf",     "gvec+1",   "garr",     "[%u64_7]",
    "%p_7", "!%p_7", "-%u32_7", "%u32_7+1", "%b64_7+1", "{%u32_7}", "%b64_7|%p_7"};

/// Every place in a directive gets each of these in turn.
inline const std::string trailing[] = {"1", "x", ",", ".b32"};

}  // namespace lode::ptx_acceptance::words
