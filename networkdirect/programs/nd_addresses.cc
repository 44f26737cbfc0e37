// Which NetworkDirect addresses there are, and what the adapter behind each can do.
#include "addresses.h"
#include "connection.h"

namespace {

void print_number(const char* name, unsigned long long value) { printf("  %-28s %llu\n", name, value); }

void print_adapter(const Address& address) {
  check(NdCheckAddress(address.get(), address.length), "NdCheckAddress");
  const Device device(address);
  const ND2_ADAPTER_INFO& info = device.info();
  printf("%s\n", address.text().c_str());
  printf("  %-28s %04X:%04X\n", "vendor and device", info.VendorId, info.DeviceId);
  printf("  %-28s 0x%llX\n", "adapter", static_cast<unsigned long long>(info.AdapterId));
  print_number("largest registration", info.MaxRegistrationSize);
  print_number("largest window", info.MaxWindowSize);
  print_number("largest transfer", info.MaxTransferLength);
  print_number("large requests from", info.LargeRequestThreshold);
  print_number("inline data", info.MaxInlineDataSize);
  print_number("inline requests up to", info.InlineRequestThreshold);
  print_number("pieces of a request", info.MaxInitiatorSge);
  print_number("pieces of a receive", info.MaxReceiveSge);
  print_number("pieces of a read", info.MaxReadSge);
  print_number("reads from us at once", info.MaxInboundReadLimit);
  print_number("reads by us at once", info.MaxOutboundReadLimit);
  print_number("receive queue depth", info.MaxReceiveQueueDepth);
  print_number("initiator queue depth", info.MaxInitiatorQueueDepth);
  print_number("shared receive queue depth", info.MaxSharedReceiveQueueDepth);
  print_number("completion queue depth", info.MaxCompletionQueueDepth);
  print_number("private data to connect", info.MaxCallerData);
  print_number("private data to accept", info.MaxCalleeData);
  const struct {
    ULONG flag;
    const char* name;
  } flags[] = {
      {ND_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED, "writes in order"},
      {ND_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED, "moderates interrupts"},
      {ND_ADAPTER_FLAG_MULTI_ENGINE_SUPPORTED, "several engines"},
      {ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED, "resizes completion queues"},
      {ND_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED, "connects to itself"},
  };
  for (const auto& entry : flags) printf("  %-28s %s\n", entry.name, (info.AdapterFlags & entry.flag) != 0 ? "yes" : "no");
  const auto own = adapter_addresses(device.adapter());
  for (const Address& each : own) printf("  %-28s %s\n", "address", each.text().c_str());
}

void run(const Options& options) {
  if (options.address.length != 0) {
    print_adapter(options.address);
    return;
  }
  const auto all = all_addresses();
  for (const Address& address : all) print_adapter(address);
}

const Program kProgram = {"nd_addresses", "NetworkDirect addresses and what their adapters can do", "A", 0, run};

}  // namespace

int _tmain(int argc, _TCHAR* argv[]) { return run_program(kProgram, argc, argv); }
