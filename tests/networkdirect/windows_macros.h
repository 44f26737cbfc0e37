// What headers of Windows define, for tests that include a header of ours behind them: COM's, the resource compiler's, those of
// sixteen-bit days and GDI's. The C++ library comes before, as it does in programs that survive these headers at all.
#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#undef IN
#undef OUT
#undef OPTIONAL
#define interface struct
#define small char
#define hyper long long
#define near
#define far
#define IN
#define OUT
#define OPTIONAL
#define ERROR 0
#define DELETE (0x00010000L)
#define DIFFERENCE 11
#define STRICT 1
#ifdef FABRICBENCH_MIN_MAX
#undef min
#undef max
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#endif
