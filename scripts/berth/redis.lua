-- Connections with Redis 7 or Valkey, over TCP, TLS or a Unix socket.
--
--   local client = redis.connect(redis.server "rediss://berth:secret@example:6379", { timeout_s = 10 })
--   local replies = client:exchange({ { "SET", "key", "value" }, { "GET", "key" } }, 10)
--
-- A reply is a text, a number, an array of replies, or false for nil.

local ffi = require "ffi"
local berth = require "berth"

local INTERFACE = 1
ffi.cdef [[
typedef struct berth_redis berth_redis;
typedef struct { const char* path; const char* host; int port; int tls; int plain; const char* secret;
  const char* authorities; const char* certificate; const char* key; } berth_redis_endpoint;
int berth_redis_interface(void);
const char* berth_redis_error(void);
int berth_redis_connect(const berth_redis_endpoint* endpoint, int timeout_ms, berth_redis** out);
int berth_redis_append(berth_redis* client, int count, const char** parts, const size_t* bytes);
int berth_redis_exchange(berth_redis* client, int timeout_ms);
void berth_redis_close(berth_redis* client);
const struct redisReply* berth_redis_reply(berth_redis* client, int index);
const struct redisReply* berth_redis_item(const struct redisReply* reply, int index);
int berth_redis_kind(const struct redisReply* reply);
int64_t berth_redis_number(const struct redisReply* reply);
const char* berth_redis_text(const struct redisReply* reply);
int berth_redis_write_certificate(const char* secret, const char* certificate_file, const char* key_file);
]]

local C
local function library()
  if C then return C end
  local fine, file = pcall(berth.module_file, "redis")
  if not fine then
    error("this berth was built without what training by many processes needs; install libssl-dev and "
      .. "libhiredis-dev and build it again", 0)
  end
  C = ffi.load(file)
  if C.berth_redis_interface() ~= INTERFACE then
    error("berth.redis: module_redis.so and scripts/berth/redis.lua are of two versions of Berth; build or "
      .. "install both together", 0)
  end
  return C
end

local NIL, TEXT, NUMBER, ITEMS = 0, 1, 2, 3
local UNREACHABLE = 1

local redis = {}
local Client = {}
Client.__index = Client

local function message() return ffi.string(C.berth_redis_error()) end

-- Servers ---------------------------------------------------------------------------------------------

local function decoded(text)
  return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

-- User and password of "USER:PASSWORD"; nothing where it is none.
local function login_of(text)
  local user, password = text:match "^([^:]*):(.*)$"
  if user then return user ~= "" and decoded(user) or nil, decoded(password) end
end

-- The address in a text: redis://, rediss:// (TLS) or unix://, each with or without a login.
--   ARGS    get  function(name): a variable of the environment; default os.getenv
--   RETURN  table: path, or host, port and tls; user, password, database; plain, authorities, certificate, key (see
--           plugins/redis/connection.h)
function redis.server(url, get)
  get = get or os.getenv
  local scheme, rest = url:match "^(%a+)://(.+)$"
  local function refuse(why)
    -- A password is not for logs.
    error(("BERTH_STORE=%s: %s; give redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], the same with rediss:// for TLS, "
      .. "or unix://[USER:PASSWORD@]/PATH"):format(url:gsub("//[^/]*@", "//..@"), why), 0)
  end
  if scheme == "unix" then
    local login, path = rest:match "^([^/]*)@(.*)$"
    if not login then return { path = decoded(rest) } end
    local user, password = login_of(login)
    if not password then refuse "a user without a password" end
    if path:sub(1, 1) ~= "/" then refuse "no path from / on" end
    return { path = decoded(path), user = user, password = password }
  end
  if scheme ~= "redis" and scheme ~= "rediss" then refuse "no server of Redis" end
  local authority, database = rest:match "^([^/]+)/?(.*)$"
  if not authority then refuse "no host" end
  local login, where = authority:match "^(.*)@(.*)$"
  where = where or authority
  local host, port = where:match "^%[([%x:%.]+)%]:?(%d*)$"
  if not host then host, port = where:match "^([^:]+):?(%d*)$" end
  port = port == "" and 6379 or tonumber(port)
  if not host or not port or port < 1 or port > 65535 then refuse "no host and port" end
  if database ~= "" and not database:match "^%d+$" then refuse "the database is no number" end
  local user, password
  if login then
    user, password = login_of(login)
    if not password then refuse "a user without a password" end
  end
  return { host = host, port = port, tls = scheme == "rediss", plain = get "BERTH_STORE_TLS" == "off",
    user = user, password = password, database = database ~= "" and database or nil,
    authorities = get "BERTH_STORE_CA", certificate = get "BERTH_STORE_CERT", key = get "BERTH_STORE_KEY" }
end

-- Its name, for messages.
function redis.name_of(server)
  return server.path or ("%s:%d"):format(server.host, server.port)
end

-- Files of a server that processes reach who share a secret.
function redis.write_certificate(secret, certificate_file, key_file)
  if library().berth_redis_write_certificate(secret, certificate_file, key_file) ~= 0 then error(message(), 0) end
end

-- Replies ---------------------------------------------------------------------------------------------

local function value_of(reply)
  local kind = C.berth_redis_kind(reply)
  local number = tonumber(C.berth_redis_number(reply))
  if kind == NIL then return false end
  if kind == NUMBER then return number end
  if kind == TEXT then return ffi.string(C.berth_redis_text(reply), number) end
  if kind == ITEMS then
    local items = {}
    for i = 1, number do items[i] = value_of(C.berth_redis_item(reply, i - 1)) end
    return items
  end
  return { failed = ffi.string(C.berth_redis_text(reply), number) }
