#include "berth/plugin.h"

#include "onnx/frontend.h"

BERTH_PLUGIN(berth::onnx_frontend::OnnxFrontend, "onnx", BERTH_VERSION_STRING,
             "models of the ONNX exchange format (.onnx)");
