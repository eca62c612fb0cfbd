#error "a public header of lode includes cuda_runtime_api.h"
