// Files by number, which are the system's.
#pragma once

#include <fcntl.h>
#include <unistd.h>
