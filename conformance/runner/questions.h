// Everything that a host may ask of a controller without changing anything.
#pragma once

#include <string_view>

#include "conformance/runner/declared.h"
#include "model/host/raw_queue.h"

namespace fb::conformance {

/// The lane in which this is done before each case and after it.
inline constexpr std::string_view kQuestionsLane = "questions";

/// Reads what the product supports of Identify structures, log pages (events stay unacknowledged) and features on its admin queue. What
/// it answers is for the oracle: nobody looks at it here. Ends where the first question is not answered with success.
void ask_everything(host::RawQueue& admin, const Declared& declared);

}  // namespace fb::conformance
