-- Other processes: several runs of a study at once. Linux.

local ffi = require "ffi"
local files = require "berth.files"

local processes = {}

ffi.cdef [[
extern char** environ;
int posix_spawn(int*, const char*, const void*, const void*, char* const*, char* const*);
int posix_spawn_file_actions_init(void*);
int posix_spawn_file_actions_addopen(void*, int, const char*, int, unsigned);
int posix_spawn_file_actions_adddup2(void*, int, int);
int posix_spawn_file_actions_destroy(void*);
int posix_spawnattr_init(void*);
int posix_spawnattr_setflags(void*, short);
int posix_spawnattr_setpgroup(void*, int);
int posix_spawnattr_destroy(void*);
int waitpid(int, int*, int);
int kill(int, int);
int getpid(void);
int getppid(void);
int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long);
int poll(void*, unsigned long, int);
int gethostname(char*, size_t);
int mkdir(const char*, unsigned);
char* strerror(int);
char* mkdtemp(char*);
int rmdir(const char*);
int access(const char*, int);
int chmod(const char*, unsigned);
unsigned umask(unsigned);
int lockf(int, int, long);
int execv(const char*, char* const*);
ssize_t write(int, const void*, size_t);
int open(const char*, int, ...);
int close(int);
long sysconf(int);
ssize_t readlink(const char*, char*, size_t);
]]

local C = ffi.C
-- Values from Linux's headers.
local SIGINT, SIGKILL, PR_SET_PDEATHSIG, WNOHANG, SETPGROUP, EEXIST = 2, 9, 1, 1, 2, 17
local WRITE_CREATE, WRITE_CREATE_APPEND, WRITE_CREATE_EXCLUSIVE = 1 + 64, 1 + 64 + 1024, 1 + 64 + 128
local TRY_LOCK, TEST_LOCK, EXECUTABLE = 2, 3, 1
local PROCESSORS_ONLINE = 84
-- The C library's own types, larger than in any that is in use.
local OPAQUE_BYTES = 1024

