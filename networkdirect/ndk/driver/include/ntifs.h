#pragma once
// One of the names by which drivers include the kernel: see ntddk.h.
#include "ntddk.h"
