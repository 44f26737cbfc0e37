// COM's own header: here the interfaces that NetworkDirect needs, and the word for one.
#pragma once

#include "unknwn.h"

#ifndef interface
#define interface struct
#endif
