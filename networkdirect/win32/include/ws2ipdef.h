#pragma once

#include "ws2tcpip.h"
