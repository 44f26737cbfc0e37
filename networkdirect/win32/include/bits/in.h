// See ../netinet/in.h.
#pragma once
#pragma GCC system_header
#undef in_addr
#include_next <bits/in.h>
