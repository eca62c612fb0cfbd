// size_t, ptrdiff_t and NULL are NVRTC's own; this adds the rest.
#pragma once

typedef decltype(nullptr) nullptr_t;
struct alignas(16) max_align_t {
    long long integer;
    double floating;
};

// Replaces libcu++'s, which isn't a constant expression; libcu++ keeps an existing definition.
// __INTADDR__ is the front end's way to make an address a constant expression.
#undef offsetof
#define offsetof(type, member) ((size_t)__INTADDR__(&(((type*)0)->member)))
