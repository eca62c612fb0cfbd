// The order of these includes is what is tested.
// clang-format off
#include <cuda.h>
#include <lode/lode.hpp>
#include "same_types.hpp"
