// Lists of NetworkDirect addresses.
#pragma once

#include "common.h"

// Of all providers; throws if there is none.
std::vector<Address> all_addresses();
std::vector<Address> adapter_addresses(IND2Adapter* adapter);
// The address that was said, or the first one.
Address said_or_first(const Options& options);
