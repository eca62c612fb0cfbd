// The order of these includes is what is tested.
// clang-format off
#include <lode/lode.hpp>
#include <cuda.h>
#include "same_types.hpp"
