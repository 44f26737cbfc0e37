// The frame of a case: applicability, a fresh world, what each kind of exception means, marks, digest.
#include <chrono>

#include "conformance/monitors/monitors.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/library_product.h"
#include "conformance/runner/runner.h"
#include "conformance/runner/waits.h"
#include "conformance/runner/watched.h"

namespace fb::conformance {

namespace {

/// In real time, cases that last longer are not run unless asked for.
constexpr Duration kLongInRealTime = Duration::s(10);

/// Folds every packet, so that "the same digest" means the same bytes.
class PacketDigest final : public TraceSink {
 public:
  void on_event(const TraceEvent& event) override {
    if (event.kind != TraceKind::packet && event.kind != TraceKind::fault) return;
    fold(static_cast<std::uint64_t>(event.time.count_ns()));
    fold(event.bytes.size());
    if (event.tcp != nullptr) {
      fold(static_cast<std::uint64_t>(event.tcp->seq) << 32 | event.tcp->ack);
      fold(static_cast<std::uint64_t>(event.tcp->flags) << 16 | event.tcp->window);
    }
    std::size_t at = 0;
    for (; at + 8 <= event.bytes.size(); at += 8) fold(load_le<std::uint64_t>(&event.bytes[at]));
    for (; at < event.bytes.size(); ++at) fold(event.bytes[at]);
  }
  std::uint64_t value() const { return value_; }

 private:
  void fold(std::uint64_t word) { value_ = mix64(value_ ^ word); }
  std::uint64_t value_ = 0;
};

/// Why the case does not apply to this product, or nothing.
std::optional<std::string> inapplicable(const CaseInfo& info, const Environment& environment) {
  const Product& product = *environment.product;
  const CaseOptions& options = info.options;
  if (!product.embedded) {
    if (!options.arrangement.empty()) {
      return "needs what only an emulated product offers: " + std::string(options.arrangement);
    }
    if (auto why = not_arranged(options, product)) return why;
    if (!options.ability.empty() && !product.able(options.ability)) {
      return "needs '" + std::string(options.ability) + "', which the host's program does not say it can";
    }
    if (options.authenticates && product.secrets.empty()) {
      return "needs the product's secrets (--dhchap-secret-file)";
    }
    if (options.tls && !product.tls) return "needs a product with TLS, and its keys (--tls, --psk-file)";
    if (options.lasting > kLongInRealTime && !product.slow && !is_library(product)) {
      return "lasts " + to_string(options.lasting) + " in real time (run it with --slow)";
    }
  }
  for (const CaseOptions::Beyond& one : options.beyond) {
    if (one.layer == product.layer) return std::string(one.why);
  }
  if (environment.lane == nullptr || environment.lane->needs == nullptr) return std::nullopt;
  const Declared& declared = environment.declared();
  if (!declared.known) return std::nullopt;
  auto why = environment.lane->needs(declared);
  return why ? "not in this lane: " + *why : why;
}

/// What the case needs and the product does not claim, or nothing.
std::optional<std::string> not_claimed(const CaseInfo& info, const Environment& environment) {
  if (info.options.applicability.empty()) return std::nullopt;
  const Declared& declared = environment.declared();
  if (!declared.known) return std::nullopt;
  for (const Applicability applies : info.options.applicability) {
    if (auto why = applies(declared)) return why;
  }
  return std::nullopt;
}

/// Why it cannot be said whether the case applies: a real product did not let itself be asked.
std::optional<std::string> undecided(const CaseInfo& info, const Environment& environment) {
  if (environment.product->embedded || info.role != Role::controller || info.options.applicability.empty()) return std::nullopt;
  const Declared& declared = environment.declared();
  if (declared.known) return std::nullopt;
  return "it is not known whether the product has what the case is about: " + declared.why;
}

/// The embedded product as it is, in its usual surroundings.
bool is_usual(const Environment& environment) {
  const Product& product = *environment.product;
  return product.embedded && !product.vary && product.layer == DeviceLayer::none && environment.lane == nullptr;
}

void record_wait_failure(World& world, Check& check, const WaitFailure& failure) {
  if (failure.end() == WaitEnd::timed_out) {
    waits::ran_out(world, world.patience());
    if (waits::shortened(world)) {
      check.raise(Verdict::inconclusive, waits::why_shortened(world) + " (" + failure.what() + ")");
      return;
    }
  }
  check.fails("the product's answer", {"an answer"}, failure.what());
}

/// Runs `part` of the case; what it throws becomes the verdict.
template <class Part>
void contained(World& world, Check& check, Part&& part) {
  try {
    part();
  } catch (const LeaveCase&) {
  } catch (const CannotArrange& cannot) {
    check.raise(cannot.why.starts_with(kLibraryFault) ? Verdict::fail : Verdict::inconclusive, cannot.why);
  } catch (const NotOffered& missing) {
    check.raise(check.verdict() == Verdict::none ? Verdict::skip : Verdict::inconclusive, missing.why);
  } catch (const WaitFailure& failure) {
    if (failure.end() == WaitEnd::interrupted) throw;
    record_wait_failure(world, check, failure);
  } catch (const UserError& problem) {
    check.raise(Verdict::inconclusive, problem.what());
  } catch (const std::exception& broken) {
    check.raise(Verdict::error, broken.what());
  } catch (...) {
    check.raise(Verdict::error, "an exception of no known type");
  }
}

void check_marks(const CaseInfo& info, const Bench& bench, const Trace& trace, Check& check) {
  if (check.verdict() == Verdict::none) {
    check.raise(Verdict::error, "the case checked nothing");
    return;
  }
  if (check.verdict() != Verdict::pass) return;
  for (const std::string_view mark : info.options.marks) {
    if (!bench.embedded() && !mark.starts_with("bench.")) continue;
    if (trace.marks(mark) == 0) {
      check.raise(Verdict::error, "passed without reaching '" + std::string(mark) + "'");
      return;
    }
  }
}

void trace_words(World& world, TraceKind kind, std::string_view label, const std::string& text) {
  if (!world.trace().on()) return;
  TraceEvent event;
  event.kind = kind;
  event.time = world.now();
  event.actor = "case";
  event.label = label;
  event.text = text;
  world.trace().emit(event);
}

void trace_verdict(World& world, const CaseResult& result) {
  trace_words(world, TraceKind::verdict, "case.verdict",
              "verdict: " + std::string(name_of(result.verdict)) + (result.reason.empty() ? "" : " (" + result.reason + ")"));
}

/// Tells in the trace that a check did not hold, in front of what happened next.
class FailureWords final : public TraceSink {
 public:
  FailureWords(World& world, const Check& check) : world_(world), check_(check) { world_.trace().add_sink(*this); }
  ~FailureWords() override { world_.trace().remove_sink(*this); }
  FailureWords(const FailureWords&) = delete;
  FailureWords& operator=(const FailureWords&) = delete;

