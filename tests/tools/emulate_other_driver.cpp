// A library by the driver's name, which fails: what a program finds by its DT_RPATH outside
// `lode emulate`.
extern "C" __attribute__((visibility("default"))) int cuInit(unsigned) {
    return 999;
}
