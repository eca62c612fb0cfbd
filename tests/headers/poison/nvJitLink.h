#error "a public header of lode includes nvJitLink.h"
