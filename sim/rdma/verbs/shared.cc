#include "sim/rdma/verbs/shared.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "base/result.h"
#include "sim/rdma/verbs/device_list.h"

namespace fb::verbs {

void throw_problem(const Shared& shared, std::string_view what, int error) {
  throw UserError(fmt::format("verbs:{}: {}: {}", shared.name, what, words_of(error)));
}

void set_nonblocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  const bool done = flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
  BENCH_ASSERT(done, "an open descriptor takes flags");
}

}  // namespace fb::verbs
