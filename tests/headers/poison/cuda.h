#error "a public header of lode includes cuda.h"
