#pragma once

#include <initguid.h>
