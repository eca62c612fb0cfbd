#include <lode/lode.h>
#include <lode/lode.hpp>

#include <cstdio>

int main() { return lode::Arch::parse("sm_90a") && std::puts(lode_version()) >= 0 ? 0 : 1; }
