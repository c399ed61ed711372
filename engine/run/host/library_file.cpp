// The parts of an ELF file that are needed here: the program headers say where memory comes from,
// .dynsym names the exported symbols, and the relocations hold the pointers of initialised data.
#include "host/library_file.h"

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <vector>

#include "berth/c.h"
#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kRelative = R_X86_64_RELATIVE;
constexpr std::uint32_t kAbsolute = R_X86_64_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kRelative = R_AARCH64_RELATIVE;
constexpr std::uint32_t kAbsolute = R_AARCH64_ABS64;
#else
#error "say here which relocations of this machine hold pointers"
#endif

/// Longer than any text of a descriptor that is read here.
constexpr std::size_t kMostText = 256;

class ElfFile {
 public:
  explicit ElfFile(const std::filesystem::path& file)
      : file_(file), stream_(file, std::ios::binary) {
    std::error_code error;
    size_ = std::filesystem::file_size(file, error);
    if (error || !stream_) refuse("it cannot be read");
    if (size_ < sizeof header_) refuse("it is not an ELF file");
    read(0, &header_, sizeof header_);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) refuse("it is not an ELF file");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_phentsize != sizeof(Elf64_Phdr) ||
        (header_.e_shnum > 0 && header_.e_shentsize != sizeof(Elf64_Shdr))) {
      refuse("it is an ELF file of another word size");
    }
    programs_ = table<Elf64_Phdr>(header_.e_phoff, header_.e_phnum);
    sections_ = table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum);
    // The system loader maps what the headers promise, and dies of a bus error where the file ends
    // before that.
    for (const Elf64_Phdr& program : programs_) {
      if (!within(program.p_offset, program.p_filesz)) refuse_cut();
    }
    read_symbols();
    read_relocations();
  }

  /// The offset of the symbol in memory, from the library's start; nothing if it is not exported.
  [[nodiscard]] std::optional<std::uint64_t> find(std::string_view name) {
    for (const Elf64_Sym& symbol : symbols_) {
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names_.size()) continue;
      if (name == names_.c_str() + symbol.st_name) return symbol.st_value;
    }
    return std::nullopt;
  }

  /// Reads what the memory at `address` will hold before relocation. False where it is not of the file:
  /// zeros, or nothing.
  [[nodiscard]] bool memory(std::uint64_t address, void* out, std::size_t size) {
    for (const Elf64_Phdr& program : programs_) {
      if (program.p_type != PT_LOAD || address < program.p_vaddr) continue;
      const std::uint64_t offset = address - program.p_vaddr;
      if (offset > program.p_filesz || size > program.p_filesz - offset) continue;
      read(program.p_offset + offset, out, size);
      return true;
    }
    return false;
  }

  /// The text that the pointer at `address` will point to.
  [[nodiscard]] std::optional<std::string> text_behind(std::uint64_t address) {
    std::uint64_t target = 0;
    // Packed relative relocations (RELR) leave the address where the pointer is.
    if (!memory(address, &target, sizeof target)) return std::nullopt;
    for (const Elf64_Rela& relocation : relocations_) {
      if (relocation.r_offset != address) continue;
      const std::uint32_t type = ELF64_R_TYPE(relocation.r_info);
      const std::size_t symbol = ELF64_R_SYM(relocation.r_info);
      target = static_cast<std::uint64_t>(relocation.r_addend);
      if (type == kAbsolute && symbol < symbols_.size()) {
        if (symbols_[symbol].st_shndx == SHN_UNDEF) return std::nullopt;
        target += symbols_[symbol].st_value;
      } else if (type != kRelative) {
        return std::nullopt;
      }
    }
    if (target == 0) return std::nullopt;
    std::string text;
    for (char c = 0; text.size() < kMostText; text += c) {
      if (!memory(target + text.size(), &c, 1)) return std::nullopt;
      if (c == 0) return text;
    }
    return std::nullopt;
  }

  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(ErrorCode::incompatible,
                cat(file_.string(), ": cannot be loaded as a library: ", what,
                    "; build or copy it again, or move it elsewhere"));
  }

 private:
  [[noreturn]] void refuse_cut() const {
    refuse("it ends before its headers say, so a part is missing");
  }
  [[nodiscard]] bool within(std::uint64_t offset, std::uint64_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }
  void read(std::uint64_t offset, void* out, std::size_t size) {
    stream_.clear();
    stream_.seekg(static_cast<std::streamoff>(offset));
    if (!within(offset, size) ||
        !stream_.read(static_cast<char*>(out), static_cast<std::streamsize>(size))) {
      refuse_cut();
    }
  }
  template <typename Entry>
  std::vector<Entry> table(std::uint64_t offset, std::uint64_t count) {
    if (count > size_ / sizeof(Entry) || !within(offset, count * sizeof(Entry))) refuse_cut();
    std::vector<Entry> entries(count);
    if (count > 0) read(offset, entries.data(), count * sizeof(Entry));
    return entries;
  }

  void read_symbols() {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& section = sections_[i];
      if (section.sh_type != SHT_DYNSYM) continue;
      dynsym_ = i;
      symbols_ = table<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
      if (section.sh_link < sections_.size()) {
        const Elf64_Shdr& names = sections_[section.sh_link];
        const std::vector<char> bytes = table<char>(names.sh_offset, names.sh_size);
        names_.assign(bytes.begin(), bytes.end());
      }
    }
  }
  void read_relocations() {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_RELA || section.sh_link != dynsym_) continue;
      const auto entries =
          table<Elf64_Rela>(section.sh_offset, section.sh_size / sizeof(Elf64_Rela));
      relocations_.insert(relocations_.end(), entries.begin(), entries.end());
    }
  }

  const std::filesystem::path& file_;
  std::ifstream stream_;
  std::uint64_t size_ = 0;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> programs_;
  std::vector<Elf64_Shdr> sections_;
  std::size_t dynsym_ = 0;
  std::vector<Elf64_Sym> symbols_;
  std::string names_;  // of the symbols, each with its 0
  std::vector<Elf64_Rela> relocations_;
};

