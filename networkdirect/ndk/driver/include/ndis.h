#pragma once
// What drivers on NDK take of NDIS: types, and the structures about NDK.
#include "ntddk.h"

#include "ndisndk.h"
