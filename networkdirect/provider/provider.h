// The entrance: a provider of NetworkDirect SPI version 2 over the devices of a fabric. A loadable library exports these two
// functions (library/); tests and worlds of our own call them directly.
#pragma once

#include <memory>

#include <ndspi.h>

#include "networkdirect/provider/fabric.h"

namespace fb::networkdirect {

/// IND2Provider for `fabric`, as IID_IND2Provider or IID_IClassFactory asks for it, with one reference.
HRESULT make_provider(std::shared_ptr<Fabric> fabric, REFIID iid, VOID** out);

/// Objects of providers that are still referred to.
std::size_t living_objects();

}  // namespace fb::networkdirect
