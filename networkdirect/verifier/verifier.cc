#include "networkdirect/verifier/verifier.h"

#include "networkdirect/verifier/adapter.h"

namespace fb::networkdirect::verifier {

Verifier::Verifier(const VerifierOptions& options, FindingSink& sink) : session_(std::make_unique<Session>(options, sink)) {}

Verifier::~Verifier() = default;

HRESULT Verifier::wrap_provider(IND2Provider& inner, REFIID iid, VOID** out) {
  if (out == nullptr) return E_POINTER;
  *out = nullptr;
  if (!(iid == IID_IND2Provider) && !(iid == IID_IUnknown)) return E_NOINTERFACE;
  inner.AddRef();
  auto provider = std::make_unique<Provider>(*session_, inner);
  *out = static_cast<IND2Provider*>(provider.get());
  session_->adopt_first(std::move(provider));
  return ND_SUCCESS;
}

std::vector<Leak> Verifier::finish() { return session_->finish(); }

std::size_t Verifier::living_objects() const { return session_->living(); }

std::uint64_t Verifier::calls() const { return session_->calls(); }

std::vector<Called> Verifier::tally() const { return session_->tally(); }

}  // namespace fb::networkdirect::verifier
