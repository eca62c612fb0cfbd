// Prints the size of class NAME as declared in HEADER; another header may declare a different one.
#include HEADER

#include <cstdio>

int main() {
    std::printf("%zu\n", sizeof(NAME));
}
