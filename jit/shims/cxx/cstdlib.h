#pragma once
#include <stdlib.h>

namespace std {
using ::abort;
using ::abs;
using ::div;
using ::div_t;
using ::free;
using ::labs;
using ::ldiv;
using ::ldiv_t;
using ::llabs;
using ::lldiv;
using ::lldiv_t;
using ::malloc;
using ::size_t;
}  // namespace std
