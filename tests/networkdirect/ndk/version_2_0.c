#define NDK_HEADER_VERSION 0x0200
#define SIZES sizes_of_2_0
#include "tests/networkdirect/ndk/sizes.inc"
