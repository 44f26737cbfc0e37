#pragma once

#include <ws2def.h>
