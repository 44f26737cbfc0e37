// NDK as a driver written in C sees it.
#include "tests/networkdirect/ndk/calls.h"

#include <ndisndk.h>
#include <wskndk.h>

static const NDK_VERSION version_2 = {0, 2};

#define CALLS(name, type) int c_calls_##name(type* object)
#include "tests/networkdirect/ndk/calls.inc"
