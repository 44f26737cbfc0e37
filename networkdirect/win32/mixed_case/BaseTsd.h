#pragma once

#include <basetsd.h>
