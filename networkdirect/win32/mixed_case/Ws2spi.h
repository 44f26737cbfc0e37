#pragma once

#include <ws2spi.h>
