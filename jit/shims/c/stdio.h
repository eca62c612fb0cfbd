// printf is NVRTC's own; device code has nothing else of this header.
#pragma once
#include <stddef.h>
