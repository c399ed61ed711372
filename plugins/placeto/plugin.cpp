#include "berth/plugin.h"

#include "options.h"
#include "placeto.h"

BERTH_PLUGIN(berth::placeto::PlacetoPolicy, "placeto", "1.0",
             "learned, one group after another (Placeto, NeurIPS 2019)", berth::placeto::kOptions);
