#define NDK_HEADER_VERSION 0x0201
#define SIZES sizes_of_2_1
#include "tests/networkdirect/ndk/sizes.inc"
