// Where the headers only declare identifiers (Windows), they are defined here.
#include <initguid.h>

#include <ndspi.h>
