/* A policy of one's own in C, as a plugin: begins with everything on the best single device, then moves
 * one group at a time to wherever the step is shortest, until no move helps.
 *
 *   cc -shared -fPIC $(pkg-config --cflags berth_c) descend.c -o policy_descend.so
 */
#include <berth/c.h>
#include <stdlib.h>
#include <string.h>

/* Better: fits first, then shorter. */
typedef struct step {
  double us;
  int32_t fits;
} step;

static int better(step a, step b) { return a.fits != b.fits ? a.fits : a.us < b.us; }

static berth_status evaluated(berth_search* search, const int32_t* devices, step* out) {
  return search->evaluate(search, devices, &out->us, &out->fits);
}

static int can_run(const berth_search* search, int32_t group, int32_t device) {
  return search->cost_us[(size_t)group * (size_t)search->device_count + (size_t)device] < INFINITY;
}

/* All on `device`, and what it cannot run where it is quickest. */
static void all_on(const berth_search* search, int32_t device, int32_t* devices) {
  for (int32_t group = 0; group < search->group_count; ++group) {
    const double* us = search->cost_us + (size_t)group * (size_t)search->device_count;
    devices[group] = device;
    for (int32_t other = 0; us[device] == INFINITY && other < search->device_count; ++other) {
      if (us[other] < us[devices[group]]) devices[group] = other;
    }
  }
}

static berth_status start(berth_search* search, int32_t* devices, int32_t* tried, step* best) {
  const size_t bytes = (size_t)search->group_count * sizeof *devices;
  for (int32_t device = 0; device < search->device_count; ++device) {
    step found;
    all_on(search, device, tried);
    const berth_status status = evaluated(search, tried, &found);
    if (status != BERTH_OK) return status;
    if (device > 0 && !better(found, *best)) continue;
    *best = found;
    memcpy(devices, tried, bytes);
  }
  return BERTH_OK;
}

/* One pass over the groups; `moved` says whether any move helped. */
static berth_status pass(berth_search* search, int32_t* devices, step* best, int* moved) {
  *moved = 0;
  for (int32_t group = 0; group < search->group_count; ++group) {
    for (int32_t device = 0; device < search->device_count; ++device) {
      const int32_t before = devices[group];
      step found;
      if (device == before || !can_run(search, group, device)) continue;
      if (search->should_stop(search)) return BERTH_OK;
      devices[group] = device;
      const berth_status status = evaluated(search, devices, &found);
      if (status != BERTH_OK) return status;
      if (better(found, *best)) {
        *best = found;
        *moved = 1;
      } else {
        devices[group] = before;
      }
    }
  }
  return BERTH_OK;
}

static berth_status place(void* user, berth_search* search, int32_t* devices) {
  const long passes = strtol(search->option(search, BERTH_TEXT("passes")).data, NULL, 10);
  int32_t* const tried = malloc((size_t)search->group_count * sizeof *tried + 1);
  step best = {0, 0};
  int moved = 1;
  (void)user;
  if (tried == NULL) return BERTH_NO_HOST_MEMORY;
  if (passes < 1) {
    search->say(search, BERTH_TEXT("the option 'passes' is a number from 1 on"));
    free(tried);
    return BERTH_INVALID_ARGUMENT;
  }
  berth_status status = start(search, devices, tried, &best);
  free(tried);
  for (long i = 0; status == BERTH_OK && moved && i < passes; ++i) {
    status = pass(search, devices, &best, &moved);
    if (search->should_stop(search)) break;
  }
  return status;
}

static const berth_policy_option options[] = {
    {BERTH_TEXT_INIT("passes"), BERTH_TEXT_INIT("8"), BERTH_TEXT_INIT("over all groups, at most")}};

BERTH_POLICY_PLUGIN(BERTH_TEXT_INIT("descend"), BERTH_TEXT_INIT("1.0"),
                    BERTH_TEXT_INIT("moves one group at a time (example of a plugin in C)"), options, 1,
                    place, NULL, NULL);
