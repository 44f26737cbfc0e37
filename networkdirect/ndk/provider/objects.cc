#include "networkdirect/ndk/provider/objects.h"

#include <algorithm>

#include "networkdirect/ndk/provider/adapter.h"

namespace fb::ndk::provider {

Object::Object(Adapter& adapter, NDK_OBJECT_TYPE type) : adapter_(adapter), type_(type) {
  adapter.objects_.push_back(this);
  place_ = std::prev(adapter.objects_.end());
  ++adapter.live_[type];
}

Object::~Object() {
  adapter_.objects_.erase(place_);
  --adapter_.live_[type_];
}

void Object::stand_on(Object& antecedent) {
  antecedents_.push_back(&antecedent);
  ++antecedent.dependants_;
}

void Object::let_go(Object& antecedent) {
  const auto found = std::ranges::find(antecedents_, &antecedent);
  BENCH_ASSERT(found != antecedents_.end(), "an object lets go of what it stands on");
  antecedents_.erase(found);
  --antecedent.dependants_;
  antecedent.settle();
}

void Object::unpin() {
  --pins_;
  settle();
}

NTSTATUS Object::close(NDK_FN_CLOSE_COMPLETION completion, PVOID context) {
  adapter_.enter("NdkClose");
  completion_ = completion;
  context_ = context;
  closing_ = true;
  inside_close_ = true;
  if (!adapter_.departs(departure::kCloseForgetsRequests)) begin_close();
  inside_close_ = false;
  if (!may_end()) {
    if (completion_ != nullptr && adapter_.departs(departure::kCloseCompletesEarly)) {
      told_ = true;
      adapter_.call_back_later([completion, context] { completion(context); });
    }
    return STATUS_PENDING;  // settle() goes on
  }
  switch (adapter_.miniport().next_way(false)) {
    case Miniport::Way::at_once: {
      Adapter& adapter = adapter_;
      take_down();
      end();
      if (completion != nullptr && adapter.departs(departure::kCloseCompletesInline)) {
        adapter.call_back([&] { completion(context); });
      }
      return adapter.departs(departure::kCloseFails) ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS;
    }
    case Miniport::Way::before_return:
      finish();
      return STATUS_PENDING;
    case Miniport::Way::later:
      break;
  }
  finishing_ = true;
  adapter_.miniport().later([this] { finish(); }, adapter_.miniport().options.answer_delay);
  return STATUS_PENDING;
}

void Object::settle() {
  if (!closing_ || inside_close_ || finishing_ || !may_end() || adapter_.ending_all_) return;
  finishing_ = true;
  // From an event of its own: the close of whatever stood here must have returned before.
  adapter_.miniport().later([this] { finish(); });
}

void Object::finish() {
  finishing_ = true;
  take_down();
  const NDK_FN_CLOSE_COMPLETION completion = told_ ? nullptr : completion_;
  const PVOID context = context_;
  if (completion != nullptr && !adapter_.departs(departure::kCloseNeverCompletes)) {
    adapter_.call_back([&] { completion(context); });
    if (adapter_.departs(departure::kCloseCompletesTwice)) adapter_.call_back([&] { completion(context); });
  }
  end();
}

void Object::end() {
  const auto antecedents = std::move(antecedents_);
  antecedents_.clear();
  delete this;
  for (Object* const antecedent : antecedents) {
    --antecedent->dependants_;
    antecedent->settle();
  }
}

void begin_header(NDK_OBJECT_HEADER& header, const Adapter& adapter, NDK_OBJECT_TYPE type) {
  const NDK_VERSION version = adapter.Header.Version;  // the adapter's own header comes here too
  header = {};
  header.Version = version;
  header.ObjectType = type;
  if (!adapter.hooked()) return;
  if (adapter.departs(departure::kHeaderVersionWrong)) header.Version = {1, 0};
  if (adapter.departs(departure::kHeaderTypeWrong)) header.ObjectType = NdkObjectTypeUndefined;
  if (adapter.departs(departure::kHeaderReservedDirty)) header.NdkReserved.rf[2] = &header;
}

}  // namespace fb::ndk::provider
