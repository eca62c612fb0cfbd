#error "a public header of lode includes cudaTypedefs.h"
