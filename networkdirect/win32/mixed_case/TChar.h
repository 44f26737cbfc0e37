#pragma once

#include <tchar.h>
