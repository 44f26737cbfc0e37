// On Windows the identifiers of interfaces are objects; here they are, for who links no helper library.
#include <initguid.h>

#include <ndspi.h>

#include "networkdirect/provider/extension.h"
