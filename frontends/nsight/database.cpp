#include "nsight/database.h"

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth::nsight_frontend {

Database::Database(const std::filesystem::path& file) : file_(file.string()) {
  constexpr int kLongestValue = 1 << 20;  // bytes; names of ops are shorter by far
  sqlite3* connection = nullptr;
  const int result = sqlite3_open_v2(file_.c_str(), &connection,
                                     SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  connection_.reset(connection);
  if (result != SQLITE_OK) refuse();
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
}

void Database::refuse() const {
  const char* const reason =
      connection_ ? sqlite3_errmsg(connection_.get()) : "there is no memory for it";
  throw Error(ErrorCode::invalid_file,
              cat(file_, ": SQLite says: ", reason,
                  "; export the profile again (nsys export --type sqlite)"));
}

bool Database::has(std::string_view table, std::string_view column) {
  // pragma_table_info has one row per column, of views too.
  Rows rows = query(cat("SELECT 1 FROM sqlite_schema AS s JOIN pragma_table_info('", table,
                        "') AS c WHERE s.type = 'table' AND s.name = '", table, "' AND c.name = '",
                        column, "'"));
  return rows.next();
}

Database::Rows Database::query(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection_.get(), sql.c_str(), static_cast<int>(sql.size()), &statement,
                         nullptr) != SQLITE_OK) {
    refuse();
  }
  return {*this, statement};
}

bool Database::Rows::next() {
  const int result = sqlite3_step(statement_.get());
  if (result != SQLITE_ROW && result != SQLITE_DONE) database_.refuse();
  return result == SQLITE_ROW;
}

bool Database::Rows::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

bool Database::Rows::is_integer(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER;
}

std::int64_t Database::Rows::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Database::Rows::text(int column) const {
  const auto* const bytes =
      reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<std::size_t>(size));
}

}  // namespace berth::nsight_frontend
