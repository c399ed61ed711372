#include "command/text_table.h"

#include <doctest/doctest.h>

#include <cmath>

using berth::command::bar;
using berth::command::first_columns;
using berth::command::printable;
using berth::command::printable_lines;
using berth::command::TextTable;
using Align = TextTable::Align;

TEST_CASE("a table aligns its columns") {
  TextTable table({{"name"}, {"ops", Align::right}, {"note"}});
  SUBCASE("cells widen their column") {
    table.add_row({"gpu:0", "1,234", "first"});
    table.add_row({"a device with a long name", "5", ""});
    CHECK(table.text() ==
          "name                         ops  note\n"
          "gpu:0                      1,234  first\n"
          "a device with a long name      5\n");
  }
  SUBCASE("a short row runs over the columns that are left") {
    table.add_row({"topo", "12", "x"});
    table.add_row({"mincut", "failed: the graph has no edges"});
    CHECK(table.text(2) ==
          "  name    ops  note\n"
          "  topo     12  x\n"
          "  mincut  failed: the graph has no edges\n");
  }
  SUBCASE("a letter of several bytes is one column wide") {
    table.add_row({"\xC3\xA9t\xC3\xA9", "1", "x"});
    CHECK(table.text() ==
          "name  ops  note\n"
          "\xC3\xA9t\xC3\xA9     1  x\n");
  }
  SUBCASE("without rows there are the titles") {
    CHECK(table.text() == "name  ops  note\n");
  }
}

TEST_CASE("printable text cannot steer a terminal") {
  CHECK(printable("a\x1B[2Jb\nc\x7F") == "a?[2Jb?c?");
  CHECK(printable("caf\xC3\xA9 \xE5\x8D\xB7 \xF0\x9F\x9A\xA2") ==
        "caf\xC3\xA9 \xE5\x8D\xB7 \xF0\x9F\x9A\xA2");
  // The control sequence introducer as one letter and as a byte; what is cut, too long or no
  // letter.
  CHECK(printable("a\xC2\x9B\x33Jb") == "a??3Jb");
  CHECK(printable("a\x9B\x33Jb\xFF") == "a?3Jb?");
  CHECK(printable("\xE5\x8D") == "??");
  CHECK(printable("\xC0\x9B\xED\xA0\x80") == "?????");
  CHECK(printable(std::string("a\0b", 3)) == "a?b");
  // Letters that turn the direction of reading, or show nothing.
  CHECK(printable("evil\u202Egnp.exe") == "evil???gnp.exe");
  CHECK(printable("a\u2066b\u200Bc\uFEFFd\u061Ce") == "a???b???c???d??e");
  CHECK(printable_lines("a\n\x1B\tb\n") == "a\n??b\n");
}

TEST_CASE("a line is cut between letters") {
  CHECK(first_columns("abc", 2) == "ab");
  CHECK(first_columns("abc", 3) == "abc");
  CHECK(first_columns("\xC3\xA9\xC3\xA9x", 2) == "\xC3\xA9\xC3\xA9");
}

TEST_CASE("a bar shows a share") {
  CHECK(bar(0.5, 8) == "####....");
  CHECK(bar(7, 4) == "####");
  CHECK(bar(-1, 4) == "....");
  CHECK(bar(std::nan(""), 4) == "....");
}
