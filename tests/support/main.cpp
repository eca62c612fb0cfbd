#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdlib>

#include <doctest/doctest.h>

int main(int argc, char** argv) {
    // Tests leave the user's cache alone; those about the cache name a folder of their own.
    ::setenv("LODE_CACHE", "off", 0);
    return doctest::Context(argc, argv).run();
}
