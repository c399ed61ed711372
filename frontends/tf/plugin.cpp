#include "berth/plugin.h"

#include "tf/frontend.h"

BERTH_PLUGIN(
    berth::tf_frontend::TensorFlowFrontend, "tf", BERTH_VERSION_STRING,
    "TensorFlow graphs: GraphDef, MetaGraphDef, SavedModel (.pb, .pbtxt, .meta, also .gz)");
