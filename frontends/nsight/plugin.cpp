#include "berth/plugin.h"

#include "nsight/frontend.h"

BERTH_PLUGIN(berth::nsight_frontend::NsightFrontend, "nsight", BERTH_VERSION_STRING,
             "costs from profiles of NVIDIA Nsight Systems (nsys export --type sqlite); no models");
