#include "berth/plugin.h"

#include "edges/frontend.h"

BERTH_PLUGIN(berth::edges_frontend::EdgesFrontend, "edges", BERTH_VERSION_STRING,
             "lists of edges (.edges): producer, consumer and bytes in each line");