-- An array of C texts that ends with a null; `kept` holds what they point to.
local function text_array(texts)
  local array, kept = ffi.new("char*[?]", #texts + 1), {}
  for i, text in ipairs(texts) do
    kept[i] = ffi.new("char[?]", #text + 1, text)
    array[i - 1] = kept[i]
  end
  return array, kept
end

local function environment_with(more)
  local texts, i = {}, 0
  while C.environ[i] ~= nil do
    local text = ffi.string(C.environ[i])
    if more[text:match "^[^=]*"] == nil then texts[#texts + 1] = text end
    i = i + 1
  end
  for name, value in pairs(more) do texts[#texts + 1] = name .. "=" .. value end
  return texts
end

-- Starts a program in a process group of its own, so that Ctrl-C reaches it only through `interrupt`.
--   ARGS    command  array: the program's path, then its arguments
--           options  table: output (file that gets what it prints, appended; default: this one's standard
--                    error), print_on (without `output`: the descriptor for its standard output),
--                    environment (variables to set, by name; optional)
--   RETURN  its process id
function processes.start(command, options)
  local actions, attributes = ffi.new("char[?]", OPAQUE_BYTES), ffi.new("char[?]", OPAQUE_BYTES)
  C.posix_spawn_file_actions_init(actions)
  C.posix_spawn_file_actions_addopen(actions, 0, "/dev/null", 0, 0)
  if options.output then
    C.posix_spawn_file_actions_addopen(actions, 1, options.output, WRITE_CREATE_APPEND, 420)  -- rw-r--r--
    C.posix_spawn_file_actions_adddup2(actions, 1, 2)
  elseif options.print_on then
    C.posix_spawn_file_actions_adddup2(actions, options.print_on, 1)
  end
  C.posix_spawnattr_init(attributes)
  C.posix_spawnattr_setflags(attributes, SETPGROUP)
  C.posix_spawnattr_setpgroup(attributes, 0)
  local arguments, kept_arguments = text_array(command)
  local environment, kept_environment = text_array(environment_with(options.environment or {}))
  local pid = ffi.new "int[1]"
  local code = C.posix_spawn(pid, command[1], actions, attributes, arguments, environment)
  C.posix_spawn_file_actions_destroy(actions)
  C.posix_spawnattr_destroy(attributes)
  kept_arguments, kept_environment = nil, nil
  if code ~= 0 then
    error(("%s cannot be started: %s"):format(command[1], ffi.string(C.strerror(code))), 0)
  end
  return pid[0]
end

-- How a process of `start` ended: nil while it runs; then "exit" or "signal", and which.
function processes.ended(pid)
  local status = ffi.new "int[1]"
  local found = C.waitpid(pid, status, WNOHANG)
  if found == 0 then return nil end
  if found < 0 then return "exit", 0 end  -- somebody else asked for it
  local signal = status[0] % 128
  if signal ~= 0 then return "signal", signal end
  return "exit", math.floor(status[0] / 256) % 256
end

-- Asks a process to end by itself, as Ctrl-C does; `kill` does not ask.
function processes.interrupt(pid) C.kill(pid, SIGINT) end
function processes.kill(pid) C.kill(pid, SIGKILL) end

-- From here on this process ends when `parent` does; false where that has ended already.
function processes.end_with(parent)
  C.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
  return C.getppid() == parent
end

function processes.sleep(seconds) C.poll(nil, 0, math.ceil(seconds * 1000)) end

function processes.own_id() return C.getpid() end

-- When a process began, as a text that differs for the next one of its id; nil where there is none.
function processes.began(pid)
  local stat = files.content(("/proc/%d/stat"):format(pid))
  -- The 22nd field; the second, the name, may hold anything up to the last ")".
  local after = stat and stat:match "^.*%) (.*)$"
  if not after or after:sub(1, 1) == "Z" then return nil end
  local fields = {}
  for field in after:gmatch "%S+" do fields[#fields + 1] = field end
  return fields[20]
end

function processes.host()
  local name = ffi.new "char[256]"
  C.gethostname(name, 255)
  return ffi.string(name)
end

-- This machine: host, processor, processors (how many are online), system, memory_bytes.
function processes.machine()
  local cpu = files.content "/proc/cpuinfo" or ""
  local memory = (files.content "/proc/meminfo" or ""):match "MemTotal:%s*(%d+) kB"
  return {
    host = processes.host(),
    processor = cpu:match "model name%s*:%s*([^\n]*)" or jit.arch,
    processors = tonumber(C.sysconf(PROCESSORS_ONLINE)),
    system = (files.content "/proc/sys/kernel/ostype" or jit.os):gsub("%s+$", "") .. " "
      .. (files.content "/proc/sys/kernel/osrelease" or ""):gsub("%s+$", ""),
    memory_bytes = memory and tonumber(memory) * 1024,
  }
end

-- The program of this process.
function processes.program()
  local path = ffi.new "char[4096]"
  local size = C.readlink("/proc/self/exe", path, 4096)
  return size > 0 and ffi.string(path, size) or nil
end

-- Makes a folder and those above it that are missing.
function processes.make_folder(path)
  local at = 1
  while at do
    local slash = path:find("/", at + 1, true)
    local folder = slash and path:sub(1, slash - 1) or path
    if C.mkdir(folder, 493) ~= 0 and ffi.errno() ~= EEXIST then  -- rwxr-xr-x
      error(("%s: the folder cannot be made: %s"):format(folder, ffi.string(C.strerror(ffi.errno()))), 0)
    end
    at = slash
  end
end

-- Makes a folder that is this user's alone.
function processes.make_private_folder(path)
  processes.make_folder(path)
  if C.chmod(path, 448) ~= 0 then  -- rwx------
    error(("%s: the folder cannot be kept from others: %s"):format(path, ffi.string(C.strerror(ffi.errno()))), 0)
  end
end

-- Makes a folder that is this user's alone, with a name that nobody has.
--   RETURN  its path
function processes.temporary_folder(name)
  local path = (os.getenv "TMPDIR" or "/tmp") .. "/" .. name .. "XXXXXX"
  local made = ffi.new("char[?]", #path + 1, path)
  if C.mkdtemp(made) == nil then
    error(("%s: the folder cannot be made: %s"):format(path, ffi.string(C.strerror(ffi.errno()))), 0)
  end
  return ffi.string(made)
end

-- Removes an empty folder; false where it cannot.
function processes.remove_folder(path) return C.rmdir(path) == 0 end

-- Removes a file, or a folder with all that is in it.
function processes.remove_all(path)
  local pid = processes.start({ "/bin/rm", "-rf", "--", path }, {})
  while not processes.ended(pid) do processes.sleep(0.002) end
end

-- Texts of `bytes` random bytes in hexadecimal digits.
function processes.random_text(bytes)
  local source = assert(io.open("/dev/urandom", "rb"))
  local text = source:read(bytes):gsub(".", function(c) return ("%02x"):format(c:byte()) end)
  source:close()
  return text
end

-- Makes an empty file; false where there is one of that name: of all processes that try, one succeeds.
function processes.claim(path)
  local descriptor = C.open(path, WRITE_CREATE_EXCLUSIVE, ffi.cast("int", 420))  -- rw-r--r--
  if descriptor < 0 then return false end
  C.close(descriptor)
  return true
end

-- Makes a file for this user alone; false where there is one of that name.
function processes.write_private(path, content)
  local descriptor = C.open(path, WRITE_CREATE_EXCLUSIVE, ffi.cast("int", 384))  -- rw-------
  if descriptor < 0 then
    if ffi.errno() == EEXIST then return false end
    error(("%s: the file cannot be made: %s"):format(path, ffi.string(C.strerror(ffi.errno()))), 0)
  end
  local written = C.write(descriptor, content, #content)
  C.close(descriptor)
  if written ~= #content then error(("%s: the file cannot be written"):format(path), 0) end
  return true
end

-- Holds a file for as long as this process lives, also as another program; false where another one does.
function processes.lock(path)
  local descriptor = C.open(path, WRITE_CREATE, ffi.cast("int", 384))
  return descriptor >= 0 and C.lockf(descriptor, TRY_LOCK, 0) == 0
end

-- Whether another process holds it.
function processes.is_locked(path)
  local descriptor = C.open(path, 2)
  if descriptor < 0 then return false end
  local held = C.lockf(descriptor, TEST_LOCK, 0) ~= 0
  C.close(descriptor)
  return held
end

-- Goes on as another program, whose files are for this user alone. Returns only with an error.
--   ARGS    path  of the program
--           command  array: the name that it is called by, then its arguments
function processes.become(path, command)
  C.umask(63)
  local arguments, kept = text_array(command)
  C.execv(path, arguments)
  kept = nil
  error(("%s cannot be started: %s"):format(path, ffi.string(C.strerror(ffi.errno()))), 0)
end

-- The first of some programs that can be started, of the folders in PATH and those of the system; nil where there is
-- none.
function processes.find_program(names)
  local folders = (os.getenv "PATH" or "") .. ":/usr/bin:/usr/sbin"
  for _, name in ipairs(names) do
    for folder in folders:gmatch "[^:]+" do
      local path = folder .. "/" .. name
      if C.access(path, EXECUTABLE) == 0 then return path end
    end
  end
  return nil
end

-- The last line that says something in a file; nil where there is none.
function processes.last_line(path)
  local last
  for line in (files.content(path) or ""):gmatch "[^\n]+" do
    if line:match "%S" then last = line end
  end
  return last
end

-- The error of a `berth` whose output is in a file, without where in a script it came from; nil where there is none.
function processes.error_of(path)
  local found
  for line in (files.content(path) or ""):gmatch "[^\n]+" do found = line:match "^berth: error: (.*)" or found end
  return found
end

-- Why such a `berth` failed: its error, else its last line.
function processes.reason(path)
  return processes.error_of(path) or processes.last_line(path) or "it printed nothing"
end

return processes
