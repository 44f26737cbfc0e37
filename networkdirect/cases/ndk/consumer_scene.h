// What the cases on consumers of NDK share: a use of everything that a consumer does, and the
// verifier's word on one rule.
#pragma once

#include <array>
#include <string>

#include "networkdirect/cases/consumer_sweep.h"
#include "conformance/runner/consumer_bench.h"
#include "conformance/runner/ndk_consumer.h"

namespace fb::conformance {

using NdkRule = ndk::verifier::Rule;

/// Everything that programs ask of a consumer, as far as it gets: memory of both kinds, messages,
/// accesses, notices, connections that are accepted, refused, held, left and ended. What stopped it
/// first; empty when nothing did.
std::string use_ndk_consumer(NdkConsumer& ndk, bool shared);

/// Uses consumers on providers of several kinds, and asks the verifier whether they kept to the
/// rule.
void keeps_ndk(ConsumerBench& bench, Check& check, NdkRule rule);

}  // namespace fb::conformance