end

-- Answers of a server that is about to become, or no longer is, the one that serves.
local PASSING = { LOADING = true, READONLY = true, MASTERDOWN = true, TRYAGAIN = true, CLUSTERDOWN = true, BUSY = true,
  UNBLOCKED = true, NOREPLICAS = true }

local FIXES = {
  OOM = "its memory is full (maxmemory); give it more, or train with fewer samples in flight",
  MISCONF = "it cannot write its files; look at its disk and its log",
  NOPERM = "its user may not do that; the page on operating the store lists what a user needs",
  NOAUTH = "it asks for a password; name it as redis://USER:PASSWORD@HOST or unix://USER:PASSWORD@/PATH",
  WRONGPASS = "user and password are not the server's",
  MOVED = "it is part of a Redis Cluster, which this does not use; name a server without cluster mode",
  CROSSSLOT = "it is part of a Redis Cluster, which this does not use; name a server without cluster mode",
}

-- The error that a reply is, in words; whether it may pass.
local function failure(self, text)
  local code = text:match "^(%u+) " or ""
  if PASSING[code] then return ("the server at %s is not ready: %s"):format(self.where, text), true end
  return ("the server at %s answers '%s'%s"):format(self.where, text, FIXES[code] and ": " .. FIXES[code] or ""), false
end

-- Clients ---------------------------------------------------------------------------------------------

function Client:close()
  if self.handle then C.berth_redis_close(self.handle) end
  self.handle = nil
end

-- Sends commands at once and waits for all replies.
--   ARGS    commands   array of arrays of texts and numbers
--           timeout_s  for all of it
--           pattern    of errors that are replies, { failed = text }; optional
--   RETURN  array of replies; or nil and why, where the connection is of no more use
function Client:exchange(commands, timeout_s, pattern)
  for _, command in ipairs(commands) do
    local count = #command
    local parts, bytes = ffi.new("const char*[?]", count), ffi.new("size_t[?]", count)
    local kept = {}
    for i, part in ipairs(command) do
      kept[i] = type(part) == "number" and ("%.17g"):format(part) or part
      parts[i - 1], bytes[i - 1] = kept[i], #kept[i]
    end
    if C.berth_redis_append(self.handle, count, parts, bytes) ~= 0 then error("store: " .. message(), 0) end
  end
  local code = C.berth_redis_exchange(self.handle, math.ceil(timeout_s * 1000))
  if code == UNREACHABLE then return nil, message() end
  if code ~= 0 then error("store: " .. message(), 0) end
  local replies = {}
  for i = 1, #commands do
    local reply = value_of(C.berth_redis_reply(self.handle, i - 1))
    if type(reply) == "table" and reply.failed and not (pattern and reply.failed:find(pattern)) then
      local text, passing = failure(self, reply.failed)
      if passing then return nil, text end
      error("store: " .. text, 0)
    end
    replies[i] = reply
  end
  return replies
end

-- HELLO's reply as a table by name.
local function fields_of(reply)
  local fields = {}
  for i = 1, #reply, 2 do fields[reply[i]] = reply[i + 1] end
  return fields
end

local function introduce(self, server, options)
  local hello = { "HELLO", "2" }
  if server.password then
    for _, part in ipairs { "AUTH", server.user or "default", server.password } do hello[#hello + 1] = part end
  end
  hello[#hello + 1], hello[#hello + 2] = "SETNAME", options.name
  local commands = { hello, { "INFO", "server" } }
  if server.database then commands[3] = { "SELECT", server.database } end
  local replies, why = self:exchange(commands, options.timeout_s, "unknown command")
  if not replies then return nil, why end
  local old = ("store: the server at %s is too old: Redis 7.0, Valkey 7.2 or a newer one is needed"):format(self.where)
  if replies[1].failed then error(old, 0) end
  local fields = fields_of(replies[1])
  local version = replies[2]:match "redis_version:(%S+)" or "0"
  if tonumber(version:match "^%d+") < 7 then error(("%s, and it is %s"):format(old, version), 0) end
  if fields.mode ~= "standalone" then
    error(("store: the server at %s is a %s; name a server of Redis without cluster mode"):format(self.where,
      fields.mode), 0)
  end
  if fields.role ~= "master" then return nil, ("the server at %s is a replica"):format(self.where) end
  self.id, self.run = fields.id, replies[2]:match "run_id:(%S+)" or ""
  return true
end

-- Connects.
--   ARGS    server   of redis.server; its `secret` is plugins/redis/certificate.h's
--           options  table: timeout_s, name (of the connection)
--   RETURN  a client: id and run tell this connection and this start of the server from all others; or nil and why,
--           where nobody answers. An error where the server refuses or cannot be used
function redis.connect(server, options)
  local out = ffi.new "berth_redis*[1]"
  local endpoint = ffi.new("berth_redis_endpoint", { server.path or "", server.host or "", server.port or 0,
    server.tls and 1 or 0, server.plain and 1 or 0, server.secret or "", server.authorities or "",
    server.certificate or "", server.key or server.certificate or "" })
  local code = library().berth_redis_connect(endpoint, math.ceil(options.timeout_s * 1000), out)
  if code == UNREACHABLE then return nil, message() end
  if code ~= 0 then error("store: " .. message(), 0) end
  local self = setmetatable({ handle = out[0], where = redis.name_of(server) }, Client)
  local called, fine, why = pcall(introduce, self, server, options)
  if called and fine then return self end
  self:close()
  if not called then error(fine, 0) end
  return nil, why
end

return redis
