// property_softroce --seeds FIRST..LAST: the property of property_run.h over a range of seeds.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/sim/rdma/softroce/property_run.h"

int main(int argc, char** argv) {
  std::uint64_t first = 1, last = 1000;
  if (argc == 3 && std::strcmp(argv[1], "--seeds") == 0) {
    char* end = nullptr;
    first = std::strtoull(argv[2], &end, 10);
    last = std::strncmp(end, "..", 2) == 0 ? std::strtoull(end + 2, nullptr, 10) : first;
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: property_softroce [--seeds FIRST..LAST]\n");
    return 2;
  }
  std::uint64_t wrong = 0, broken = 0, packets = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const auto result = fb::softroce::run_property(seed);
    broken += result.failed_connection ? 1u : 0u;
    packets += result.packets;
    if (result.wrong.empty()) continue;
    ++wrong;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), result.wrong.c_str());
  }
  std::printf("%llu seeds, %llu packets, %llu connections ended in error, %llu wrong\n", static_cast<unsigned long long>(last - first + 1),
              static_cast<unsigned long long>(packets), static_cast<unsigned long long>(broken), static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
