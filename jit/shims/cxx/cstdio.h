#pragma once
#include <stdio.h>

namespace std {
using ::printf;
using ::size_t;
}  // namespace std
