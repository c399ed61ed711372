#include "application.h"

int main(int argc, char** argv) {
  return berth::command::run(argc, argv);
}
