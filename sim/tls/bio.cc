#include "sim/tls/bio.h"

#include "base/assert.h"
#include "sim/tls/tls_stream.h"

namespace fb::tls {

namespace {

TlsStream* stream_of(BIO* bio) { return static_cast<TlsStream*>(BIO_get_data(bio)); }

int read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  if (size <= 0) return 0;
  const int got = stream_of(bio)->bio_read({reinterpret_cast<std::uint8_t*>(into), static_cast<std::size_t>(size)});
  if (got == kBioLater) BIO_set_retry_read(bio);
  return got == kBioLater ? -1 : got;
}

int write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  if (size <= 0) return 0;
  const int took = stream_of(bio)->bio_write({reinterpret_cast<const std::uint8_t*>(bytes), static_cast<std::size_t>(size)});
  if (took == kBioLater) BIO_set_retry_write(bio);
  return took == kBioLater ? -1 : took;
}

long control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return stream_of(bio)->inner_ended() ? 1 : 0;
  return 0;
}

BIO_METHOD* make_method() {
  BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
  const bool good = made != nullptr && BIO_meth_set_read(made, read) == 1 && BIO_meth_set_write(made, write) == 1 &&
                    BIO_meth_set_ctrl(made, control) == 1;
  BENCH_ASSERT(good, "OpenSSL takes a BIO method");
  return made;
}

}  // namespace

BIO* make_bio(TlsStream& stream) {
  static BIO_METHOD* const method = make_method();  // a constant
  BIO* const bio = BIO_new(method);
  BENCH_ASSERT(bio != nullptr, "OpenSSL makes a BIO");
  BIO_set_data(bio, &stream);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace fb::tls
