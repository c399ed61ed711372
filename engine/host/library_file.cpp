#include "host/library_file.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, const char* what) {
  throw Error(ErrorCode::incompatible, cat(file.string(), ": cannot be loaded as a library: ", what,
                                           "; build or copy it again, or move it elsewhere"));
}

bool within(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
  return offset <= size && length <= size - offset;
}

}  // namespace

void check_library_file(const std::filesystem::path& file) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(file, error);
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream) refuse(file, "it cannot be read");
  Elf64_Ehdr header;
  if (!stream.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    refuse(file, "it is not an ELF file");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
    refuse(file, "it is an ELF file of another word size");
  }
  const std::uint64_t programs_length = std::uint64_t{header.e_phnum} * header.e_phentsize;
  const std::uint64_t sections_length = std::uint64_t{header.e_shnum} * header.e_shentsize;
  bool whole = within(header.e_phoff, programs_length, size) &&
               within(header.e_shoff, sections_length, size);
  if (whole) {
    std::vector<Elf64_Phdr> programs(header.e_phnum);
    stream.seekg(static_cast<std::streamoff>(header.e_phoff));
    whole = static_cast<bool>(stream.read(reinterpret_cast<char*>(programs.data()),
                                          static_cast<std::streamsize>(programs_length)));
    for (const Elf64_Phdr& program : programs) {
      whole = whole && within(program.p_offset, program.p_filesz, size);
    }
  }
  if (!whole) refuse(file, "it ends before its headers say, so a part is missing");
}

}  // namespace berth
