-- What the store of processes that train together promises, on servers of its own: store_test.cpp runs each part.
--   store.lua PART FOLDER [PORT]

local part, folder = ...
local support = arg[0]:gsub("command/store.lua$", "lua/support")
package.path = package.path .. ";" .. support .. "/?.lua"

local berth = require "berth"
local check = require "check"
local processes = require "berth.processes"
local redis = require "berth.redis"
local store = require "berth.store"
local workers = require "berth.workers"

local LONG_S = 20  -- a bound on what hangs; nothing waits so long that works

-- What another process does while one waits.
if part == "later" then
  local one = store.connect { server = { path = folder .. "/redis.sock" }, job = "test" }
  one:set("w", "later", 4)
  one:set("soon", "there")
  return
end

local server = workers.start_store { folder = folder }
local operator

local function client(name, given)
  local options = { server = server.server, job = "test", name = name or "", join_s = 5, lost_s = LONG_S }
  for key, value in pairs(given or {}) do options[key] = value end
  return store.connect(options)
end

-- As another process would be.
local others = 0
local function other_client(name, given)
  local own_id, began = processes.own_id, processes.began
  others = others + 1
  local number = others
  processes.own_id, processes.began = function() return number end, function() return "then" end
  local made = client(name, given)
  processes.own_id, processes.began = own_id, began
  return made
end

-- As SIGKILL ends it.
local function die(of)
  of.client:close()
  of.client = nil
end

-- What only an operator may do.
local function operate(...)
  operator = operator or assert(redis.connect(server.server, { name = "operator", timeout_s = LONG_S }))
  return assert(operator:exchange({ { ... } }, LONG_S))[1]
end

local function keys() return operate("KEYS", "*") end

local function kill_server()
  processes.kill(server.pid)
  while not processes.ended(server.pid) do processes.sleep(0.005) end
  server:start()
end

local PARTS = {}

