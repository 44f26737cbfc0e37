// The verifier's memory: wrappers, calls that pend, requests that are outstanding; and what all wrappers have in common.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "networkdirect/ndk/verifier/tables.h"
#include "networkdirect/ndk/verifier/verifier.h"

namespace fb::ndk::verifier {

class Adapter;
class Call;
class QueuePair;
class Session;
struct Posted;

std::string_view name_of_kind(NDK_OBJECT_TYPE type);

/// A wrapper, as the session knows it. It exists before the provider's object does, and stays when that is closed, to be
/// recognised when it is used again.
class Wrapper {
 public:
  Wrapper(Session& session, NDK_OBJECT_TYPE type, Adapter* adapter) : session_(session), type_(type), adapter_(adapter) {}
  virtual ~Wrapper() = default;
  Wrapper(const Wrapper&) = delete;
  Wrapper& operator=(const Wrapper&) = delete;

  enum class Life : std::uint8_t { unborn, open, closing, closed };
  Session& session() const { return session_; }
  NDK_OBJECT_TYPE type() const { return type_; }
  Adapter* adapter() const { return adapter_; }
  Life life() const { return life_; }
  /// The consumer may call it.
  bool alive() const;
  std::string name() const;

 protected:
  friend class Call;
  friend class Session;
  /// The consumer closes it; before the provider hears.
  virtual void closing(Call& call) { (void)call; }
  /// The provider is done with it.
  virtual void closed() {}
  virtual NTSTATUS close_inner(NDK_FN_CLOSE_COMPLETION completion, PVOID context) = 0;
  NTSTATUS close(NDK_FN_CLOSE_COMPLETION completion, PVOID context);

  Life life_ = Life::unborn;

 private:
  Session& session_;
  NDK_OBJECT_TYPE type_;
  Adapter* adapter_;
  std::uint64_t number_ = 0;
};

/// A call that may pend: what stands in place of the consumer's completion.
struct Pending {
  Session* session = nullptr;
  std::uint64_t id = 0;
  NDK_FN_REQUEST_COMPLETION request = nullptr;
  NDK_FN_CREATE_COMPLETION create = nullptr;
  NDK_FN_CLOSE_COMPLETION close = nullptr;
  PVOID context = nullptr;
  /// What the verifier makes of the end. Of a creation it returns the object for the consumer.
  std::function<NDK_OBJECT_HEADER*(NTSTATUS status, NDK_OBJECT_HEADER* inner)> done;
  bool called = false;
  bool returned = false;

  static VOID on_request(PVOID context, NTSTATUS status);
  static VOID on_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER* inner);
  static VOID on_close(PVOID context);
};

class Session {
 public:
  Session(Kernel& kernel, const VerifierOptions& options, FindingSink& sink);
  ~Session();

  Kernel& kernel() const { return kernel_; }
  /// A wrapper that is not born yet.
  template <class T, class... Arguments>
  T& make(Arguments&&... arguments) {
    auto made = std::make_unique<T>(*this, std::forward<Arguments>(arguments)...);
    T& wrapper = *made;
    wrappers_.push_back(std::move(made));
    return wrapper;
  }
  /// From now on the consumer may have it, as `pointer`.
  void adopt(Wrapper& wrapper, const void* pointer);
  /// Null for anything that is no wrapper, whatever the pointer.
  Wrapper* find(const void* pointer) const;

  Pending& pend(std::function<NDK_OBJECT_HEADER*(NTSTATUS, NDK_OBJECT_HEADER*)> done);
  /// The call has returned `status`.
  void returned(Pending& pending, NTSTATUS status);
  /// Runs a callback of the consumer.
  template <class Work>
  void call_back(Work&& work) {
    ++callbacks_;
    work();
    --callbacks_;
  }
  bool inside_callback() const { return callbacks_ > 0; }

  std::uint64_t post(Posted posted);
  /// Null: there is no such request.
  Posted* posted(std::uint64_t id);
  /// The request is no longer outstanding.
  void finish_posted(std::uint64_t id);
  /// The request uses no memory any more: it has ended, or is cancelled.
  void cease(Posted& posted);
  /// The same of all of a queue pair.
  void cease(QueuePair& queue_pair);
  std::map<std::uint64_t, Posted>& all_posted() { return posted_; }

  std::uint64_t name_queue_pair(QueuePair& queue_pair);
  QueuePair* queue_pair(std::uint64_t number) const;

  std::vector<Leak> leaks(const Adapter& adapter);
  std::vector<Leak> finish();
  std::size_t living() const { return living_; }
  std::uint64_t calls() const { return calls_; }
  void add(Rule rule, const std::string& object, std::uint64_t call, std::string text);

  const VerifierOptions& options() const { return options_; }
  /// Providers whose handlers stand in a registry.
  struct Miniport {
    Session* session;
    NDIS_NDK_PROVIDER_CHARACTERISTICS inner;
    NDIS_HANDLE context;
  };
  std::vector<std::unique_ptr<Miniport>> miniports;
  NDK_ADAPTER& wrap(NDK_ADAPTER& inner);
  std::vector<Leak> close(NDK_ADAPTER& adapter, const std::function<void(NDK_ADAPTER&)>& close_inner);

 private:
  friend class Call;
  friend class Wrapper;

