#error "a public header of lode includes nvrtc.h"
