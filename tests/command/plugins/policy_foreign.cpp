// A policy built for another version of the plugin interface.
#include "berth/plugin.h"

extern "C" BERTH_EXPORT const berth::PluginDescriptor berth_plugin;
extern "C" const berth::PluginDescriptor berth_plugin = {berth::kPluginMagic,
                                                         BERTH_ABI_VERSION + 1,
                                                         sizeof(berth::PluginDescriptor),
                                                         berth::PluginKind::policy,
                                                         BERTH_BUILD_FINGERPRINT,
                                                         "9.9.9",
                                                         "foreign",
                                                         "1.0",
                                                         "from elsewhere",
                                                         nullptr,
                                                         0,
                                                         nullptr,
                                                         nullptr,
                                                         nullptr,
                                                         nullptr};
