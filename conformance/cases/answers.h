// Answers to conditions that several rules meet: one set for each condition.
#pragma once

#include "conformance/runner/words.h"

namespace fb::conformance {

/// A command whose descriptor of data in its capsule reaches beyond the capsule. Over TCP a C2HTermReq, or the end of the
/// connection, is as good.
inline OneOf<nvme::Status> beyond_its_capsule() {
  namespace sc = nvme::sc;
  return one_of(sc::sgl_offset_invalid, sc::data_sgl_length_invalid, sc::invalid_sgl_segment_descriptor,
                sc::invalid_number_of_sgl_descriptors, sc::invalid_field);
}

}  // namespace fb::conformance