function PARTS.keys()
  check.test("keys hold any bytes, and count", function()
    local a, b = client "rank 0", client "rank 1"
    local all = {}
    for i = 0, 255 do all[#all + 1] = string.char(i) end
    a:set("x", table.concat(all))
    check.equal(b:get "x", table.concat(all))
    check.equal(b:get "absent", nil)
    check.equal({ a:add "n", b:add("n", 41), a:get "n" }, { 1, 42, "42" })
    check.equal({ a:claim("c", "first"), b:claim("c", "second"), a:claim("c", "first"), b:get "c" },
      { true, false, true, "first" })
    a:drop "x"
    check.equal(b:get "x", nil)
  end)
  check.test("get waits for a number, and no longer than it is told", function()
    local a, b = client "rank 0", client "rank 1"
    check.equal(a:get("w", { at_least = 0 }), nil)
    a:set("w", "old", 0)
    check.equal({ b:get("w", { at_least = 0, wait_s = LONG_S }) }, { "old", 0 })
    check.equal(b:get("w", { at_least = 1, wait_s = 0.01 }), nil)
    a:set("w", "newer", 3)
    a:set("w", "newest", 3)  -- by one that goes on where another was lost
    check.equal({ b:get("w", { at_least = 2, wait_s = LONG_S }) }, { "newest", 3 })
    -- While it waits.
    local pid = processes.start({ "/bin/sh", "-c", ('sleep 0.2; "%s" run "%s" later "%s"'):format(processes.program(),
      arg[0], folder) }, {})
    check.equal({ b:get("w", { at_least = 4, wait_s = LONG_S }) }, { "later", 4 })
    check.equal(b:get("soon", { wait_s = LONG_S }), "there")
    while not processes.ended(pid) do processes.sleep(0.01) end
  end)
  check.test("nothing is left of what is forgotten", function()
    local a = client "rank 0"
    a:submit("q", "1", "x", 3)
    a:take("q", 60, LONG_S)
    a:done("q", "1", "y")
    a:result("q", "1", LONG_S)
    a:forget()
    check.equal(keys(), {})
  end)
end

function PARTS.queues()
  check.test("a task is taken once, and its result comes back once", function()
    local owner, a, b = client "rank 0", client "rank 1", client "rank 2"
    owner:submit("q", "1", "payload", 3)
    check.equal({ a:take("q", 60, LONG_S) }, { "1", "payload", 1 })
    check.equal(b:take("q", 60, 0.01), nil)
    check.equal({ owner:result("q", "1", 0.01) }, { nil, "late" })
    check.equal({ a:done("q", "1", "result"), b:done("q", "1", "another") }, { true, false })
    check.equal(owner:result("q", "1", LONG_S), "result")
    check.equal({ owner:result("q", "1", 0.01) }, { nil, "absent" })
    check.equal({ owner:result("q", "unknown") }, { nil, "absent" })
    local members, queues = owner:members()
    check.equal({ members["rank 1"].done, members["rank 2"].done }, { 1, 0 })
    check.equal(queues.q, { waiting = 0, taken = 0 })
  end)
  check.test("a task whose taker goes is taken by others, as often as it may", function()
    local owner, first = client "rank 0", other_client "rank 1"
    owner:submit("lost", "1", "x", 2)
    check.equal(first:take("lost", 60, LONG_S), "1")
    die(first)
    local second = other_client "rank 2"
    check.equal({ second:take("lost", 60, LONG_S) }, { "1", "x", 2 })
    die(second)
    local third = other_client "rank 3"
    repeat third:take("lost", 60, 0.05) until owner:result("lost", "1") ~= nil or select(2, owner:result("lost", "1")) ~= "late"
    local members = owner:members()
    check.equal({ members["rank 1"].state, members["rank 1"].lost, members["rank 1"].times_lost,
      members["rank 3"].state }, { "lost", 1, 1, "here" })
  end)
  check.test("a lost task says with whom", function()
    local owner = client "rank 0"
    owner:submit("who", "1", "x", 1)
    local taker = other_client "rank 8"
    taker:take("who", 60, LONG_S)
    local identity = taker.identity
    die(taker)
    local other = other_client "rank 9"
    local result, why, who
    repeat
      other:take("who", 60, 0.05)
      result, why, who = owner:result("who", "1", 0.05)
    until why ~= "late"
    check.equal({ why, who }, { "lost", ("rank 8 (%s)"):format(identity) })
  end)
  check.test("who comes again in another's place gives back what that held", function()
    local owner, first = client "rank 0", other_client "rank 4"
    owner:submit("again", "1", "x", 3)
    check.equal(first:take("again", 600, LONG_S), "1")
    die(first)
    local again = other_client "rank 4"
    check.equal({ again:take("again", 600, LONG_S) }, { "1", "x", 2 })
    check.equal(owner:members()["rank 4"].times_lost, 1)
  end)
  check.test("a lease ends, and a result that comes late still counts where it is the first", function()
    local owner, slow, quick = client "rank 0", client "rank 5", client "rank 6"
    owner:submit("lease", "1", "x", 3)
    slow:take("lease", 0.001, LONG_S)
    check.equal(quick:take("lease", 0.001, LONG_S), "1")
    check.equal(slow:done("lease", "1", "late"), true)
    check.equal(quick:done("lease", "1", "later"), false)
    check.equal(owner:result("lease", "1", LONG_S), "late")
    check.equal(quick:take("lease", 60, 0.01), nil)
  end)
  check.test("what was on its way to a broken connection comes again", function()
    local owner, taker = client "rank 0", client "rank 7"
    owner:submit("way", "1", "x", 3)
    owner:submit("way", "2", "y", 3)
    check.equal(taker:take("way", 600, LONG_S), "1")
    -- Given to it, and never heard of.
    local stream = "berth:test:queue:way"
    taker.client:exchange({ { "XREADGROUP", "GROUP", "workers", "rank 7", "COUNT", 1, "STREAMS", stream, ">" } }, LONG_S)
    die(taker)
    check.equal({ taker:take("way", 600, LONG_S) }, { "2", "y", 1 })
    check.equal({ taker:done("way", "1", "a"), taker:done("way", "2", "b") }, { true, true })
    check.equal(taker:take("way", 600, 0.01), nil)
  end)
  check.test("one of a name; the same process may come back, and leaving is not being lost", function()
    local first = other_client "rank 0b"
    check.fails("'rank 0b' is already " .. first.identity:gsub("%-", "%%-"), other_client, "rank 0b", { join_s = 0.1 })
    first:close()
    check.equal(client("rank 0"):members()["rank 0b"].state, "left")
    other_client "rank 0b"
  end)
  check.test("who is connected is there, whatever the server has lost", function()
    local a, b = client "rank 9", other_client "rank 10"
    check.equal({ a:is_here "rank 10", a:is_here "rank 11" }, { true, false })
    operate "FLUSHALL"
    check.equal(a:is_here "rank 10", true)
    die(b)
    check.equal(a:is_here "rank 10", false)
    local again = other_client "rank 10"
    again:close()
    check.equal(a:is_here "rank 10", false)
  end)
end

function PARTS.killed()
  check.test("nothing that was acknowledged is lost when the server is killed", function()
    local owner, taker = client "rank 0", client "rank 1"
    owner:set("key", "value")
    owner:set("weights", ("w"):rep(200000), 7)
    owner:add("counter", 41)
    for i = 1, 3 do owner:submit("q", tostring(i), "payload " .. i, 1) end
    check.equal(taker:take("q", 60, LONG_S), "1")
    check.equal(taker:take("q", 60, LONG_S), "2")
    taker:done("q", "1", "result 1")
    kill_server()
    check.equal(owner:get "key", "value")
    check.equal({ owner:get("weights", { at_least = 7 }) }, { ("w"):rep(200000), 7 })
    check.equal(owner:add("counter", 1), 42)
    check.equal(owner:result("q", "1", LONG_S), "result 1")
    -- The taker is busy and has not come back: what it holds is given to another, and that is no try.
    local other = client "rank 2"
    check.equal({ other:take("q", 60, LONG_S) }, { "3", "payload 3", 1 })
    check.equal({ other:take("q", 60, LONG_S) }, { "2", "payload 2", 1 })
    check.equal({ taker:done("q", "2", "by both"), other:done("q", "2", "second") }, { true, false })
    check.equal(owner:result("q", "2", LONG_S), "by both")
    check.equal({ owner.restarts, taker.restarts }, { 1, 1 })
  end)
  check.test("a server that lost all is told what is still wanted", function()
    local owner, taker = client "rank 0", client "rank 1"
    owner:submit("q2", "1", "x", 3)
    check.equal(taker:take("q2", 60, 0.01), "1")
    operate "FLUSHALL"
    check.equal({ owner:result("q2", "1", 0.01) }, { nil, "absent" })
    owner:submit("q2", "1", "x", 3)
    check.equal(taker:take("q2", 60, LONG_S), "1")
  end)
  check.test("a server that does not come back is said, after no longer than asked for", function()
    local a = client("rank 3", { lost_s = 0.3 })
    server:stop()
    local began_s = berth.clock()
    check.fails("no server answers at .*redis.sock: .*%(tried for 0.3 s%)", a.get, a, "x")
    check.equal(berth.clock() - began_s < 10, true)
  end)
end

-- On a disk that takes long to sync.
function PARTS.slow()
  check.test("nothing that was acknowledged waits for a sync", function()
    local owner = client "rank 0"
    owner:add("counter", 1)
    local until_s = berth.clock() + 1.5  -- longer than any server leaves between two syncs of its own
    while not operate("INFO", "persistence"):find "aof_pending_bio_fsync:1" and berth.clock() < until_s do
      processes.sleep(0.01)
    end
    owner:add("counter", 41)
    kill_server()
    check.equal(owner:get "counter", "42")
  end)
end

function PARTS.refused()
  local function as(user, password)
    return client("rank 0", { server = { path = server.server.path, user = user, password = password } })
  end
  check.test("a user that may not do what is needed", function()
    operate("ACL", "SETUSER", "weak", "on", ">pass", "~other:*", "+@all")
    check.fails("NOPERM.*its user may not do that", as, "weak", "pass")
    operate("ACL", "SETUSER", "weak", "on", ">pass", "~berth:*", "-@all")
    check.fails("NOPERM.*its user may not do that", as, "weak", "pass")
    check.fails("user and password are not the server's", as, "weak", "guess")
    check.fails("user and password are not the server's", as, "nobody", "pass")
  end)
  check.test("the rights that are documented are enough, and reach no further", function()
    local rights = { "ACL", "SETUSER", "fit", "reset", "on", ">pass", "~berth:test:*", "resetchannels" }
    for right in workers.COMMANDS:gmatch "%S+" do rights[#rights + 1] = right end
    operate(unpack(rights))
    local a, b = as("fit", "pass"), client("rank 1", { server = { path = server.server.path, user = "fit", password = "pass" } })
    a:set("k", "v")
    a:set("s", "v", 1)
    a:claim("c", "v")
    a:add "n"
    b:get("s", { at_least = 0, wait_s = 1 })
    a:submit("q", "1", "x", 1)
    b:take("q", 0.001, LONG_S)
    b:take("q", 0.001, 0.01)
    a:result("q", "1", 0.1)
    a:members()
    a:forget()
    check.fails("NOPERM", client, "rank 2", { job = "another",
      server = { path = server.server.path, user = "fit", password = "pass" } })
    for _, command in ipairs { { "FLUSHALL" }, { "CONFIG", "GET", "*" }, { "SHUTDOWN" }, { "CLIENT", "KILL", "TYPE", "normal" } } do
      check.fails("NOPERM", b.client.exchange, b.client, { command }, LONG_S)
    end
  end)
  check.test("the operators' page lists these rights", function()
    local file = assert(io.open((arg[0]:gsub("tests/command/store.lua$", "plugins/redis/README.md"))))
    local page = file:read "*a"
    file:close()
    for right in workers.COMMANDS:gmatch "%S+" do
      check.equal(page:find((right:gsub("[%+|]", "%%%0")) .. "%s") and right or "not " .. right, right)
    end
  end)
  check.test("a server that asks for a password", function()
    operate("CONFIG", "SET", "requirepass", "open sesame")
    check.fails("NOAUTH.*it asks for a password", client, "rank 0")
    as(nil, "open sesame")
    check.fails("user and password are not", as, nil, "open")
    operate("CONFIG", "SET", "requirepass", "")
  end)
  check.test("memory that is full is said, nothing is evicted, and what there is can be read", function()
    local a = client "rank 0"
    a:set("kept", "value")
    operate("CONFIG", "SET", "maxmemory-policy", "noeviction")
    operate("CONFIG", "SET", "maxmemory", "6mb")
    check.fails("OOM.*its memory is full %(maxmemory%)", function()
      for i = 1, 100 do a:submit("q", "large " .. i, ("x"):rep(1e6), 1) end
    end)
    check.equal(client("rank 1"):get "kept", "value")
    operate("CONFIG", "SET", "maxmemory", "0")
  end)
  check.test("a replica is none, until it is the one that serves", function()
    operate("REPLICAOF", "127.0.0.1", "1")
    check.fails("is a replica %(tried for 0.1 s%)", client, "rank 0", { join_s = 0.1 })
    operate("REPLICAOF", "NO", "ONE")
    client "rank 0"
  end)
  check.test("a server that fails over in the middle", function()
    local a = client("rank 5", { lost_s = LONG_S })
    operate("REPLICAOF", "127.0.0.1", "1")
    local pid = processes.start({ "/bin/sh", "-c", ("sleep 0.3; redis-cli -s %s/redis.sock replicaof no one"):format(
      folder) }, {})
    a:set("k", "written")
    check.equal({ a:get "k", a.restarts > 0 }, { "written", true })
    while not processes.ended(pid) do processes.sleep(0.01) end
  end)
end

function PARTS.addresses()
  local function of(url, variables)
    local found = redis.server(url, function(name) return (variables or {})[name] end)
    return found
  end
  check.test("servers have addresses", function()
    check.equal(of "redis://localhost", { host = "localhost", port = 6379, tls = false, plain = false })
    check.equal(of("rediss://me:p%40ss@[::1]:7000/3", { BERTH_STORE_CA = "ca.pem", BERTH_STORE_CERT = "c.pem",
      BERTH_STORE_KEY = "k.pem" }), { host = "::1", port = 7000, tls = true, plain = false, user = "me", password = "p@ss",
      database = "3", authorities = "ca.pem", certificate = "c.pem", key = "k.pem" })
    check.equal(of("redis://:pass@node-1:1/", { BERTH_STORE_TLS = "off" }), { host = "node-1", port = 1, tls = false,
      plain = true, password = "pass" })
    check.equal(of "unix:///a%20b/redis.sock", { path = "/a b/redis.sock" })
    check.equal(of "unix://:p%40ss@/a/redis.sock", { path = "/a/redis.sock", password = "p@ss" })
    check.equal(of "unix://me:p@/a@b", { path = "/a@b", user = "me", password = "p" })
    for _, url in ipairs { "redis", "http://x", "redis://", "redis://:1:2", "redis://a:99999", "redis://a/x", "redis://user@a",
      "unix://user@/a", "unix://user:secret@a" } do
      check.fails("give redis://", of, url)
    end
    for _, url in ipairs { "redis://user:secret@host:99999", "unix://user:secret@a" } do
      local _, message = pcall(of, url)
      check.equal(message:find("secret", 1, true), nil)
    end
  end)
  check.test("passwords and weights do not leave a machine as they are, unless one says so", function()
    -- A name for documents, whose packets nobody gets.
    local far = { host = "192.0.2.1", port = 1, password = "p" }
    check.fails("192.0.2.1:1 is another machine.*BERTH_STORE_TLS=off", store.connect, { server = far, join_s = 0.1 })
    far.plain = true
    check.fails("tried for 0.1 s", store.connect, { server = far, join_s = 0.1, timeout_s = 0.1 })
  end)
  check.test("one folder is one store's", function()
    check.fails("another store has the folder", workers.start_store, { folder = folder })
    check.equal(client():get "x", nil)
  end)
end

function PARTS.tls()
  local port = tonumber(arg[3])
  local inner = folder .. "/tls"
  local secret = ("s"):rep(40)
  local spoken = workers.start_store { folder = inner, address = "127.0.0.1", port = port, secret = secret, job = "test" }
  check.test("processes that share a secret meet by TLS, and no others", function()
    local a = client("rank 0", { server = spoken.server })
    a:set("k", "v")
    check.equal(a:get "k", "v")
    local guessed = workers.server_of({ address = "127.0.0.1", port = port }, "guessed")
    check.fails("has another secret; give all processes the same BERTH_SECRET", client, "rank 1", { server = guessed })
    check.fails("NOPERM", client, "rank 1", { server = spoken.server, job = "another" })
    for line in io.popen(("stat -c '%%a %%n' %s %s/[!s]*"):format(inner, inner)):lines() do
      check.equal(line:match "^(%d00) " or line, line:match "^%d+")
    end
  end)
  check.test("a certificate that is not trusted, and one of another name", function()
    local url = ("rediss://berth:%s@localhost:%d"):format(secret, port)
    local function with(variables)
      return client("rank 1", { server = redis.server(url, function(name) return variables[name] end) })
    end
    check.fails("shows a certificate that is not trusted", with, {})
    check.fails("shows a certificate of another name", with, { BERTH_STORE_CA = inner .. "/certificate.pem" })
    check.fails("missing.pem cannot be used for TLS", with, { BERTH_STORE_CA = "missing.pem" })
  end)
  check.test("without TLS nobody is let in", function()
    check.fails("tried for 0.1 s", client, "rank 1", { join_s = 0.1, timeout_s = 0.2,
      server = { host = "127.0.0.1", port = port, user = "berth", password = secret } })
  end)
  spoken:stop()
end

-- Under a limit on the size of files.
function PARTS.full()
  check.test("a disk that is full is said, and ends nothing else", function()
    local a = client "rank 0"
    check.fails("MISCONF.*it cannot write its files; look at its disk and its log", function()
      for i = 1, 1000 do
        a:set("k" .. i, ("x"):rep(1000))
        processes.sleep(0.001)
      end
    end)
    check.equal(#a:get "k1", 1000)
  end)
end

PARTS[part]()
server:stop()
check.finish()
