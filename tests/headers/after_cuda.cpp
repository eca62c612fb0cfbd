// clang-format off: the order of these includes is what is tested.
#include <cuda.h>
#include <lode/lode.hpp>
#include "same_types.hpp"
