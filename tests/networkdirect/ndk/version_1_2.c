#define NDK_HEADER_VERSION 0x0102
#define SIZES sizes_of_1_2
#include "tests/networkdirect/ndk/sizes.inc"
