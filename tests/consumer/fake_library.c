/* A library under the name of another one, where the loader must not look for it. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void) {
    fputs("The fake library is loaded.\n", stderr);
    _Exit(1);
}
