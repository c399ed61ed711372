// SQLite files that others wrote, read only.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace berth::nsight_frontend {

/// All members throw Error(invalid_file) with the file's name where SQLite refuses. A damaged or
/// hostile file is an error, and its contents run nothing. [thread-compatible]
class Database {
 public:
  explicit Database(const std::filesystem::path& file);

  /// Whether there is such a table, not a view, with that column.
  [[nodiscard]] bool has(std::string_view table, std::string_view column);

  /// The rows that a query gives, one after the other. The database must outlive it.
  class Rows {
   public:
    /// Whether there is one more.
    [[nodiscard]] bool next();
    [[nodiscard]] bool is_null(int column) const;
    /// SQLite keeps anything in a column, whatever the table declares.
    [[nodiscard]] bool is_integer(int column) const;
    [[nodiscard]] std::int64_t integer(int column) const;
    /// Valid until the next call of next().
    [[nodiscard]] std::string_view text(int column) const;

   private:
    friend class Database;
    struct Finalize {
      void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    Rows(const Database& database, sqlite3_stmt* statement)
        : database_(database), statement_(statement) {}
    const Database& database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  };
  [[nodiscard]] Rows query(const std::string& sql) const;

 private:
  [[noreturn]] void refuse() const;

  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  std::string file_;
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace berth::nsight_frontend