  void on_event(const TraceEvent&) override { tell(); }
  void tell() {
    while (told_ < check_.findings().size()) {
      const Finding& finding = check_.findings()[told_++];  // counted first: what is told comes back as an event
      trace_words(world_, TraceKind::note, "case.failed", std::string(kFailedWords) + summary_of(finding));
    }
  }

 private:
  World& world_;
  const Check& check_;
  std::size_t told_ = 0;
};

/// A rule that nobody has read in its document does not fail somebody else's product. What was expected and seen stays.
void spare_where_unconfirmed(CaseResult& result) {
  if (result.verdict != Verdict::fail) return;
  const std::string why = why_unconfirmed(*result.info);
  if (why.empty()) return;
  result.verdict = Verdict::inconclusive;
  result.reason = why + " (" + result.reason + ")";
}

std::uint64_t folded(std::uint64_t digest, std::uint64_t word) { return mix64(digest ^ word); }

/// The case's body with everything around it, in one world.
void run_in_world(const CaseInfo& info, const RunOptions& options, const Environment& environment, World& world, Check& check,
                  FailureWords* failures, CaseResult& result) {
  {
    std::unique_ptr<Bench> bench;
    contained(world, check, [&] {
      bench = options.factory(world, info.role, environment);
      bench->step(std::string(info.name) + ": " + std::string(info.requirement));
      info.body(*bench, check);
    });
    if (bench != nullptr) {
      const std::string gone = bench->product_gone();
      if (!gone.empty()) check.fails("the product", {"is there until the case is over"}, gone);
    }
    if (failures != nullptr) failures->tell();
    if (bench != nullptr) {
      check_marks(info, *bench, world.trace(), check);
      result.duration_virtual_ns = world.now().count_ns();
      Check afterwards;  // a product that does not say goodbye is not this case's business
      contained(world, afterwards, [&] {
        try {
          bench->finish();
        } catch (const LibraryFault& fault) {
          check.fails("the library under test", {"keeps to the rules of fabricbench/product.h"}, fault.why);
        }
      });
      if (afterwards.verdict() == Verdict::error) check.raise(Verdict::error, afterwards.reason());
    }
  }
  result.verdict = check.verdict();
  result.reason = check.reason();
  result.findings = check.findings();
}

/// What the oracle may hold the product to although the case does not ask for it.
oracle::Declaration declaration_of(const CaseInfo& info, const Environment& environment) {
  if (info.role != Role::controller) return {};
  const Product& product = *environment.product;
  if (!product.embedded && product.nqn.empty()) return {};
  const Declared& declared = environment.declared();
  if (!declared.known || declared.vs == 0) return {};
  return {product.embedded ? environment.setup().subsystem.nqn : product.nqn, declared.controller};
}

CaseResult run_once(const CaseInfo& info, const RunOptions& options, const Environment& environment, bool keep_capture,
                    CaseWatcher* watcher) {
  CaseResult result;
  result.info = &info;
  const std::uint64_t seed = world_seed(options.seed, info.name);
  const auto world = is_virtual(options.product) ? World::make_virtual(seed) : World::make_real(seed);
  const Interrupter::Guard guard(options.interrupter, *world);
  world->set_patience(std::min(world->patience(), info.options.budget));
  if (options.waits != nullptr) options.waits->begin(*world);
  Check check;
  std::optional<FailureWords> failures;
  // In front of the others: it tells before they hear what came next.
  if (keep_capture || watcher != nullptr) failures.emplace(*world, check);
  PacketDigest packets;
  std::optional<capture::PcapngWriter> writer;
  std::optional<monitors::Monitors> watch;
  if (options.evidence) world->trace().add_sink(packets);
  if (options.monitors) {
    watch.emplace(evidence::DissectorOptions{.complete = is_virtual(options.product)}, true, declaration_of(info, environment));
    world->trace().add_sink(*watch);
  }
  if (keep_capture) {
    writer.emplace(capture::PcapngOptions{.title = std::string(info.name), .decoders = &world->trace()});
    world->trace().add_sink(*writer);
  }
  if (watcher != nullptr) world->trace().add_sink(*watcher);
  run_in_world(info, options, environment, *world, check, failures ? &*failures : nullptr, result);
  if (options.waits != nullptr) options.waits->end(*world, result.verdict == Verdict::pass);
  if (!options.product.embedded) spare_where_unconfirmed(result);
  if (watch) watch->finish();
  if (watch) judge_by_monitors(watch->findings(), options.product.embedded, result, is_library(options.product));
  trace_verdict(*world, result);
  result.digest = folded(hash_name(info.name), static_cast<std::uint64_t>(result.verdict));
  if (is_virtual(options.product)) {
    result.digest = folded(folded(result.digest, world->digest()), packets.value());
  }
  if (writer) {
    const std::string_view lane = environment.lane != nullptr ? environment.lane->name : plain_lane().name;
    result.capture = options.keep_capture(result, environment.transport, lane, *writer);
  }
  return result;
}

}  // namespace

std::uint64_t world_seed(std::uint64_t seed, std::string_view name) { return mix64(seed) ^ hash_name(name); }

CaseResult run_case(const CaseInfo& info, std::string_view transport, const RunOptions& options, DeclarationCache& declarations,
                    const Lane& lane) {
  const auto start = std::chrono::steady_clock::now();
  Environment environment{&options.product, &options.deviations,           &declarations, info.options.arrange, transport,
                          info.name,        lane.plain() ? nullptr : &lane};
  CaseResult result;
  result.info = &info;
  auto why = options.exceptions ? excepted(lane, info, transport) : std::nullopt;
  if (why) {
    why = "not in this lane: " + *why;
  } else {
    why = inapplicable(info, environment);
  }
  const auto unclaimed = why ? std::nullopt : not_claimed(info, environment);
  if (why) {
    result.verdict = Verdict::skip;
    result.reason = *why;
    result.digest = folded(hash_name(info.name), static_cast<std::uint64_t>(result.verdict));
  } else if (const auto unknown = undecided(info, environment)) {
    result.verdict = environment.declared().why.starts_with(kLibraryFault) ? Verdict::fail : Verdict::inconclusive;
    result.reason = *unknown;
  } else if (unclaimed) {
    // The usual embedded product offers whatever a case needs: one that claims less would disarm its cases.
    result.verdict = is_usual(environment) ? Verdict::inconclusive : Verdict::skip;
    result.reason = (is_usual(environment) ? "the embedded product does not claim what the case is about: " : "") + *unclaimed;
    result.digest = folded(hash_name(info.name), static_cast<std::uint64_t>(result.verdict));
  } else {
    const std::unique_ptr<CaseWatcher> watcher = options.watch ? options.watch(info, transport, lane.name) : nullptr;
    result = run_once(info, options, environment, static_cast<bool>(options.keep_capture), watcher.get());
    if (watcher != nullptr) watcher->finished(result);
    if (options.twice && is_virtual(options.product)) {
      const CaseResult again = run_once(info, options, environment, false, nullptr);
      if (again.digest != result.digest) {
        result.verdict = Verdict::error;
        result.reason = "two runs of the same seed differ (the bench is not deterministic)";
      }
    }
  }
  result.transport = transport;
  result.lane = lane.name;
  result.embedded = options.product.embedded;
  const auto spent = std::chrono::steady_clock::now() - start;
  result.duration_wall_us = std::chrono::duration_cast<std::chrono::microseconds>(spent).count();
  result.finished = true;
  return result;
}

}  // namespace fb::conformance
