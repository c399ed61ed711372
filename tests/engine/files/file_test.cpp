#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "berth/files.h"
#include "berth/sdk/gzip.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace berth {
namespace {

std::size_t entries(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST_CASE("a text may be compressed, and is no pointer of Git LFS") {
  const test::TemporaryFolder folder;
  write_file(folder / "a.json.gz", gzip("content"));
  CHECK(read_text(folder / "a.json.gz") == "content");
  CHECK(read_file(folder / "a.json.gz") == gzip("content"));
  write_file(folder / "a.json", "content");
  CHECK(read_text(folder / "a.json") == "content");
  write_file(folder / "p.json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  test::expect_error(ErrorCode::invalid_file, {"p.json", "Git LFS", "git lfs pull"},
                     [&] { (void)read_text(folder / "p.json"); });
  write_file(folder / "cut.gz", gzip("content").substr(0, 12));
  test::expect_error(ErrorCode::invalid_file, {"cut.gz", "gzip", "cut short"},
                     [&] { (void)read_text(folder / "cut.gz"); });
}

TEST_CASE("write_file and read_file") {
  const test::TemporaryFolder folder;
  const auto path = folder / "a.json";
  SUBCASE("read back what was written, nothing else left beside it") {
    write_file(path, "one");
    write_file(path, std::string("two\0three", 9));
    CHECK(read_file(path) == std::string("two\0three", 9));
    CHECK(entries(folder.path()) == 1);
  }
  SUBCASE("a link keeps pointing at the file behind it") {
    write_file(folder / "real", "old");
    std::filesystem::create_symlink("real", path);
    write_file(path, "new");
    CHECK(std::filesystem::is_symlink(path));
    CHECK(read_file(folder / "real") == "new");
  }
  SUBCASE("a link to what is not there yet stays, and its target is made") {
    std::filesystem::create_directory(folder / "sub");
    std::filesystem::create_symlink("../real", folder / "sub/link");
    std::filesystem::create_symlink("sub/link", path);
    write_file(path, "new");
    CHECK(std::filesystem::is_symlink(path));
    CHECK(std::filesystem::is_symlink(folder / "sub/link"));
    CHECK(read_file(folder / "real") == "new");
  }
  SUBCASE("links in a circle are an error") {
    std::filesystem::create_symlink("a.json", folder / "b.json");
    std::filesystem::create_symlink("b.json", path);
    test::expect_error(ErrorCode::io, {"a.json", "levels of symbolic links"},
                       [&] { write_file(path, "x"); });
    CHECK(std::filesystem::is_symlink(path));
  }
  SUBCASE("a file that is replaced keeps its permissions") {
    constexpr auto kOwner =
        std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
    write_file(path, "old");
    std::filesystem::permissions(path, kOwner);
    write_file(path, "new");
    CHECK(std::filesystem::status(path).permissions() == kOwner);
    CHECK(read_file(path) == "new");
  }
  SUBCASE("a process that is killed while it writes leaves the old file and nothing else") {
    const int unnamed = ::open(folder.path().c_str(), O_WRONLY | O_TMPFILE, 0600);
    if (unnamed < 0) return;  // this file system has no files without a name
    ::close(unnamed);
    write_file(path, "old");
    const pid_t child = fork();
    if (child == 0) {
      const rlimit limit{4096, 4096};  // passing it is a deadly signal
      std::signal(SIGXFSZ, SIG_DFL);
      setrlimit(RLIMIT_FSIZE, &limit);
      write_file(path, std::string(1 << 20, 'x'));
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(read_file(path) == "old");
    CHECK(entries(folder.path()) == 1);
  }
  SUBCASE("a missing folder is named") {
    test::expect_error(ErrorCode::not_found, {"no-such", "a.json"},
                       [&] { write_file(folder / "no-such/a.json", "x"); });
  }
  SUBCASE("a full disk is an error") {
    if (!std::filesystem::exists("/dev/full")) return;
    test::expect_error(ErrorCode::io, {"/dev/full", "No space left"},
                       [&] { write_file("/dev/full", "x"); });
  }
  SUBCASE("an open file of this process goes on where it is, by whatever name") {
    std::filesystem::create_symlink("/dev/fd", folder / "own");
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(file >= 0);
    REQUIRE(::write(file, "one", 3) == 3);
    std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(file), folder / "link");
    write_file("/proc/self/fd/" + std::to_string(file), "two");
    write_file("/dev/fd/" + std::to_string(file), "three");
    write_file(folder / "own" / std::to_string(file), "four");
    write_file(folder / "link", "five");
    REQUIRE(::write(file, "six", 3) == 3);
    CHECK(read_file(path) == "onetwothreefourfivesix");
    ::close(file);
    test::expect_error(ErrorCode::io, {"Bad file descriptor"},
                       [&] { write_file("/proc/self/fd/" + std::to_string(file), "x"); });
  }
  SUBCASE("what never ends is no file, and a pipe is read to its end") {
    test::expect_error(ErrorCode::io, {"/dev/zero", "256 MiB", "no regular file"},
                       [] { static_cast<void>(read_file("/dev/zero")); });
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    REQUIRE(::write(ends[1], "piped", 5) == 5);
    ::close(ends[1]);
    CHECK(read_file("/proc/self/fd/" + std::to_string(ends[0])) == "piped");
    ::close(ends[0]);
  }
  SUBCASE("reading what is not there, or a folder") {
    test::expect_error(ErrorCode::not_found, {"a.json"},
                       [&] { static_cast<void>(read_file(path)); });
    test::expect_error(ErrorCode::io, {"directory"},
                       [&] { static_cast<void>(read_file(folder.path())); });
  }
}

}  // namespace
}  // namespace berth
