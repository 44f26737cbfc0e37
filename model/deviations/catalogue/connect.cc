// Connect: what a careless controller lets through.
#include "model/deviations/deviation.h"

namespace fb::deviations {

DEVIATION(connect_takes_sqsize_zero, "fabrics.connect.sqsize.minimum", Product::controller, "accepts a submission queue of one entry",
          Tolerate{"connect.sqsize.minimum"});

}  // namespace fb::deviations
