// memcpy and memset are NVRTC's own; this adds other functions that kernels use.
#pragma once
#include <stddef.h>

__device__ inline void* memmove(void* to, const void* from, size_t size) {
    unsigned char* t = static_cast<unsigned char*>(to);
    const unsigned char* f = static_cast<const unsigned char*>(from);
    if (t < f) {
        for (size_t i = 0; i < size; ++i)
            t[i] = f[i];
    } else {
        for (size_t i = size; i > 0; --i)
            t[i - 1] = f[i - 1];
    }
    return to;
}

__device__ inline int memcmp(const void* left, const void* right, size_t size) {
    const unsigned char* l = static_cast<const unsigned char*>(left);
    const unsigned char* r = static_cast<const unsigned char*>(right);
    for (size_t i = 0; i < size; ++i) {
        if (l[i] != r[i]) return l[i] < r[i] ? -1 : 1;
    }
    return 0;
}

__device__ inline const void* memchr(const void* bytes, int wanted, size_t size) {
    const unsigned char* b = static_cast<const unsigned char*>(bytes);
    for (size_t i = 0; i < size; ++i) {
        if (b[i] == static_cast<unsigned char>(wanted)) return b + i;
    }
    return nullptr;
}

__device__ inline size_t strlen(const char* text) {
    size_t length = 0;
    while (text[length] != '\0')
        ++length;
    return length;
}

__device__ inline int strncmp(const char* left, const char* right, size_t most) {
    for (size_t i = 0; i < most; ++i) {
        const unsigned char l = static_cast<unsigned char>(left[i]);
        const unsigned char r = static_cast<unsigned char>(right[i]);
        if (l != r) return l < r ? -1 : 1;
        if (l == 0) return 0;
    }
    return 0;
}

__device__ inline int strcmp(const char* left, const char* right) {
    return strncmp(left, right, static_cast<size_t>(-1));
}

__device__ inline char* strcpy(char* to, const char* from) {
    size_t i = 0;
    do {
        to[i] = from[i];
    } while (from[i++] != '\0');
    return to;
}

__device__ inline char* strncpy(char* to, const char* from, size_t most) {
    size_t i = 0;
    for (; i < most && from[i] != '\0'; ++i)
        to[i] = from[i];
    for (; i < most; ++i)
        to[i] = '\0';
    return to;
}

__device__ inline const char* strchr(const char* text, int wanted) {
    for (;; ++text) {
        if (*text == static_cast<char>(wanted)) return text;
        if (*text == '\0') return nullptr;
    }
}
