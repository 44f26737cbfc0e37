#pragma once

#include <mswsock.h>