/// The bytes of a plugin's object; `symbol` names it.
template <typename Start>
Start start_of(ElfFile& elf, std::uint64_t address, const char* symbol) {
  Start start{};
  if (!elf.memory(address, &start, sizeof start)) {
    elf.refuse(cat("its '", symbol, "' is no initialised data"));
  }
  return start;
}

PluginFileHeader read_descriptor(ElfFile& elf, std::uint64_t address) {
  struct Start {
    std::uint32_t magic, abi_version, size, kind;
  };
  const auto start = start_of<Start>(elf, address, kPluginSymbol);
  PluginFileHeader header;
  header.magic = start.magic;
  header.abi_version = start.abi_version;
  header.size = start.size;
  header.kind = PluginKind{start.kind};
  if (start.magic != kPluginMagic || start.abi_version != BERTH_ABI_VERSION) return header;
  header.fingerprint = elf.text_behind(address + offsetof(PluginDescriptor, fingerprint));
  header.berth_version = elf.text_behind(address + offsetof(PluginDescriptor, berth_version));
  header.name = elf.text_behind(address + offsetof(PluginDescriptor, name));
  return header;
}

/// `policy` of every version begins as it does here.
PluginFileHeader read_table(ElfFile& elf, std::uint64_t address) {
  constexpr std::size_t kName =
      offsetof(berth_policy_plugin, policy) + offsetof(berth_policy, name);
  struct Start {
    std::uint32_t magic, abi_version;
    std::uint64_t size;
    berth_text name;
  };
  static_assert(offsetof(Start, name) == kName && sizeof(std::size_t) == sizeof(std::uint64_t));
  const auto start = start_of<Start>(elf, address, kTableSymbol);
  PluginFileHeader header;
  header.table = true;
  header.magic = start.magic;
  header.abi_version = start.abi_version;
  header.size = start.size;
  header.kind = PluginKind::policy;
  if (start.magic != BERTH_C_PLUGIN_MAGIC) return header;
  header.name = elf.text_behind(address + kName);
  // A text needs no 0 at its end, and is no longer than it says.
  if (header.name && header.name->size() < start.name.size) header.name.reset();
  if (header.name) header.name->resize(start.name.size);
  return header;
}

}  // namespace

PluginFileHeader read_plugin_file(const std::filesystem::path& file) {
  // To open a pipe would wait for somebody who writes.
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw Error(ErrorCode::incompatible,
                cat(file.string(), ": is no regular file, so no library; move it elsewhere"));
  }
  ElfFile elf(file);
  if (const auto address = elf.find(kPluginSymbol)) return read_descriptor(elf, *address);
  if (const auto address = elf.find(kTableSymbol)) return read_table(elf, *address);
  throw Error(ErrorCode::incompatible,
              cat(file.string(), ": exports no symbol '", kPluginSymbol, "' or '", kTableSymbol,
                  "'; build it with BERTH_PLUGIN, or in C with BERTH_POLICY_PLUGIN, or move it "
                  "elsewhere"));
}

}  // namespace berth
