// The verification of media after a sanitize operation, and who is told of its end.
#include <gtest/gtest.h>

#include "tests/model/subsystem/management_session.h"
#include "wire/nvme/identify_controller.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
namespace sl = nvme::sanitize_log;
using nvme::SanitizePhase;
using nvme::SanitizeState;

class VerificationTest : public ::testing::Test {
 protected:
  static SubsystemOptions options() {
    SubsystemOptions made;
    made.version = fabrics::version(2, 1, 0);
    return made;
  }
  static nvme::Sqe verifying(unsigned action, bool unrestricted = false) {
    nvme::Sqe made = sanitize(action, unrestricted);
    made.set(nvme::sqe::cdw10, made.get(nvme::sqe::cdw10) | 1u << 10);
    return made;
  }
  nvme::Status say(const nvme::Sqe& sqe) { return host_.admin.send(sqe.bytes()).code(); }
  Record<nvme::SanitizeLog> log() { return Record<nvme::SanitizeLog>{host_.log(0x81, 512).data}; }
  SanitizePhase phase() { return log().get(sl::sans); }
  void wait(std::int64_t seconds) { rig_.world->run_for(Duration::s(seconds)); }

  Rig rig_{options()};
  Managing host_{rig_, ConnectWords{}};
};

TEST_F(VerificationTest, GoesThroughItsPhases) {
  ASSERT_TRUE(host_.write(1, 0, 0x5A).status().ok());
  ASSERT_TRUE(say(verifying(2)).ok());
  EXPECT_EQ(phase(), SanitizePhase::restricted_processing);
  EXPECT_EQ(host_.read(1, 0).code(), sc::sanitize_in_progress);
  EXPECT_EQ(say(sanitize(5)), sc::invalid_field);
  wait(5);
  EXPECT_EQ(phase(), SanitizePhase::media_verification);
  EXPECT_EQ(log().get(sl::sos), SanitizeState::in_progress);
  EXPECT_EQ(log().get(sl::sprog), nvme::kSanitizeNoProgress);
  const Reply media = host_.read(1, 0);
  EXPECT_EQ(media.code(), sc::successful_media_verification_read);
  EXPECT_EQ(media.data, Bytes(512));
  EXPECT_EQ(host_.write(1, 0, 1).code(), sc::sanitize_in_progress);
  EXPECT_EQ(say(sanitize(2)), sc::invalid_field);
  EXPECT_TRUE(say(sanitize(5)).ok());
  EXPECT_EQ(phase(), SanitizePhase::post_verification_deallocation);
  EXPECT_EQ(host_.read(1, 0).code(), sc::sanitize_in_progress);
  wait(2);
  EXPECT_EQ(phase(), SanitizePhase::idle);
  EXPECT_EQ(log().get(sl::sos), SanitizeState::completed);
  EXPECT_TRUE(host_.read(1, 0).status().ok());
}

TEST_F(VerificationTest, TellsWhereAnOperationFailed) {
  rig_.disk->sanitizer().fail_next();
  ASSERT_TRUE(say(verifying(2, true)).ok());
  wait(5);
  EXPECT_EQ(phase(), SanitizePhase::unrestricted_failure);
  EXPECT_EQ(log().get(sl::fails), SanitizePhase::unrestricted_processing);
  EXPECT_TRUE(say(sanitize(1)).ok());
  EXPECT_EQ(phase(), SanitizePhase::idle);
}

TEST_F(VerificationTest, ResetCancelsIt) {
  ASSERT_TRUE(say(verifying(4)).ok());
  rig_.disk->reset_subsystem();
  rig_.world->run_for(Duration::s(10));
  Managing again(rig_, ConnectWords{});
  const Record<nvme::SanitizeLog> after{again.log(0x81, 512).data};
  EXPECT_TRUE(after.get(sl::mvcncld));
  EXPECT_EQ(after.get(sl::sos), SanitizeState::completed);
}

TEST_F(VerificationTest, RefusesWhatDoesNotGoTogether) {
  EXPECT_EQ(say(verifying(3)), sc::invalid_field);
  nvme::Sqe kept = verifying(2);
  kept.set(nvme::sqe::cdw10, kept.get(nvme::sqe::cdw10) | 1u << 9);
  EXPECT_EQ(say(kept), sc::invalid_field);
  EXPECT_EQ(say(sanitize(5)), sc::invalid_field);
}

TEST_F(VerificationTest, EndIsToldToWhoAsked) {
  Managing other(rig_, other_host());
  for (Managing* one : {&host_, &other}) one->admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
  ASSERT_TRUE(say(sanitize(4)).ok());
  wait(5);
  ASSERT_EQ(host_.admin.replies().size(), 1u);
  EXPECT_EQ(host_.admin.replies().front().dw0(), 0x810106u);
  EXPECT_TRUE(other.admin.replies().empty());
}

TEST(VerificationClaims, NeedTheVersion) {
  for (const bool newer : {true, false}) {
    SubsystemOptions options;
    if (newer) options.version = fabrics::version(2, 1, 0);
    Rig rig(options);
    Managing host(rig, ConnectWords{});
    const Reply page = host.admin.fetch(identify(nvme::Cns::controller).bytes(), 4096);
    const std::uint32_t sanicap = View<nvme::IdentifyController>{page.data}.get(nvme::id_ctrl::sanicap);
    EXPECT_EQ((sanicap & nvme::sanicap_bits::verification) != 0, newer);
  }
}

}  // namespace
}  // namespace fb::subsystem::test
