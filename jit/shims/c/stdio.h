// printf is NVRTC's own, and all that device code has of this header.
#pragma once
#include <stddef.h>
