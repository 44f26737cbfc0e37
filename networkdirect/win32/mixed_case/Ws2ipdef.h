#pragma once

#include <ws2ipdef.h>
