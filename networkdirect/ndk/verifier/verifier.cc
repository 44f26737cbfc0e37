#include "networkdirect/ndk/verifier/verifier.h"

#include "networkdirect/ndk/verifier/session.h"

namespace fb::ndk::verifier {

namespace {

NDIS_STATUS open_watched(NDIS_HANDLE context, PNDIS_OPEN_NDK_ADAPTER_PARAMETERS parameters, NDK_ADAPTER** adapter) {
  auto& miniport = *static_cast<Session::Miniport*>(context);
  NDK_ADAPTER* inner = nullptr;
  const NDIS_STATUS status = miniport.inner.OpenNDKAdapterHandler(miniport.context, parameters, &inner);
  if (status == NDIS_STATUS_SUCCESS) *adapter = &miniport.session->wrap(*inner);
  return status;
}

VOID close_watched(NDIS_HANDLE context, NDK_ADAPTER* adapter) {
  auto& miniport = *static_cast<Session::Miniport*>(context);
  miniport.session->close(*adapter, [&](NDK_ADAPTER& inner) { miniport.inner.CloseNDKAdapterHandler(miniport.context, &inner); });
}

}  // namespace

Verifier::Verifier(Kernel& kernel, const VerifierOptions& options, FindingSink& sink)
    : session_(std::make_unique<Session>(kernel, options, sink)) {}

Verifier::~Verifier() = default;

NDK_ADAPTER& Verifier::wrap(NDK_ADAPTER& inner) { return session_->wrap(inner); }

std::vector<Leak> Verifier::close(NDK_ADAPTER& adapter, const std::function<void(NDK_ADAPTER&)>& close_inner) {
  return session_->close(adapter, close_inner);
}

Verifier::Handlers Verifier::wrap(const NDIS_NDK_PROVIDER_CHARACTERISTICS& inner, NDIS_HANDLE context) {
  auto& miniport =
      *session_->miniports.emplace_back(std::make_unique<Session::Miniport>(Session::Miniport{session_.get(), inner, context}));
  NDIS_NDK_PROVIDER_CHARACTERISTICS watched = inner;
  watched.OpenNDKAdapterHandler = &open_watched;
  watched.CloseNDKAdapterHandler = &close_watched;
  return {watched, &miniport};
}

std::vector<Leak> Verifier::finish() { return session_->finish(); }
std::size_t Verifier::living_objects() const { return session_->living(); }
std::uint64_t Verifier::calls() const { return session_->calls(); }

}  // namespace fb::ndk::verifier
