// Asks for definitions rather than declarations of GUIDs: here every DEFINE_GUID is one.
#pragma once

#ifndef INITGUID
#define INITGUID
#endif
#include "guiddef.h"