  Kernel& kernel_;
  const VerifierOptions options_;
  FindingSink& sink_;
  std::uint64_t calls_ = 0;
  std::size_t callbacks_ = 0;
  std::size_t living_ = 0;
  std::uint64_t made_[NdkObjectTypeMax] = {};
  std::vector<std::unique_ptr<Wrapper>> wrappers_;  // in the order of their making
  std::map<const void*, Wrapper*> by_pointer_;      // looked up, never walked
  std::map<std::uint64_t, std::unique_ptr<Pending>> pending_;
  std::uint64_t next_pending_ = 1;
  std::map<std::uint64_t, Posted> posted_;
  std::uint64_t next_post_ = 1;
  std::vector<QueuePair*> queue_pairs_;
  std::map<std::pair<Rule, std::string>, std::size_t> repeated_;
};

/// One call of a consumer on a wrapper.
class Call {
 public:
  Call(Wrapper& on, const char* function, KIRQL most = DISPATCH_LEVEL, Rule when_dead = Rule::use_after_close);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// False: the finding is made, and the call shall go no further.
  bool alive() const { return alive_; }
  const char* function() const { return function_; }
  Session& session() const { return on_.session(); }
  void find(Rule rule, std::string text = {});

  /// The wrapper behind an argument: a living T on this adapter. Null: the finding is made.
  template <class T, class Ndk>
  T* argument(Ndk* pointer, const char* what) {
    return static_cast<T*>(argument_of(pointer, T::kType, what));
  }
  /// False: null, and the finding is made.
  bool given(const void* pointer, const char* what);
  bool address(PSOCKADDR address, ULONG length, const char* what);
  /// Whether the number exceeds what the adapter reports.
  void limit(Rule rule, const char* what, std::uint64_t asked, std::uint64_t most);

  /// A request of the consumer's that may pend: `work` is the provider's call, `done` hears of its end.
  template <class Work, class Done>
  NTSTATUS request(NDK_FN_REQUEST_COMPLETION completion, PVOID context, Work&& work, Done done) {
    if (completion == nullptr) find(Rule::completion_missing);
    Pending& pending = session().pend([done = std::move(done)](NTSTATUS status, NDK_OBJECT_HEADER*) mutable {
      done(status);
      return static_cast<NDK_OBJECT_HEADER*>(nullptr);
    });
    pending.request = completion;
    pending.context = context;
    const NTSTATUS status = work(&Pending::on_request, static_cast<PVOID>(&pending));
    if (status != STATUS_PENDING) pending.done(status, nullptr);
    session().returned(pending, status);
    return status;
  }
  /// A creation: `made` is born with what the provider creates.
  template <class T, class Ndk, class Work>
  NTSTATUS create(NDK_FN_CREATE_COMPLETION completion, PVOID context, Ndk** place, T& made, Work&& work) {
    if (completion == nullptr) find(Rule::completion_missing);
    if (!given(place, "the place for the object")) return STATUS_INVALID_PARAMETER;
    Pending& pending = session().pend([&made](NTSTATUS status, NDK_OBJECT_HEADER* inner) -> NDK_OBJECT_HEADER* {
      if (status != STATUS_SUCCESS || inner == nullptr) return nullptr;
      made.born(*reinterpret_cast<Ndk*>(inner));
      return &made.Header;
    });
    pending.create = completion;
    pending.context = context;
    Ndk* inner = nullptr;
    const NTSTATUS status = work(&Pending::on_create, static_cast<PVOID>(&pending), &inner);
    if (status == STATUS_SUCCESS && inner != nullptr) {
      made.born(*inner);
      *place = &made;
    }
    session().returned(pending, status);
    return status;
  }

 private:
  Wrapper* argument_of(const void* pointer, NDK_OBJECT_TYPE type, const char* what);

  Wrapper& on_;
  const char* function_;
  std::uint64_t number_;
  bool alive_;
};

/// The wrapper of an Ndk. Table is its place among the tables, Close its first entry.
template <class Ndk, NDK_OBJECT_TYPE Type, auto Table, auto Close>
class Shell : public Ndk, public Wrapper {
 public:
  static constexpr NDK_OBJECT_TYPE kType = Type;
  Shell(Session& session, Adapter& adapter) : Ndk{}, Wrapper(session, Type, &adapter) {}
  Ndk& inner() const { return *inner_; }
  void born(Ndk& inner) {
    inner_ = &inner;
    this->Header.Version = inner.Header.Version;
    this->Header.ObjectType = Type;
    this->Dispatch = &(tables_of(inner.Header.Version).*Table);
    session().adopt(*this, static_cast<Ndk*>(this));
  }
  static NTSTATUS close_entry(NDK_OBJECT_HEADER* header, NDK_FN_CLOSE_COMPLETION completion, PVOID context) {
    return static_cast<Shell*>(reinterpret_cast<Ndk*>(header))->close(completion, context);
  }

 private:
  NTSTATUS close_inner(NDK_FN_CLOSE_COMPLETION completion, PVOID context) override {
    return (inner_->Dispatch->*Close)(&inner_->Header, completion, context);
  }
  Ndk* inner_ = nullptr;
};

/// The wrapper that consumers see as Ndk.
template <class T, class Ndk>
T& of(Ndk* object) {
  return *static_cast<T*>(object);
}

/// NdkQueryExtension of any object.
NTSTATUS query_extension(NDK_OBJECT_HEADER* object, GUID* id, NDK_VERSION version, NDK_EXTENSION_INTERFACE* out);

}  // namespace fb::ndk::verifier
