/* A policy's table as a plugin's file, with one thing wrong, which the build names with a TABLE_
 * definition; without one it is a good plugin. It is not linked against Berth. */
#include <berth/c.h>

#ifndef TABLE_MAGIC
#define TABLE_MAGIC BERTH_C_PLUGIN_MAGIC
#endif
#ifndef TABLE_ABI
#define TABLE_ABI BERTH_C_ABI
#endif
#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(berth_policy)
#endif
#ifndef TABLE_NAME
#define TABLE_NAME BERTH_TEXT_INIT("fixture")
#endif
#ifndef TABLE_PLACE
#define TABLE_PLACE place_last
#endif
#ifndef TABLE_DESTROY
#define TABLE_DESTROY NULL
#endif
#ifndef TABLE_LATER
#define TABLE_LATER 0
#endif
#ifndef TABLE_OPTIONS
#define TABLE_OPTIONS options
#endif

/* Everything on the device that the option says, counted from the last. */
__attribute__((unused)) static berth_status place_last(void* user, berth_search* search,
                                                       int32_t* devices) {
  const berth_text back = search->option(search, BERTH_TEXT("back"));
  double objective_us = 0;
  int32_t i;
  (void)user;
  for (i = 0; i < search->group_count; ++i) {
    devices[i] = search->device_count - 1 - (back.data[0] - '0');
  }
  return search->evaluate(search, devices, &objective_us, NULL);
}
__attribute__((unused)) static void destroy(void* user) { (void)user; }
__attribute__((unused)) static const berth_policy_option options[] = {
    {BERTH_TEXT_INIT("back"), BERTH_TEXT_INIT("0"), BERTH_TEXT_INIT("devices from the last")}};

/* A field of a version that is not there yet. */
typedef struct later_plugin {
  berth_policy_plugin known;
  int64_t later;
} later_plugin;

extern BERTH_C_API const later_plugin berth_c_plugin;
const later_plugin berth_c_plugin = {
    {TABLE_MAGIC,
     TABLE_ABI,
     {TABLE_SIZE, TABLE_NAME, BERTH_TEXT_INIT("1.0"), BERTH_TEXT_INIT("a table"), TABLE_OPTIONS, 1,
      TABLE_PLACE, TABLE_DESTROY, NULL}},
    TABLE_LATER};
