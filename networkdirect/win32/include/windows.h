// Win32 for NetworkDirect programs on Linux: see ../README.md for what is there and how it differs.
#pragma once

#include "minwindef.h"
#include "winnt.h"
#include "winerror.h"
#include "winbase.h"
#include "guiddef.h"
#include "microsoft_crt.h"
#include "unknwn.h"
