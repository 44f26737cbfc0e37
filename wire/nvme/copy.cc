#include "wire/nvme/copy.h"

#include <algorithm>

namespace fb::nvme {

namespace {

/// The 80 bits of wide tags as CDW2, CDW3 and CDW14 of a command hold them.
Sqe entry_of(ByteView elbt) {
  Sqe sqe;
  sqe.set(sqe::cdw2, load_be<std::uint16_t>(elbt.data()));
  sqe.set(sqe::cdw3, load_be<std::uint32_t>(elbt.data() + 2));
  sqe.set(sqe::cdw14, load_be<std::uint32_t>(elbt.data() + 6));
  return sqe;
}

}  // namespace

CopySource read_copy_source(ByteView range, unsigned format, const BlockLayout& layout) {
  CopySource source;
  const View<CopyRange> common{range.first(CopyRange::size)};
  if (names_sources(format)) source.nsid = common.get(copy_range::snsid);
  source.slba = common.get(copy_range::slba);
  source.blocks = static_cast<std::uint32_t>(common.get(copy_range::nlb).count());
  Sqe sqe;
  if (is_wide_copy_format(format)) {
    const View<CopyWideRange> wide{range};
    sqe = entry_of(wide.get(copy_wide_range::elbt));
    sqe.set(sqe::cdw15, std::uint32_t{wide.get(copy_wide_range::elbatm)} << 16 | wide.get(copy_wide_range::elbat));
  } else {
    sqe.set(sqe::cdw14, common.get(copy_range::elbt));
    sqe.set(sqe::cdw15, std::uint32_t{common.get(copy_range::elbatm)} << 16 | common.get(copy_range::elbat));
  }
  source.tags = command_tags(sqe.as<SqeLayout>(), layout);
  return source;
}

Bytes write_copy_source(const CopySource& source, unsigned format, const BlockLayout& layout) {
  Bytes range(copy_range_bytes(format));
  Sqe sqe;
  set_command_tags(sqe.edit<SqeLayout>(), layout, source.tags);
  MutableView<CopyRange> common{MutableBytes{range}.first(CopyRange::size)};
  if (names_sources(format)) common.set(copy_range::snsid, source.nsid);
  common.set(copy_range::slba, source.slba).set(copy_range::nlb, ZeroBased<std::uint16_t>::of(source.blocks));
  if (!is_wide_copy_format(format)) {
    common.set(copy_range::elbt, sqe.get(sqe::cdw14))
        .set(copy_range::elbat, source.tags.application)
        .set(copy_range::elbatm, source.tags.application_mask);
    return range;
  }
  std::uint8_t* const elbt = range.data() + copy_wide_range::elbt.offset;
  store_be<std::uint16_t>(elbt, static_cast<std::uint16_t>(sqe.get(sqe::cdw2)));
  store_be<std::uint32_t>(elbt + 2, sqe.get(sqe::cdw3));
  store_be<std::uint32_t>(elbt + 6, sqe.get(sqe::cdw14));
  MutableView<CopyWideRange>{range}
      .set(copy_wide_range::elbat, source.tags.application)
      .set(copy_wide_range::elbatm, source.tags.application_mask);
  return range;
}

}  // namespace fb::nvme
