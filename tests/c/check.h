/* Checks for tests in C: a failure says where and goes on; the count is the exit status. */
#ifndef BERTH_TESTS_C_CHECK_H
#define BERTH_TESTS_C_CHECK_H

#include <berth/c.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void check_failed(const char* file, int line, const char* what) {
  berth_text message = berth_message();
  printf("%s:%d: %s\n  last message: %s\n", file, line, what,
         message.data != NULL ? message.data : "");
  ++failures;
}

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) check_failed(__FILE__, __LINE__, "" #condition); \
  } while (0)
#define OK(call) CHECK((call) == BERTH_OK)
/* The call is refused with the status, and the message mentions the part. */
#define REFUSED(status, part, call)                                 \
  do {                                                              \
    CHECK((call) == (status));                                      \
    if (strstr(berth_message().data, (part)) == NULL)               \
      check_failed(__FILE__, __LINE__, "the message lacks " #part); \
  } while (0)

static inline berth_text text(const char* words) {
  berth_text result = {words, strlen(words)};
  return result;
}
static inline int contains(berth_text all, const char* part) {
  return strstr(all.data, part) != NULL;
}

#endif
