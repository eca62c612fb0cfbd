// clang-format off: the order of these includes is what is tested.
#include <lode/lode.hpp>
#include <cuda.h>
#include "same_types.hpp"
