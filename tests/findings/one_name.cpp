// What one header says of a class that another header may say otherwise.
#include HEADER

#include <cstdio>

int main() {
    std::printf("%zu\n", sizeof(NAME));
}
